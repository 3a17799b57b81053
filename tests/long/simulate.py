"""Whole links, with agents, clients and machines of every kind, around the real core.

    python -m tests.long.simulate --turns 1000000 --seed 1 [--until-failure] [--quiet] [--link K]

Each link is one conversation on a virtual clock: an agent (healthy, slow, silent, mad, dying), a
client (of any profile; one that cancels, prompts twice, answers late or wrongly, leaves), and a
machine that sleeps, kills, and fails to start things. All of it is drawn from the seed by
`random.Random(...).random()` alone, so a seed always gives the same trace, on every Python.

After every event a referee looks at what went over the two wires, with a model of its own
(`tests.kit.simulation.referee`): every prompt is answered once (`silent`, `double`), nothing
follows what was ended (`late`), nothing grows without bound (`unbounded`), failures are typed
(`G3`), healthy frames pass as they came (`G4`), no secret gets out (`G5`), no frame of ours is too
large (`G6`), no answer reaches the wrong agent (`ids`), a cancel is never a failure (`cancel`),
frames of ours are sound (`frame`, `payload`), and nothing is ever raised (`raised`).

The last line counts: `turns=… silent=0 double=0 late=0 unbounded=0 trace=… turns_per_s=…`, with
`other=…` where another promise broke. The trace is a hash of everything that was sent and
recorded; the rate is by the time of the processor.

A promise that breaks ends the run with status 1 (with `--until-failure` at once, else after all
links), the number of the first failing link, and the shortest schedule found that breaks the same
promise, as the text of a test. To keep it: paste it into
`tests/unit/link/test_connection_simulated.py` (with `from tests.kit.simulation.links import
replay`), give it the sentence that should hold as its name, mend the core, and see it pass.
`--link K` plays link K of the seed alone, and shows its trace.

With `--processes`, links go through a real `lastword run` and a real agent. Agents, clients,
referee and promises are the same; what differs is what is between them: processes, pipes, signals
and the machine's clock. Agents die, are ended, and are started again, or can't be; nothing of a
link may be left when its client has gone (`left`). Limits and waits are short. A link that breaks a
promise is shown with what went over its wires: since real time passes in it, the same link may go
well the next time.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import resource
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lastword.core.link.connection import Connection
from tests.kit import children
from tests.kit.simulation.ledger import BrokenPromiseError
from tests.kit.simulation.links import Drawn, as_test, replay, shortest
from tests.kit.simulation.player import Player
from tests.kit.simulation.processes import ProcessPlayer

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTED = ("silent", "double", "late", "unbounded")
_SHOWN_LINE = 240


Played: TypeAlias = "tuple[Drawn, BrokenPromiseError | None]"
"""A link, and the promise that it broke, if any."""


def play_core(seed: int, number: int, core: Callable[..., Any] = Connection) -> Played:
    return _played(Drawn(seed, number, partial(Player, core=core)))


def play_processes(
    seed: int, number: int, player: Callable[..., ProcessPlayer] = ProcessPlayer
) -> Played:
    with tempfile.TemporaryDirectory(prefix="lastword-simulated-") as folder:
        link, problem = _played(Drawn(seed, number, partial(player, folder=Path(folder))))
        assert isinstance(link.world.player, ProcessPlayer)
        try:
            link.world.player.close()
        except AssertionError as left:
            problem = problem or BrokenPromiseError("left", str(left))
    return link, problem


def _played(link: Drawn) -> Played:
    try:
        link.run()
    except BrokenPromiseError as broken:
        return link, broken
    return link, None


class Tally:
    def __init__(
        self,
        seed: int,
        core: Callable[..., Any] = Connection,
        play: Callable[[int, int], Played] | None = None,
    ) -> None:
        self.turns = 0
        self.links = 0
        self.broken: Counter[str] = Counter()
        self.first_failing: int | None = None
        self._play = play or partial(play_core, core=core)
        self._seed = seed
        self._trace = hashlib.sha256()

    def play(self, number: int) -> Played:
        link, broken = self._play(self._seed, number)
        if broken is not None:
            self.broken[broken.promise] += 1
            if self.first_failing is None:
                self.first_failing = number
        self.turns += link.world.turns
        self.links += 1
        self._trace.update(b"\n".join(link.world.player.trace))
        return link, broken

    def line(self, seconds: float) -> str:
        counts = " ".join(f"{promise}={self.broken[promise]}" for promise in COUNTED)
        other = sum(self.broken.values()) - sum(self.broken[promise] for promise in COUNTED)
        trace = self._trace.hexdigest()[:16]
        more = f" other={other}" if other else ""
        rate = round(self.turns / seconds) if seconds else 0
        return f"turns={self.turns} {counts}{more} trace={trace} turns_per_s={rate}"


def explain(seed: int, number: int, core: Callable[..., Any] = Connection) -> str:
    """The failure of one link, and the shortest schedule that fails the same way, as a test."""
    link, broken = play_core(seed, number, core)
    if broken is not None:
        schedule = link.world.schedule
        options, events = shortest(link.options, schedule, broken.promise, core)
        found = replay(options, events, core) or broken
        head = f"seed {seed}, link {number}: {broken}\n"
        return head + as_test(options, events, found)
    return f"seed {seed}, link {number}: nothing broke"


def show(link: Drawn) -> None:
    for entry in link.world.player.trace:
        print(entry.decode(errors="replace")[:_SHOWN_LINE])


def main() -> int:
    """Run as the command line says; gives the exit status."""
    parser = argparse.ArgumentParser(description="Simulate turns around lastword's core.")
    parser.add_argument("--processes", action="store_true", help="play real processes")
    parser.add_argument("--turns", type=int, default=100_000, help="how many turns at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--link", type=int, help="play this link of the seed alone")
    parser.add_argument("--until-failure", action="store_true", help="stop at the first failure")
    parser.add_argument("--quiet", action="store_true", help="print the last line only")
    asked = parser.parse_args()
    tally = Tally(asked.seed, play=play_processes if asked.processes else None)
    gc.set_threshold(50_000)  # a link leaves little behind; looking for it often costs a tenth
    if asked.processes:
        children.prepare()
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    start = time.process_time()
    if asked.link is not None:
        show(tally.play(asked.link)[0])
    while asked.link is None and tally.turns < asked.turns:
        link, broken = tally.play(tally.links)
        if broken is not None and asked.processes:
            show(link)
            print(f"link {tally.links - 1}, {link.options}: {broken}")
        if tally.broken and asked.until_failure:
            break
    seconds = time.process_time() - start
    if tally.first_failing is not None and not asked.processes:
        print(explain(asked.seed, tally.first_failing))
    if not asked.quiet:
        print(f"{tally.links} links, promises broken: {dict(tally.broken) or 'none'}")
    print(tally.line(seconds))
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
