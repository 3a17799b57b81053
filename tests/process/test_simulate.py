"""The simulator as a command: it holds for the real core, always in the same way."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.kit.places import ROOT

SIMULATE = (sys.executable, "-m", "tests.long.simulate")
LAST_LINE = re.compile(
    r"turns=(\d+) silent=0 double=0 late=0 unbounded=0 trace=([0-9a-f]{16}) turns_per_s=\d+"
)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SIMULATE, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_twenty_thousand_turns_of_every_kind_keep_every_promise() -> None:
    done = _run("--turns", "20000", "--seed", "1")
    assert done.returncode == 0, done.stdout
    found = LAST_LINE.fullmatch(done.stdout.splitlines()[-1])
    assert found is not None, done.stdout
    assert int(found[1]) >= 20_000


def test_a_seed_gives_the_same_trace_whatever_the_hashes() -> None:
    traces = set()
    for number in ("1", "2"):
        done = subprocess.run(
            [*SIMULATE, "--turns", "1000", "--seed", "5", "--quiet"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
            env={"PYTHONHASHSEED": number},
        )
        found = LAST_LINE.fullmatch(done.stdout.strip())
        assert found is not None
        traces.add(found[2])
    assert len(traces) == 1
