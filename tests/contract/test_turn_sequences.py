"""Whatever happens in a turn, in whatever order: one answer, and nothing of ours after it."""

from __future__ import annotations

import itertools
import json
from random import Random

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.turn import Event
from tests.kit.wire import Wire, cancel, chunk, error, prompted, result
from tests.long.simulate import Tally, explain


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


@pytest.mark.no_cover  # other tests reach these lines
@pytest.mark.parametrize(
    ("events", "one_in"),
    [(3, 1), (4, 20), pytest.param(4, 1, marks=pytest.mark.matrix)],
    ids=["every three", "four, one in twenty", "every four"],
)
@pytest.mark.parametrize("retry", [0, 2])
@pytest.mark.parametrize("silent_success", ["error", "pass"])
def test_a_sequence_of_events_gives_one_answer_and_ends_with_it(
    silent_success: str, retry: int, events: int, one_in: int
) -> None:
    every = [*itertools.product(Event, repeat=events)]
    # The same in every run, and others for each of the options.
    dice = Random(f"{silent_success} {retry}")
    for sequence in dice.sample(every, len(every) // one_in):
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


def test_four_thousand_turns_of_every_kind_keep_every_promise() -> None:
    seed = 2
    tally = Tally(seed)
    while tally.turns < 4000:
        tally.play(tally.links)
        assert tally.first_failing is None, explain(seed, tally.links - 1)
