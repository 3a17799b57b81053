"""A short run of `chaos.py`; the long one is a command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parent / "chaos.py"
FUSE_SECONDS = 120


@pytest.mark.skipif(sys.platform != "linux", reason="what is left is counted in /proc")
def test_sixty_crashes_leave_no_descriptor_no_process_no_thread_and_no_memory() -> None:
    done = subprocess.run(
        [sys.executable, str(CHAOS), "--cycles", "60", "--seed", "7"],
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    nothing = "leaked_fds=0 zombies=0 orphans=0 threads=0"
    assert re.fullmatch(rf"cycles=60 answered=\d+ {nothing} rss_growth_mb=\d\.\d", last)
