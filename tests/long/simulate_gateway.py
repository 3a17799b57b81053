"""Sessions of the gateway, with viewers and accidents of every kind, around the real hub.

    python -m tests.long.simulate_gateway --schedules 1000000 --seed 1
        [--mutant NAME] [--schedule K]

A schedule is one session: an agent that speaks, asks and answers; up to three viewers that come
back with and without cursors, lag, repeat themselves, answer twice, and whose links are cut with
frames on their way; a front and a holder that die; a log that forgets its oldest entries. All of
it is drawn from the seed, so a seed always gives the same trace.

A referee (`tests.kit.gateway.referee`) looks at what was committed, at what each viewer applied and
at what reached the agent: nothing is `lost`, shown twice (`double`) or out of order (`disorder`),
what the log has forgotten is told (`untold` where it is not), every request is answered
(`unanswered`), with the invariants V3 to V7, V9 and V10.

The last line counts: `schedules=… lost=0 double=0 disorder=0 untold=0 unanswered=0 trace=…`, with
`other=…` where an invariant broke. Status 1 where anything did; the first schedule that failed is
named, and `--schedule K` plays it alone. `--mutant` plays a gateway that is put together wrongly,
which has to be seen.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter

from tests.kit.gateway.mutants import MUTANTS
from tests.kit.gateway.referee import PROMISES, BrokenGatewayPromiseError
from tests.kit.gateway.world import Machine, World

_TOLD_EVERY_SECONDS = 30.0


class Schedules:
    """What a run has come to so far."""

    def __init__(self, seed: int, mutant: str = "") -> None:
        self.count = 0
        self.broken: Counter[str] = Counter()
        self.first_failing = ""
        self._seed = seed
        self._mutant = mutant
        self._trace = hashlib.sha256()

    def play(self, number: int) -> None:
        """Play one schedule and count it."""
        machine = MUTANTS[self._mutant]() if self._mutant else Machine()
        world = World(self._seed, number, machine)
        try:
            world.run()
        except BrokenGatewayPromiseError as broken:
            self.broken[broken.promise] += 1
            self.first_failing = self.first_failing or f"schedule {number}: {broken}"
        self.count += 1
        self._trace.update(b"\n".join(world.trace))

    def line(self) -> str:
        """The last line of a run."""
        counts = " ".join(f"{promise}={self.broken[promise]}" for promise in PROMISES)
        other = self.broken.total() - sum(self.broken[promise] for promise in PROMISES)
        more = f" other={other}" if other else ""
        trace = self._trace.hexdigest()[:16]
        return f"schedules={self.count} {counts}{more} trace={trace}"


def main() -> int:
    """Play the schedules of a seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedule", type=int, help="play this one alone")
    parser.add_argument("--mutant", choices=MUTANTS, default="")
    arguments = parser.parse_args()
    run = Schedules(arguments.seed, arguments.mutant)
    alone = arguments.schedule
    numbers = range(arguments.schedules) if alone is None else range(alone, alone + 1)
    told = time.monotonic()
    for number in numbers:
        run.play(number)
        if time.monotonic() - told > _TOLD_EVERY_SECONDS:
            told = time.monotonic()
            print(run.line(), file=sys.stderr, flush=True)
    if run.first_failing:
        print(run.first_failing)
    print(run.line())
    return 1 if run.broken else 0


if __name__ == "__main__":
    sys.exit(main())
