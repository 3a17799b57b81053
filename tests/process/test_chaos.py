"""A short run of `tests.long.chaos`; the long one is a command."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.kit.places import ROOT

CHAOS = (sys.executable, "-m", "tests.long.chaos")
FUSE_SECONDS = 600


@pytest.mark.skipif(sys.platform != "linux", reason="what is left is counted in /proc")
def test_sixty_crashes_leave_no_descriptor_no_process_no_thread_and_no_memory() -> None:
    done = subprocess.run(
        [*CHAOS, "--cycles", "60", "--seed", "7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    nothing = "leaked_fds=0 zombies=0 orphans=0 threads=0"
    assert re.fullmatch(rf"cycles=60 answered=\d+ {nothing} rss_growth_mb=\d\.\d", last)
