"""Whatever happens in a turn, in whatever order: one answer, and nothing of ours after it."""

from __future__ import annotations

import itertools
import json

import pytest

from lastword.core.link.connection import Side
from lastword.core.link.turn import Event
from tests.kit.wire import INITIALIZE, INITIALIZED, Wire, cancel, chunk, error, prompt, result


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


@pytest.mark.parametrize("retry", [0, 2])
@pytest.mark.parametrize("silent_success", ["error", "pass"])
@pytest.mark.parametrize("first", Event)
def test_every_four_event_sequence_on_the_wire_gives_one_answer_and_nothing_of_ours_after_it(
    first: Event, silent_success: str, retry: int
) -> None:
    for rest in itertools.product(Event, repeat=3):
        wire = Wire(stderr_limit_bytes=10, silent_success=silent_success, retry=retry)
        wire.client(INITIALIZE)
        wire.agent(INITIALIZED)
        wire.client(prompt())
        gone = False
        for event in (first, *rest):
            # A dead agent says nothing more.
            if not gone or event in (Event.CANCEL, Event.CLIENT_LOST, Event.TIMEOUT):
                _happen(wire, event)
            gone = gone or event is Event.AGENT_LOST
        if not gone:
            wire.eof(Side.AGENT)
        wire.time(wire.now + 10_000)
        sequence = (first, *rest)
        assert len(wire.answers()) == 1, sequence
        position = next(
            i for i, frame in enumerate(wire.to_client) if json.loads(frame).get("id") == 1
        )
        after = [frame for frame in wire.to_client[position + 1 :] if b"agent_error" in frame]
        assert after == [], sequence
