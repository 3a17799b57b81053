"""Whole links as `simulate` draws them, through a real `lastword run` and a real agent.

    python -m tests.long.simulate_processes --turns 2000 --seed 1 [--until-failure] [--link K]

Its agents, clients and referee are the simulator's, and so are the promises; what differs is what
is between them: processes, pipes, signals and the machine's clock. Agents die, are ended, and are
started again, or can't be; nothing of a link may be left when its client has gone. Limits and waits
are short. A link that breaks a promise is shown with what went over its wires: since real time
passes in it, the same link may go well the next time.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.kit import children
from tests.kit.simulation.ledger import BrokenPromiseError
from tests.kit.simulation.links import Drawn
from tests.kit.simulation.processes import ProcessPlayer
from tests.long.simulate import show


def play(
    seed: int, number: int, player: type[ProcessPlayer] = ProcessPlayer
) -> tuple[Drawn, BrokenPromiseError | None]:
    """Play one link; gives the promise that it breaks, if any."""
    players: list[ProcessPlayer] = []
    with tempfile.TemporaryDirectory(prefix="lastword-simulated-") as folder:

        def begin(options: dict[str, Any], _core: object) -> ProcessPlayer:
            players.append(player(options, Path(folder)))
            return players[-1]

        link, problem = Drawn(seed, number, player=begin), None
        try:
            link.run()
        except BrokenPromiseError as broken:
            problem = broken
        try:
            players[0].close()
        except AssertionError as left:
            problem = problem or BrokenPromiseError("left", str(left))
    return link, problem


def main() -> int:
    """Run as the command line says; gives the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=2000, help="how many turns at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--link", type=int, help="play this link of the seed alone")
    parser.add_argument("--until-failure", action="store_true", help="stop at the first failure")
    asked = parser.parse_args()
    children.prepare()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    broken: Counter[str] = Counter()
    turns, links, start = 0, 0, time.monotonic()
    while turns < asked.turns and not (asked.link is not None and links):
        number = links if asked.link is None else asked.link
        link, problem = play(asked.seed, number)
        turns += link.world.turns
        links += 1
        if problem is not None:
            broken[problem.promise] += 1
            show(link)
        if problem is not None or asked.link is not None:
            print(f"seed {asked.seed}, link {number}, {link.options}: {problem or 'nothing broke'}")
        if problem is not None and asked.until_failure:
            break
    seconds = time.monotonic() - start
    print(f"turns={turns} links={links} broken={dict(broken) or 'none'} seconds={seconds:.0f}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
