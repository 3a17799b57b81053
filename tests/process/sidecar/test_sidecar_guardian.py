"""The guardian's end: it guards a group, not a number."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.kit.sidecar import SidecarClient

AGENT = "import sys; sys.stdin.readline(); sys.exit(3)"


def children(pid: int) -> list[str]:
    """The processes that a process has started and not let go."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_no_guardian_outlives_the_group_that_it_guards() -> None:
    options = ["--restart", "never", "--no-record"]
    client = SidecarClient([sys.executable, "-c", AGENT], options=options)
    try:
        for _ in range(3):  # by the last answer a whole round has followed the end
            answer = client.call("initialize")
            assert answer["error"]["data"]["agent_error"]["type"] == "agent_crash"
        assert children(client.pid) == []
    finally:
        client.finish()
