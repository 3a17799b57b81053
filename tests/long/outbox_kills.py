"""A gateway under reports, killed over and over: each report arrives once or is counted.

`python -m tests.long.outbox_kills --kills 100 --seed 1`: some minutes. Its last line is the sum;
the exit status is 1 where a failure that a viewer was told of neither arrived nor was counted as
dropped, or where the outbox's counts do not add up.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.kit.outbox_kills import Kills


def main(arguments: list[str]) -> int:
    """Kill, count, and say what came of it; gives the exit status."""
    parser = argparse.ArgumentParser(prog="outbox_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(Path(folder), options.seed)
        try:
            while kills.count < options.kills:
                kills.round()
            found = kills.sum()
        finally:
            kills.close()
    members = msgspec.structs.asdict(found)
    sys.stdout.write(" ".join(f"{name}={value}" for name, value in members.items()) + "\n")
    return 0 if found.untold == 0 and found.adds_up else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
