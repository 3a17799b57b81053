"""The guardian's end: it guards a group, not a number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUSE_SECONDS = 10

AGENT = "import sys; sys.stdin.readline(); sys.exit(3)"


def children(pid: int) -> list[str]:
    """The processes that a process has started and not let go."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_no_guardian_outlives_the_group_that_it_guards() -> None:
    run = [sys.executable, "-m", "lastword", "run", "--restart", "never", "--no-record"]
    command = [*run, "--", sys.executable, "-c", AGENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sidecar:
        assert sidecar.stdin is not None
        assert sidecar.stdout is not None
        try:
            asked = b'{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{}}\n'
            for request_id in range(3):  # by the last answer a whole round has followed the end
                sidecar.stdin.write(asked % request_id)
                sidecar.stdin.flush()
                assert b"agent_crash" in sidecar.stdout.readline()
            assert children(sidecar.pid) == []
        finally:
            sidecar.stdin.close()
            sidecar.wait(FUSE_SECONDS)
