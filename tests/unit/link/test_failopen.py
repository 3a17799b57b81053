"""What leaves the core: effects reach their ends, and a bug leaves a plain pipe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from lastword.core.failure.ladder import CancelledEnding
from lastword.core.link.connection import Connection, LinkOptions
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
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from tests.kit.wire import Wire, cancel, chunk, error, prompt, prompted, result

if TYPE_CHECKING:
    from datetime import datetime


class _Broken:
    """A core with a bug in every call."""

    def __getattr__(self, name: str) -> object:
        raise ZeroDivisionError(name)


@pytest.fixture
def reports() -> list[Exception]:
    return []


def _fused(reports: list[Exception]) -> FailOpen:
    return FailOpen(cast("Connection", _Broken()), reports.append)


def test_a_frame_that_the_core_chokes_on_passes_as_it_came(reports: list[Exception]) -> None:
    fused = _fused(reports)
    frame = jsonrpc.decode(b'{"id":1,"result":{}}')
    assert fused.receive(Side.AGENT, frame, 0.0) == [FORWARD]
    assert fused.receive(Side.CLIENT, frame, 0.0) == [FORWARD]
    assert [type(report) for report in reports] == [ZeroDivisionError]


@pytest.mark.parametrize(
    ("call", "otherwise"),
    [
        (lambda fused: fused.observe([None], 0, 0.0), 1),
        (lambda fused: fused.receive_oversized(Side.AGENT, b"", 0.0), []),
        (lambda fused: fused.receive_stderr(b"", 0.0), []),
        (lambda fused: fused.receive_eof(Side.AGENT, None, 0.0), []),
        (lambda fused: fused.client_detached(0.0), []),
        (lambda fused: fused.client_attached(0.0), []),
        (lambda fused: fused.next_timeout(), None),
        (lambda fused: fused.handle_timeout(0.0), []),
        (lambda fused: fused.stand_still(1.0), None),
        (lambda fused: fused.idle, True),
        (lambda fused: fused.agent_name, ""),
    ],
)
def test_every_other_call_behaves_like_a_plain_pipe(
    reports: list[Exception], call: object, otherwise: object
) -> None:
    fused = _fused(reports)
    assert callable(call)
    assert call(fused) == otherwise
    assert fused.blown
    assert (len(reports), call(fused), len(reports)) == (1, otherwise, 1)


def test_an_answer_that_was_kept_back_is_sent_when_the_core_breaks() -> None:
    def broken() -> datetime:
        raise ZeroDivisionError

    reports: list[Exception] = []
    fused = FailOpen(Connection(LinkOptions(wall_clock=broken)), reports.append)
    prompt = b'{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
    answer = b'{"id":1,"result":{"stopReason":"end_turn"}}'
    assert FORWARD in fused.receive(Side.CLIENT, jsonrpc.decode(prompt), 0.0)
    assert fused.receive(Side.AGENT, jsonrpc.decode(answer), 0.1) == []
    assert fused.handle_timeout(1.0) == [Send(Side.CLIENT, answer)]
    assert [type(report) for report in reports] == [ZeroDivisionError]


def kept(wire: Wire) -> list[tuple[str, dict[str, Any]]]:
    return [
        (effect.to.value, json.loads(effect.frame))
        for effect in wire.core.connection.withheld_frames()
        if isinstance(effect, Send | Answer)
    ]


def test_what_a_link_keeps_back_is_known_to_a_shell_that_goes_on_without_it() -> None:
    assert kept(prompted().agent(chunk())) == []
    assert kept(prompted().agent(result())) == [("client", result())]
    assert kept(prompted().agent(error(None))) == [("client", error(None))]
    behind = prompted(cancel_grace_seconds=1).client(cancel()).time(2).client(prompt(2))
    assert kept(behind) == [("agent", prompt(2))]


FRAME = jsonrpc.decode(b'{"jsonrpc":"2.0","method":"session/update"}')
ENTRY = Entry(kind=Kind.PROMPT, at_seconds=0.0)
ENDING = CancelledEnding(session_id="s", prompts=(b"1",))
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


def test_each_effect_reaches_its_end_and_no_other_in_their_order() -> None:
    told: list[tuple[str, Any]] = []
    ends = Ends(
        client=FrameSink(lambda frame: told.append(("client", frame))),
        agent=FrameSink(lambda frame: told.append(("agent", frame))),
        record=lambda entry: told.append(("record", entry)),
        order=lambda order: told.append(("order", order)),
        dropped=lambda reason: told.append(("dropped", reason)),
        ended=lambda ending: told.append(("ended", ending)),
    )
    ends.carry_out([effect for effect, _ in EFFECTS])
    assert told == [each for _, each in EFFECTS]
    told.clear()
    for side in Side:
        ends.carry_out([FORWARD], side, FRAME)
        assert told.pop() == (side.other.value, FRAME.line)
    ends.carry_out([FORWARD])
    assert told == [], "nothing is forwarded without a frame"


def test_a_sink_for_dropped_frames_is_optional() -> None:
    kept: list[bytes] = []
    sink = FrameSink(kept.append)
    ends = Ends(client=sink, agent=sink, record=kept.append, order=kept.append)
    ends.carry_out([Drop("late"), Send(Side.CLIENT, b"{}")])
    assert kept == [b"{}"]
