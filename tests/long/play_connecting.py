"""The connector of an editor on played links that are cut at any moment.

    python -m tests.long.play_connecting [--schedules 10000] [--seed 1]

A schedule is 150 steps, drawn from the seed and its number; at its end nothing may be lost or
doubled, and each request has one answer. The first schedule that fails is named, with status 1. The
unit tests play a hundred of them.
"""

from __future__ import annotations

import argparse
import sys

from tests.kit.gateway.played_link import play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for number in range(given.schedules):
        try:
            play(f"{given.seed}/{number}")
        except AssertionError as error:
            print(f"schedule {given.seed}/{number}: {error}")
            return 1
    print(f"schedules={given.schedules} failed=0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
