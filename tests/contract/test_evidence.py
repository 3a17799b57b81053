"""What can meet at a turn's end, met: each end with each combination of signs, on the wire."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.link.connection import Side
from tests.kit.turn_signs import NOTHING, SIGNS, Happening, flood, in_turn
from tests.kit.wire import cancel, error, failure, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.wire import Wire


def _answer(members: dict[str, Any]) -> Happening:
    return lambda wire: wire.agent({"jsonrpc": "2.0", "id": 1} | members)


ENDS: dict[str, tuple[str | None, Happening]] = {
    "an error that is named": ("auth", lambda wire: wire.agent(error(1, 401, "no"))),
    "an error that says nothing": (None, lambda wire: wire.agent(error(1, -32603, "odd"))),
    "an internal error": (None, lambda wire: wire.agent(error(1, -32603, "Internal error"))),
    "a success": (None, lambda wire: wire.agent(result())),
    "the stop reason error": (None, lambda wire: wire.agent(result(1, "error"))),
    "a stop reason of its own": (None, lambda wire: wire.agent(result(1, "gave_up"))),
    "no stop reason": (None, _answer({"result": {}})),
    "no result": (None, _answer({"result": 7})),
}
"""How a turn can end, with the type that the end itself names."""

UNNAMED = {"an internal error": "internal"} | dict.fromkeys(
    ("no stop reason", "no result"), "protocol_error"
)
"""What is told where nothing names a failure; `unknown` is the rest."""


def _turns() -> Iterator[tuple[list[str | None], Wire]]:
    """A turn for each combination of signs, with the types that they name."""
    for signs in itertools.product(*((NOTHING, *signs) for signs in SIGNS.values())):
        wire = in_turn()
        for _, sign in signs:
            sign(wire)
        yield [named for named, _ in signs], wire


def _end(wire: Wire, end: str) -> None:
    _, happens = ENDS.get(end, NOTHING)
    happens(wire)
    if end == "the agent's death":
        wire.eof(Side.AGENT)
    wire.time(wire.now + 20)


@pytest.mark.parametrize("end", ENDS)
def test_each_end_of_a_turn_is_classified_with_each_combination_of_signs(end: str) -> None:
    named_by_end, happens = ENDS[end]
    for (announced, *others), wire in _turns():
        happens(wire)
        wire.time(wire.now + 1)
        named = [name for name in (announced, named_by_end, *others) if name is not None]
        expected = named[0] if named else UNNAMED.get(end, "unknown")
        assert failure(wire)["type"] == expected, (end, announced, others)


@pytest.mark.parametrize("end", [*ENDS, "the agent's death", "the grace runs out"])
def test_a_turn_that_we_stop_gets_our_reason_unless_the_agent_gave_one(end: str) -> None:
    for named, wire in _turns():
        flood(wire)
        _end(wire, end)
        assert failure(wire)["type"] == (named[0] or "stderr_overflow"), named


def test_an_agents_death_is_a_crash_unless_the_agent_gave_a_reason() -> None:
    for named, wire in _turns():
        wire.eof(Side.AGENT)
        assert failure(wire)["type"] == (named[0] or "agent_crash"), named


@pytest.mark.parametrize("end", [*ENDS, "the agent's death", "the grace runs out"])
def test_a_turn_that_the_user_cancels_is_never_reported_as_failed(end: str) -> None:
    for named, wire in _turns():
        wire.client(cancel())
        _end(wire, end)
        (answer,) = wire.answers()
        # What it has announced as a failure is no success.
        passed = end == "a success" and named[0] is None
        assert answer["result"]["stopReason"] == ("end_turn" if passed else "cancelled"), named
