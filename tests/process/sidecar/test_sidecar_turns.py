"""Turns that the agent ends wrongly while its process is well: what the core decides arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.client import update_of
from tests.process.sidecar.failing_turn import failure_of, is_healthy, payload_of

if TYPE_CHECKING:
    from tests.process.sidecar.conftest import Start

WRONG = (
    ("http-429", "rate_limit", None),
    ("silent-success", "unknown", "silent_success"),
    ("null-result", "protocol_error", "no_stop_reason"),
    ("id-null", "provider_unavailable", None),
    ("error-twice", "provider_unavailable", None),
    ("error-after-text", "network", "connection_lost"),
    ("auth-error", "auth", "login_required"),
    ("text-as-error", "provider_unavailable", None),
    ("runaway", "agent_stalled", "runaway"),
)


def test_a_turn_that_the_agent_ends_wrongly_fails_typed_and_the_session_continues(
    start: Start,
) -> None:
    client = start("healthy")
    client.open()
    for mode, type_, reason in WRONG:
        turn = client.turn(f"fail {mode}")
        payload = failure_of(turn)
        assert payload["type"] == type_, mode
        assert reason is None or payload["reason"] == reason, mode
        # Whatever the agent sent after its first answer came before this one.
        assert is_healthy(client.turn("hello")), mode
        if mode == "http-429":
            assert (payload["retry_after_seconds"], payload["http_status"]) == (20, 429)
        if mode == "error-after-text":
            assert turn.kinds[-2:] == ["tool_call_update", "session_info_update"]
            assert (turn.updates[-2]["toolCallId"], turn.updates[-2]["status"]) == ("t1", "failed")


def test_a_turn_that_only_looks_wrong_succeeds_and_later_frames_arrive(start: Start) -> None:
    client = start("answers-backwards")
    client.open()
    for mode in ("id-as-text", "twice", "unordered"):
        assert is_healthy(client.turn(f"fail {mode}")), mode
    since = len(client.frames)
    prompt = client.prompt("fail asks-twice-by-one-id")
    asked = client.expect_method("session/request_permission")
    for _ in range(2):
        client.send(id=asked["id"], result={"outcome": {"outcome": "cancelled"}})
    assert is_healthy(client.end_of(prompt, since))
    turn = client.turn("fail talks-afterwards")
    first, second = client.prompt(), client.prompt("hello")
    for prompt in (second, first):
        assert client.answer(prompt)["result"] == {"stopReason": "end_turn"}
    after = client.frames.index(turn.answer) + 1
    kinds = [update_of(frame)["sessionUpdate"] for frame in client.frames[after : after + 2]]
    assert kinds == ["usage_update", "session_info_update"]
    # What the sidecar does not know is the agent's to answer.
    answer = client.call("_vendor/thing", deep={"er": [1, 2]})
    assert answer["error"]["message"] == 'There is no method "_vendor/thing".'


def test_a_program_that_echoes_its_input_is_distinguished_from_an_agent(start: Start) -> None:
    client = start("cat")
    payload = payload_of(client.initialize())
    assert (payload["type"], payload["reason"]) == ("protocol_error", "not_acp")
    assert "error" in client.call("session/new", cwd="/", mcpServers=[])
    assert client.end() == 0
