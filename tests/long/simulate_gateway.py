"""Sessions of the gateway, with viewers and accidents of every kind, around the real hub.

    python -m tests.long.simulate_gateway --schedules 1000000 --seed 1
        [--mutant NAME] [--schedule K]
    python -m tests.long.simulate_gateway --fleet …
    python -m tests.long.simulate_gateway --connecting …

A schedule is one session: an agent that speaks, asks and answers; up to three viewers that come
back, with and without cursors, by the id of an event or with a past whose messages are joined, lag,
repeat themselves, answer twice, and whose links are cut with frames on their way; a front and a
holder that die; a log that forgets its oldest entries. All of it is drawn from the seed, so a seed
always gives the same trace.

A referee (`tests.kit.gateway.referee`) looks at what was committed, at what each viewer applied and
at what reached the agent: nothing is `lost`, shown twice (`double`) or out of order (`disorder`),
what the log has forgotten is told (`untold` where it is not), every request is answered
(`unanswered`), with the invariants V3 to V7, V9 and V10; and what is joined is of the past and of
one message (`joined`).

The last line counts: `schedules=… lost=0 double=0 disorder=0 untold=0 unanswered=0 trace=…`, with
`other=…` where an invariant broke. Status 1 where anything did; the first schedule that failed is
named, and `--schedule K` plays it alone. `--mutant` plays a gateway that is put together wrongly,
which has to be seen.

With `--fleet` a schedule is a session of a fleet: up to three nodes whose processes die, are
stopped and go on; a broker whose answers are lost, late or come twice, whose leader changes, whose
stream is full, and which loses what it had acknowledged; a record of the owner that expires early
or late; links between the two that are cut; files that are damaged. Its referee
(`tests.kit.fleet.simulation.referee`) has promises of its own: nothing is shown or done before it
is in the stream (`unreplicated`), terms ascend (`terms`), no entry is replaced by another
(`mixed`), and there is an owner again in time (`late`).

With `--connecting` it is an editor before a connector whose link to the gateway is cut at any
moment: at its end nothing may be lost or doubled, and each request has one answer.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kit.fleet.simulation.referee import FLEET_PROMISES
from tests.kit.fleet.simulation.world import FleetWorld
from tests.kit.gateway.mutants import FLEET_MUTANTS, MUTANTS
from tests.kit.gateway.played_link import ConnectingWorld
from tests.kit.gateway.referee import PROMISES
from tests.kit.gateway.world import World
from tests.kit.simulation.ledger import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager


class Game(NamedTuple):
    """What is played: its worlds, what puts them together wrongly, and what it promises."""

    world: Callable[[int, int], Any]
    mutants: Mapping[str, Callable[[], AbstractContextManager[object]]]
    promises: tuple[str, ...]


GAMES = {
    "gateway": Game(World, MUTANTS, PROMISES),
    "fleet": Game(FleetWorld, FLEET_MUTANTS, FLEET_PROMISES),
    "connecting": Game(ConnectingWorld, {}, ("lost",)),
}


class Schedules:
    def __init__(self, game: str, seed: int, mutant: str = "") -> None:
        self.count = 0
        self.broken: Counter[str] = Counter()
        self.first_failing = ""
        self._game, self._seed, self._mutant = GAMES[game], seed, mutant
        self._trace = hashlib.sha256()

    def play(self, number: int) -> None:
        with self._game.mutants[self._mutant]() if self._mutant else nullcontext():
            world = self._game.world(self._seed, number)
            try:
                world.run()
            except BrokenPromiseError as broken:
                self.broken[broken.promise] += 1
                self.first_failing = self.first_failing or f"schedule {number}: {broken}"
        self.count += 1
        self._trace.update(hashlib.sha256(b"\n".join(world.trace)).digest())

    def line(self) -> str:
        counts = " ".join(f"{promise}={self.broken[promise]}" for promise in self._game.promises)
        other = self.broken.total() - sum(self.broken[promise] for promise in self._game.promises)
        more = f" other={other}" if other else ""
        trace = self._trace.hexdigest()[:16]
        return f"schedules={self.count} {counts}{more} trace={trace}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedule", type=int, help="play this one alone")
    parser.add_argument("--mutant", choices={**MUTANTS, **FLEET_MUTANTS}, default="")
    for game in ("fleet", "connecting"):
        parser.add_argument(f"--{game}", action="store_const", dest="game", const=game)
    arguments = parser.parse_args()
    game = arguments.game or "gateway"
    run = Schedules(game, arguments.seed, arguments.mutant)
    alone = arguments.schedule
    numbers = range(arguments.schedules) if alone is None else range(alone, alone + 1)
    for number in numbers:
        run.play(number)
    if run.first_failing:
        print(run.first_failing)
    print(run.line())
    return 1 if run.broken else 0


if __name__ == "__main__":
    sys.exit(main())
