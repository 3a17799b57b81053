"""What lastword says of real agents that are silent, by the cause of the silence.

    python -m tests.interop.silence_table [--agents …] [--silences …]

Owns the table and its totals, on stdout: the remark, the turn's end and the record's facts of every
agent and every cause; it fails if a cell is not as it has to be. Does not own the cells
(`silence_cells`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from tests.interop.agents_registry import AGENTS
from tests.interop.agents_table import fence
from tests.interop.silence_cells import Cell, Result, Silence, play
from tests.kit import children

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKERS = 3


def table(results: Sequence[Result]) -> str:
    """Return what came of the cells, a row each, and how many were right of each cause."""
    order = {key: number for number, key in enumerate((*AGENTS, *Silence))}
    lines = [
        "| the agent | is silent for | the remark | the end | recorded | right |",
        "|---" * 6 + "|",
    ]
    for one in sorted(results, key=lambda one: (order[one.cell.silence], order[one.cell.agent])):
        said = "; ".join((*one.remarks, *(f"retry: {name}" for name in dict.fromkeys(one.retries))))
        waits = ", ".join(f"{name} {value}" for name, value in one.waits.items())
        recorded = ", ".join(filter(None, (*one.causes, waits)))
        cells = (one.cell.agent, one.cell.silence, said, " ".join(one.end), recorded)
        lines.append(f"| {' | '.join(cells)} | {'yes' if one.is_right else '**no**'} |")
    for silence in Silence:
        of_it = [one for one in results if one.cell.silence is silence]
        if of_it:
            lines.append(f"{silence}: {sum(one.is_right for one in of_it)} of {len(of_it)}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS))
    parser.add_argument("--silences", nargs="+", choices=[*Silence], default=list(Silence))
    parser.add_argument("--workers", type=int, default=WORKERS)
    arguments = parser.parse_args()
    cells = [
        Cell(agent, Silence(silence))
        for silence in arguments.silences
        for agent in arguments.agents
    ]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for agent in arguments.agents:
            # Installed while there is a network.
            AGENTS[agent].command(Path(folder) / agent / "work")
        if not fence():
            sys.stderr.write("No network of its own: the agents are kept in by variables alone.\n")
        results = []
        with ThreadPoolExecutor(arguments.workers) as pool:
            jobs = {pool.submit(play, cell, Path(folder)): cell for cell in cells}
            for job in as_completed(jobs):
                if job.exception() is not None:
                    sys.stderr.write(f"{jobs[job]} was not played: {job.exception()!r}\n")
                    continue
                results.append(job.result())
                sys.stderr.write(f"{job.result()}\n")
    sys.stdout.write(table(results))
    return 0 if len(results) == len(cells) and all(one.is_right for one in results) else 1


if __name__ == "__main__":
    children.prepare()
    sys.exit(main())
