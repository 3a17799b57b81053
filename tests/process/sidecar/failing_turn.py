"""What every failing turn must look like to a v1 client that negotiated nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.sidecar import FAIL

if TYPE_CHECKING:
    from tests.kit.client import Frame, Turn
    from tests.kit.sidecar import SidecarClient


def payload_of(answer: Frame) -> dict[str, Any]:
    """The typed payload in a JSON-RPC error, whose shape is checked on the way."""
    error = answer["error"]
    assert type(error["code"]) is int
    assert error["code"] not in (-32002, -32602, -32700, -32800)
    assert error["message"].strip()
    data = error["data"]
    assert data["details"].strip()
    assert data["errorKind"]
    payload: dict[str, Any] = data["agent_error"]
    assert payload["stopReason"] == "error"
    assert payload["message"].strip()
    assert "[" not in payload["message"]
    assert isinstance(payload["retryable"], bool)
    assert None not in payload.values()
    return payload


def failure_of(turn: Turn) -> dict[str, Any]:
    """The payload of a failing turn: in the update just before its answer, and in the answer."""
    payload = payload_of(turn.answer)
    last = turn.updates[-1]
    assert set(last) == {"sessionUpdate", "_meta"}
    assert last["sessionUpdate"] == "session_info_update"
    assert last["_meta"]["agent_error"] == payload
    carriers = [u for u in turn.updates if "agent_error" in u.get("_meta", {})]
    assert len(carriers) == 1
    return payload


def fails(client: SidecarClient, *mode: object) -> tuple[str, str | None]:
    """Run the failing turn, or that of another mode; gives its type and reason."""
    payload = failure_of(client.turn(" ".join(map(str, (FAIL, *mode)))))
    return payload["type"], payload.get("reason")


def is_healthy(turn: Turn) -> bool:
    """Did the turn end as the healthy agent ends one?"""
    return turn.answer.get("result") == {"stopReason": "end_turn"} and bool(turn.text)


def next_request_is_answered(client: SidecarClient) -> None:
    """After a failed turn, a new session and a prompt in it are answered, well or typed."""
    opening = client.request("session/new", cwd="/", mcpServers=[])
    answer = client.answer(opening)
    if "error" in answer:
        payload_of(answer)
    next_prompt_is_answered(client)


def next_prompt_is_answered(client: SidecarClient) -> None:
    """After a failed turn, a prompt is answered, well or typed."""
    turn = client.turn("hello")
    if "error" in turn.answer:
        failure_of(turn)
    else:
        assert is_healthy(turn)
