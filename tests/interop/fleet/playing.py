"""What viewers of a fleet's sessions do and see, as its tests look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.gateway.api import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

ASKS: dict[str, Any] = {
    "turns": [
        [{"say": "Hi."}, {"ask_permission": "Edit"}, {"say": "Done."}, {"result": "end_turn"}],
        [{"say": "Again."}, {"result": "end_turn"}],
    ],
    "sessions": "resume",
}
"""A scenario: the agent asks something in its first turn, and resumes sessions."""


def says(text: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: text in str(frame.get("params", {}).get("update", {}).get("content"))


def listed(gateway: Gateway, session: str) -> dict[str, Any]:
    """Return a session as a front lists it; empty if it does not."""
    sessions = ApiClient(gateway).json("/v1/sessions")["sessions"]
    return next((each for each in sessions if each["id"] == session), {})
