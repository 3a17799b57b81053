"""Each effect reaches its one end, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.failure.ladder import CancelledEnding
from lastword.core.link.effects import (
    FORWARD,
    Answer,
    Drop,
    Effect,
    End,
    Ends,
    FrameSink,
    Kill,
    Record,
    Restart,
    Send,
    Side,
)
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = jsonrpc.decode(b'{"jsonrpc":"2.0","method":"session/update"}')
ENTRY = Entry(kind=Kind.PROMPT, at_seconds=0.0)
ENDING = CancelledEnding(session_id="s", prompts=(b"1",))


class Told:
    """What each end was given, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[str, Any]] = []
        self.ends = Ends(
            client=FrameSink(self._as("client")),
            agent=FrameSink(self._as("agent")),
            record=self._as("record"),
            order=self._as("order"),
            dropped=self._as("dropped"),
            ended=self._as("ended"),
        )

    def _as(self, name: str) -> Callable[[Any], None]:
        return lambda what: self.all.append((name, what))


EFFECTS: list[tuple[Effect, tuple[str, Any]]] = [
    (Send(Side.CLIENT, b"{}"), ("client", b"{}")),
    (Send(Side.AGENT, b"{}"), ("agent", b"{}")),
    (Answer(Side.CLIENT, b"1", b"{}"), ("client", b"{}")),
    (Answer(Side.AGENT, b"1", b"{}"), ("agent", b"{}")),
    (Record(ENTRY), ("record", ENTRY)),
    (Kill(), ("order", Kill())),
    (Restart(), ("order", Restart())),
    (Drop("late"), ("dropped", "late")),
    (End(ENDING), ("ended", ENDING)),
]


@pytest.mark.parametrize("side", Side)
def test_a_frame_is_forwarded_unchanged_to_the_other_side(side: Side) -> None:
    found = Told()
    found.ends.carry_out([FORWARD], side, FRAME)
    assert found.all == [(side.other.value, FRAME.line)]


def test_nothing_is_forwarded_without_a_frame() -> None:
    found = Told()
    found.ends.carry_out([FORWARD])
    assert found.all == []


def test_each_effect_reaches_its_end_and_no_other_in_their_order() -> None:
    found = Told()
    found.ends.carry_out([effect for effect, _ in EFFECTS])
    assert found.all == [told for _, told in EFFECTS]


def test_a_sink_for_dropped_frames_is_optional() -> None:
    kept: list[bytes] = []
    sink = FrameSink(kept.append)
    ends = Ends(client=sink, agent=sink, record=kept.append, order=kept.append)
    ends.carry_out([Drop("late"), Send(Side.CLIENT, b"{}")])
    assert kept == [b"{}"]
