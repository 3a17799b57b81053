"""What viewers of a fleet's sessions do and see, as its tests look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.gateway.api import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway
    from tests.kit.gateway.viewing import ViewerClient

ASKS: dict[str, Any] = {
    "turns": [
        [{"say": "Hi."}, {"ask_permission": "Edit"}, {"say": "Done."}, {"result": "end_turn"}],
        [{"say": "Again."}, {"result": "end_turn"}],
    ],
    "sessions": "resume",
}
"""A scenario: the agent asks something in its first turn, and resumes sessions."""


def is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def answer_question(viewer: ViewerClient) -> None:
    question = viewer.find(is_question)
    option = question["params"]["options"][0]["optionId"]
    chosen = {"outcome": {"outcome": "selected", "optionId": option}}
    viewer.send({"id": question["id"], "result": chosen})


def says(text: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: text in str(frame.get("params", {}).get("update", {}).get("content"))


def refusal(viewer: ViewerClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    error = viewer.answer(viewer.request(method, params))["error"]
    failure: dict[str, Any] = error["data"]["agent_error"]
    return failure


def listed(gateway: Gateway, session: str) -> dict[str, Any]:
    """Return a session as a front lists it; empty if it does not."""
    sessions = ApiClient(gateway).json("/v1/sessions")["sessions"]
    return next((each for each in sessions if each["id"] == session), {})
