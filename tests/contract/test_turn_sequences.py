"""Whatever happens in a turn, in whatever order: one answer, and nothing of ours after it."""

from __future__ import annotations

import itertools
import json
from random import Random

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.turn import Event
from tests.kit.rows import every
from tests.kit.wire import Wire, cancel, chunk, error, prompted, result

pytestmark = pytest.mark.no_cover  # other tests reach these lines


def _happen(wire: Wire, event: Event) -> None:
    """Let an event happen on the wire as a real client, agent or clock would make it happen."""
    if event is Event.UPDATE:
        wire.agent(chunk(f"text at {wire.now}"))
    elif event is Event.CANCEL:
        wire.client(cancel())
    elif event is Event.STOP:
        wire.stderr(b"x" * 11)
    elif event is Event.RESULT:
        wire.agent(result())
    elif event is Event.ERROR:
        wire.agent(error())
    elif event is Event.RETRY:
        wire.agent(error(message="503 Service Unavailable"))
    elif event is Event.AGENT_LOST:
        wire.eof(Side.AGENT)
    elif event is Event.CLIENT_LOST:
        wire.eof(Side.CLIENT)
    else:
        wire.time(wire.now + 1000)


@every("retry", [0, 2])
@every("silent_success", ["error", "pass"])
def test_every_three_event_sequence_gives_one_answer_and_ends_with_it(
    silent_success: str, retry: int
) -> None:
    for sequence in itertools.product(Event, repeat=3):
        play(sequence, silent_success, retry)


@every("retry", [0, 2])
@every("silent_success", ["error", "pass"])
def test_one_four_event_sequence_in_twenty_gives_one_answer(
    silent_success: str, retry: int
) -> None:
    # The same in every run, and others for each of the options.
    dice = Random(f"{silent_success} {retry}")
    sequences = [*itertools.product(Event, repeat=4)]
    for sequence in dice.sample(sequences, len(sequences) // 20):
        play(sequence, silent_success, retry)


@pytest.mark.matrix
@pytest.mark.parametrize("retry", [0, 2])
@pytest.mark.parametrize("silent_success", ["error", "pass"])
def test_every_four_event_sequence_gives_one_answer(silent_success: str, retry: int) -> None:
    for sequence in itertools.product(Event, repeat=4):
        play(sequence, silent_success, retry)


def play(sequence: tuple[Event, ...], silent_success: str, retry: int) -> None:
    """Let the events happen in one turn, and see what the client was told."""
    wire = prompted(stderr_limit_bytes=10, silent_success=silent_success, retry=retry)
    gone = False
    for event in sequence:
        # A dead agent says nothing more.
        if not gone or event in (Event.CANCEL, Event.CLIENT_LOST, Event.TIMEOUT):
            _happen(wire, event)
        gone = gone or event is Event.AGENT_LOST
    if not gone:
        wire.eof(Side.AGENT)
    wire.time(wire.now + 10_000)
    frames = list(map(json.loads, wire.to_client))
    assert len(wire.answers()) == 1, sequence
    position = next(i for i, frame in enumerate(frames) if frame.get("id") == 1)
    after = [frame for frame in wire.to_client[position + 1 :] if b"agent_error" in frame]
    assert after == [], sequence
