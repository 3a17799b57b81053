"""Repetition in a row: what is new in between ends it, what repeats itself does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.link.facts import MAX_REPEATS
from lastword.core.protocol import jsonrpc
from tests.kit.wire import Wire, chunk, prompted, update
from tests.unit.link.test_connection_rare_frames import in_turn

if TYPE_CHECKING:
    from tests.kit.wire import Wire

SENTENCE = "I will now look at the next file."


def call(number: int, asks: object) -> dict[str, Any]:
    """A tool call that ends at once."""
    members = {"toolCallId": f"t{number}", "title": "Read", "rawInput": {"path": asks}}
    return update(sessionUpdate="tool_call", status="completed", **members)


def bare(number: int, status: str = "completed") -> dict[str, Any]:
    """A tool call of which no input is told."""
    members = {"toolCallId": f"t{number}", "title": "Read", "status": status}
    return update(sessionUpdate="tool_call", **members)


def plan() -> dict[str, Any]:
    """A plan."""
    return update(sessionUpdate="plan", entries=[])


def stops(*rows: list[dict[str, Any]]) -> bool:
    """Is the turn stopped by what the agent sends?"""
    wire = in_turn()
    for row in rows:
        for message in row:
            wire.agent(message)
    return any(b"session/cancel" in frame for frame in wire.to_agent)


@pytest.mark.parametrize(
    "rows",
    [
        [[chunk(SENTENCE), call(number, number)] for number in range(60)],
        [[chunk(SENTENCE), plan()] for _ in range(60)],
        [[chunk(SENTENCE), bare(number)] for number in range(60)],
        [[call(number, 1), chunk(f"At {number} of 60.")] for number in range(60)],
    ],
)
def test_what_is_new_in_between_ends_a_row(rows: list[list[dict[str, Any]]]) -> None:
    assert not stops(*rows)


@pytest.mark.parametrize(
    "rows",
    [
        [[chunk(SENTENCE)] for _ in range(60)],
        [[call(number, 1)] for number in range(60)],
        [[chunk(SENTENCE), call(number, 1)] for number in range(60)],
        [[chunk(SENTENCE), bare(1)] for _ in range(60)],
        [[chunk(SENTENCE), call(number, 1), bare(number)] for number in range(60)],
        [[chunk(SENTENCE), update(sessionUpdate="usage_update", used=1)] for _ in range(60)],
    ],
)
def test_what_repeats_itself_in_between_ends_none(rows: list[list[dict[str, Any]]]) -> None:
    assert stops(*rows)


def test_in_a_run_of_updates_it_is_the_same() -> None:
    wire = in_turn().agent(chunk("Begun."))
    wire.agent(update(sessionUpdate="tool_call", toolCallId="t", status="in_progress"))
    wire.agent(chunk("Going on."))
    for number in range(60):
        running = {"toolCallId": "t", "status": "in_progress", "rawInput": {"at": number}}
        rows = [chunk(SENTENCE), update(sessionUpdate="tool_call_update", **running)]
        block = jsonrpc.decode_block(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        assert block is not None
        assert wire.core.observe(block, 0, wire.now) == 2


def observed(wire: Wire, text: str, times: int) -> int:
    """How many of so many equal chunks the short way takes in, at once."""
    block = (json.dumps(chunk(text)).encode() + b"\n") * times
    messages = jsonrpc.decode_block(block)
    assert messages is not None
    return wire.core.observe(messages, 0, wire.now)


def test_short_chunks_that_repeat_go_the_short_way() -> None:
    wire = in_turn().agent(chunk("-"))
    assert observed(wire, "-", 1000) == 1000


def test_a_sentence_that_repeats_goes_the_short_way_until_it_may_be_too_much() -> None:
    wire = in_turn().agent(chunk(SENTENCE))
    taken = observed(wire, SENTENCE, 1000)
    assert MAX_REPEATS - 3 < taken < MAX_REPEATS
    for _ in range(MAX_REPEATS - taken):
        wire.agent(chunk(SENTENCE))
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
    # What still comes of the turn that was stopped is looked at no closer than anything else.
    assert observed(wire, SENTENCE, 1000) == 1000


# --- Tool calls that only look alike


def calls(wire: Wire, *commands: str) -> None:
    """Call a tool as opencode and claude do: opened with an empty input, told in full after."""
    for number, command in enumerate(commands):
        call = {"toolCallId": f"c{number}"}
        wire.agent(update(sessionUpdate="tool_call", title="bash", rawInput={}, **call))
        told = {"title": command, "rawInput": {"command": command}}
        wire.agent(update(sessionUpdate="tool_call_update", status="completed", **told, **call))


def stopped(*commands: str) -> bool:
    """Was a turn with these calls stopped?"""
    wire = prompted()
    calls(wire, *commands)
    return any(b"session/cancel" in frame for frame in wire.to_agent)


def test_calls_that_only_begin_alike_are_no_runaway() -> None:
    assert not stopped(*(f"ls {number}" for number in range(120)))


def test_the_same_call_again_and_again_is_still_a_runaway() -> None:
    assert not stopped(*["ls"] * 49)
    assert stopped(*["ls"] * 50)
