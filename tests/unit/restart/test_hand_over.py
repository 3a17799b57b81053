"""A link that goes on in another process: what that has to be told, and when it can."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.core.link.connection import Side
from lastword.core.link.effects import PastLine
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    greeted,
    prompt,
    prompted,
    reply,
    request,
    result,
)
from tests.unit.restart.crashing import LOADING, Link, reasons

if TYPE_CHECKING:
    from lastword.core.link.effects import PastRestarts

HELLO = (Side.CLIENT, INITIALIZE), (Side.AGENT, INITIALIZED)


def past(*said: tuple[Side, dict[str, Any]], turn: int = 0) -> list[PastLine]:
    """What was said, of which the prompts begin the turn with this number."""
    return [
        PastLine(
            side,
            json.dumps(message).encode(),
            0.0,
            turn if message.get("method") == "session/prompt" else 0,
        )
        for side, message in said
    ]


def taken_up(
    said: list[PastLine], turns: int = 0, restarts: PastRestarts | None = None, **options: Any
) -> Wire:
    """The link in the next process; nothing of the past is sent again."""
    wire = Wire(**options)
    wire.carry_out(wire.core.replay(said, turns, restarts))
    assert (wire.to_client, wire.to_agent) == ([], [])
    return wire


def test_a_turn_that_began_in_the_process_before_fails_typed_in_this_one() -> None:
    said = past(*HELLO, (Side.CLIENT, prompt()), (Side.AGENT, chunk()), turn=7)
    wire = taken_up(said, 7).agent(error(message="429 Too Many Requests"))
    assert failure(wire)["type"] == "rate_limit"
    assert {entry.turn for entry in wire.entries if entry.kind == "error"} == {7}
    wire.client(prompt(2)).agent(chunk(), result(2))
    assert wire.entries[-1].turn == 8


def test_a_cancel_is_handed_over() -> None:
    said = past(*HELLO, (Side.CLIENT, prompt()), (Side.CLIENT, cancel()), turn=1)
    wire = taken_up(said, 1).agent(error(message="aborted"))
    assert wire.answers()[0]["result"]["stopReason"] == "cancelled"


def test_an_agent_is_handed_over_once_it_is_greeted_and_with_a_turn_at_work() -> None:
    assert not Wire().core.can_be_handed_over
    assert greeted().core.can_be_handed_over
    assert prompted().core.can_be_handed_over


def test_a_link_that_withholds_a_frame_is_not_handed_over() -> None:
    assert not prompted(retry=1).agent(error(message="503 overloaded")).core.can_be_handed_over
    waits = prompted(continue_at_reset_seconds=9000.0, turn_timeout_seconds=0.0)
    waits.agent(error(message="429 Too Many Requests: try again in 2400s"))
    assert waits.core.can_be_handed_over  # it is stored
    assert waits.core.stored_wait("s") is not None
    cancelled = prompted().client(cancel())
    assert cancelled.core.can_be_handed_over
    cancelled.time(11).client(prompt(2))  # it waits until the agent has ended the cancelled turn
    assert not cancelled.core.can_be_handed_over


def test_the_restarts_of_an_agent_are_handed_over_with_it() -> None:
    assert Link().core.past_restarts is None
    link = Link().die()
    assert not link.core.can_be_handed_over
    link.time(link.now + 10).client(prompt(2)).greet()
    assert not link.core.can_be_handed_over
    (loading,) = link.asked()
    link.answer(loading["id"])
    assert link.core.can_be_handed_over
    restarts = link.core.past_restarts
    assert restarts is not None
    assert (restarts.generation, restarts.stale, restarts.lost) == (1, [], [])


def test_a_session_that_a_crash_has_lost_stays_lost() -> None:
    link = Link({}).die_and_be_greeted()
    restarts = link.core.past_restarts
    assert restarts is not None
    greeting = INITIALIZED | {"result": {"protocolVersion": 1, "agentCapabilities": {}}}
    said = past(HELLO[0], (Side.AGENT, greeting))
    wire = taken_up(said, 1, restarts, restart="on-crash").client(prompt(3))
    (answer,) = wire.answers(3)
    assert answer["error"]["data"]["agent_error"]["reason"] == "context_lost"


def test_a_session_unused_since_a_crash_is_restored() -> None:
    link = Link(LOADING)
    link.client(request(5, "session/new", cwd="/w", mcpServers=[])).answer(5, sessionId="t")
    link.asked()
    link.come_back()
    restarts = link.core.past_restarts
    assert restarts is not None
    assert restarts.stale == ["t"]
    greeting = INITIALIZED | {"result": {"protocolVersion": 1, **LOADING}}
    said = past(
        HELLO[0],
        (Side.AGENT, greeting),
        (Side.CLIENT, request(5, "session/resume", sessionId="t", cwd="/w", mcpServers=[])),
        (Side.AGENT, reply(5)),
    )
    wire = taken_up(said, 1, restarts, restart="on-crash").client(prompt(9, "t"))
    asked = [json.loads(line)["method"] for line in wire.to_agent]
    assert asked[:1] == ["session/load"]
    assert reasons(link, 9) == []
