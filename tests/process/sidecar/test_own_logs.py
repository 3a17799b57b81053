"""An agent's own log that another process writes, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from lastword.core.failure.taxonomy import Attribution
from tests.unit.sidecar.test_own_logs import Home, home, warning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


__all__ = ["home"]
HOLDER = """
import os, sys, time
file = open(sys.argv[1], "a")
if os.fork():
    os._exit(0)
os.setsid()
print(os.getpid(), flush=True)
os.close(1)
time.sleep(60)
"""


@contextmanager
def another_writer(path: Path) -> Iterator[None]:
    """Hold a file open in a process that does not descend from this one."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    pid = int(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_log_shared_with_another_process_is_not_evidence(home: Home) -> None:
    path = home.write("logs/agent.log", "x")
    with another_writer(path):
        home.write("logs/agent.log", warning())
        assert home.look() == []
        home.write("logs/agent.log", warning(f"pid={os.getpid()}"))
        (hint,) = home.look()
        assert hint.attribution is Attribution.STRONG
        home.write("logs/agent.log", warning("pid=1"))
        assert home.look() == []
