"""The guardian that is a shell: it ends the agent's group when its owner is killed, or nothing."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.platform.posix.spawned_guardian import SpawnedGuardian, spawned_guardian_of
from lastword.platform.process import spawn
from tests.kit.gateway.serving import is_running, until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(flush=True)
time.sleep(60)
"""
FORKS = """
import os, time
if not os.fork():
    print(flush=True)
time.sleep(60)
"""
MOVES = """
import os, time
child = os.fork()
if child:
    os.setpgid(child, child)
    os.setpgid(0, child)
    print(flush=True)
time.sleep(60)
"""
"""Leaves the group that it leads, for that of a child."""


def owned(code: str, then: Callable[[SpawnedGuardian], None]) -> int:
    """Start an agent in a process that guards it; return the agent's id once that has ended."""
    read_end, write_end = os.pipe()
    owner = os.fork()
    if owner == 0:
        agent = spawn([sys.executable, "-c", code])
        guardian = spawned_guardian_of(agent)
        assert isinstance(guardian, SpawnedGuardian)
        os.write(write_end, b"%d" % agent.pid)
        os.set_blocking(agent.stdout, True)
        os.read(agent.stdout, 1)  # it has done what it does
        then(guardian)
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(write_end)
    os.waitpid(owner, 0)
    pid = int(os.read(read_end, 32))
    os.close(read_end)
    return pid


@pytest.mark.parametrize("code", [DEAF, MOVES])
def test_a_killed_owner_leaves_no_agent(code: str) -> None:
    pid = owned(code, lambda _: None)
    until("the agent has ended", lambda: not is_running(pid))


def test_a_guardian_that_was_dismissed_ends_nothing() -> None:
    pid = owned(FORKS, lambda guardian: guardian.disarm())
    assert is_running(pid)  # and the guardian has ended before its owner
    os.killpg(pid, signal.SIGKILL)
