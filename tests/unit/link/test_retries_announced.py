"""An agent that speaks of its own retries: written down in numbers, whoever may see the update."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.connection import Connection
from lastword.core.link.effects import FORWARD, Drop, Effect, Record, Side
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from tests.kit.wire import Wire, prompt
from tests.kit.wire import update as wire_update


def effects_of(update: Any, *, asked_for: bool = True, in_turn: bool = True) -> list[Effect]:
    core = Connection()
    told = {"_meta": {"agent_error": {"version": 1, "retry": asked_for}}}
    lines: list[tuple[Side, dict[str, Any]]] = [
        (
            Side.CLIENT,
            {
                "id": 0,
                "method": "initialize",
                "params": {"protocolVersion": 1, "clientCapabilities": told},
            },
        ),
        (Side.AGENT, {"id": 0, "result": {"protocolVersion": 1}}),
        (Side.CLIENT, {"id": 1, "method": "session/new", "params": {"cwd": "/"}}),
        (Side.AGENT, {"id": 1, "result": {"sessionId": "s"}}),
    ]
    if in_turn:
        params: dict[str, Any] = {"sessionId": "s", "prompt": []}
        lines.append((Side.CLIENT, {"id": 2, "method": "session/prompt", "params": params}))
    update = {"sessionUpdate": "agent_retry", **update}
    lines.append(
        (Side.AGENT, {"method": "session/update", "params": {"sessionId": "s", "update": update}})
    )
    effects: list[Effect] = []
    for side, message in lines:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode()
        effects = core.receive(side, jsonrpc.decode(line), 0.0)
    return effects


def retries(effects: list[Effect]) -> list[Entry]:
    entries = [effect.entry for effect in effects if isinstance(effect, Record)]
    return [entry for entry in entries if entry.kind is Kind.RETRY]


@pytest.mark.parametrize("asked_for", [True, False])
def test_it_is_written_down_whether_or_not_the_client_sees_it(asked_for: bool) -> None:
    error = {"type": "rate_limit", "message": "the merger with Initech"}
    update = {"attempt": 2, "max_attempts": 4, "wait_seconds": 1.5, "error": error}
    effects = effects_of(update, asked_for=asked_for)
    (entry,) = retries(effects)
    assert entry.facts == {"attempt": 2, "max_attempts": 4, "wait_seconds": 2, "type": "rate_limit"}
    assert entry.turn == 1
    assert (FORWARD in effects) is asked_for
    assert any(isinstance(effect, Drop) for effect in effects) is not asked_for


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"error": "the merger with Initech", "attempt": "two", "wait_seconds": True},
        {"error": {"type": "the merger with Initech"}, "attempt": -1, "wait_seconds": 1e300},
        {"error": {"type": ["x"]}, "max_attempts": {"a": 1}},
    ],
)
def test_what_is_no_number_and_no_type_of_ours_stays_out(update: dict[str, Any]) -> None:
    (entry,) = retries(effects_of(update))
    assert entry.facts == {"type": "unknown"}


def test_outside_of_a_turn_nothing_is_written_down() -> None:
    assert retries(effects_of({"attempt": 2}, in_turn=False)) == []


def test_a_speaker_that_tells_of_its_retry_is_not_told_of_a_second_time() -> None:
    link = Wire()
    extension = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
    hello = {"protocolVersion": 1, "clientCapabilities": extension}
    link.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    speaks = {"protocolVersion": 1, "agentCapabilities": extension}
    link.agent({"jsonrpc": "2.0", "id": 0, "result": speaks}).client(prompt())
    signal = {"codex": {"error": {"message": "429", "willRetry": True}}}
    link.agent(wire_update(sessionUpdate="session_info_update", _meta=signal))
    assert [update["sessionUpdate"] for update in link.updates()] == ["session_info_update"]


@pytest.mark.parametrize("method", ["_x.ai/session_notification", "_anyone/at_all"])
def test_a_retry_in_a_notification_of_the_agents_own_is_reported(method: str) -> None:
    link = Wire()
    extension = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
    hello = {"protocolVersion": 1, "clientCapabilities": extension}
    link.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    link.agent({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}).client(prompt())
    state = {"type": "retrying", "attempt": 1, "max_retries": 15, "reason": "Connection refused"}
    session = prompt()["params"]["sessionId"]
    params = {"sessionId": session, "update": {"sessionUpdate": "retry_state", **state}}
    link.agent({"jsonrpc": "2.0", "method": method, "params": params})
    (told,) = [one for one in link.updates() if one.get("sessionUpdate") == "agent_retry"]
    assert (told["attempt"], told["max_attempts"], told["error"]["type"]) == (2, 16, "network")
