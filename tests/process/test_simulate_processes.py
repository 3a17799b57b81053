"""A short run of `tests.long.simulate_processes`; the long one is a command."""

from __future__ import annotations

import sys

import pytest

from tests.kit.simulation.processes import ProcessPlayer
from tests.long.simulate_processes import play

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks at processes in /proc")

LINK = (3, 4)
"""One with a bit of everything, in few seconds: a seed and a number."""


def test_random_turns_through_real_processes_keep_every_promise() -> None:
    link, problem = play(*LINK)
    assert problem is None, "\n".join([str(problem), *map(repr, link.world.player.trace[-40:])])
    assert link.world.turns > 10


class Hides(ProcessPlayer):
    """The referee does not see one kind of what reaches the client."""

    def deliver(self, tag: int, *, to_client: bool, frame: bytes) -> None:
        if not (to_client and b"And so on." in frame):
            super().deliver(tag, to_client=to_client, frame=frame)


def test_a_frame_that_does_not_arrive_is_noticed() -> None:
    _, problem = play(*LINK, Hides)
    assert problem is not None
    assert problem.promise == "G4"
