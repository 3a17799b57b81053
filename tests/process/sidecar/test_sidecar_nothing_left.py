"""However a run ends, no process of it is left. That itself is checked when each test is over."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit import left_behind
from tests.kit.sidecar import SidecarClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.process.sidecar.conftest import Start

pytestmark = pytest.mark.skipif(not left_behind.CAN_LOOK, reason="looks into /proc")

STUBBORN = "stubborn-with-stubborn-child"
"""Neither it nor its child heeds SIGTERM or the end of its input."""


def _sleepers(client: SidecarClient) -> list[int]:
    found = left_behind.processes(client.mark).items()
    return [pid for pid, command in found if command == "sleep 60"]


@pytest.mark.parametrize(
    ("mode", "ends"),
    [
        ("has-child", SidecarClient.close_stdin),
        ("ignores-end", SidecarClient.close_stdin),
        (STUBBORN, partial(SidecarClient.signal, number=signal.SIGTERM)),
        (STUBBORN, partial(SidecarClient.signal, number=signal.SIGKILL)),
    ],
    ids=["its child", "a deaf agent", "a stubborn one by SIGTERM", "one whose sidecar was killed"],
)
def test_no_process_is_left_however_a_run_ends(
    start: Start, mode: str, ends: Callable[[SidecarClient], None]
) -> None:
    client = start(mode)
    client.open()
    ends(client)
    client.wait()
    assert left_behind.wait_for_none(client.mark) == {}


def test_a_client_that_reads_nothing_does_not_delay_an_end_by_sigterm(start: Start) -> None:
    client = start("many-frames", 20_000, limits={"sidecar.session.FLUSH_SECONDS": 600.0})
    client.cut_allowed = True
    client.open()
    client.prompt()
    client.stdout.reading = False
    client.listen(0.3)
    os.kill(client.pid, signal.SIGTERM)
    client.wait()


@pytest.mark.parametrize(("name", "status"), [("TERM", 128 + signal.SIGTERM), ("USR1", 9)])
def test_a_signal_that_comes_before_we_are_ready_is_not_lost(
    start: Start, name: str, status: int
) -> None:
    # The agent is up long before the sidecar is, and sends it a signal at once.
    script = f"trap 'exit 9' USR1; kill -{name} $PPID; while :; do sleep 0.01; done"
    client = start.command(["sh", "-c", script])
    if name == "USR1":
        client.expect_stderr("the agent ended")
        client.close_stdin()
    assert client.wait() == status


def test_no_process_is_left_when_the_sidecar_was_killed_before_any_message(start: Start) -> None:
    client = start("stubborn")
    # Until there is who guards its agent, nothing can see to its end.
    client.read_until_true(lambda: guardians(client), "a guardian")
    client.signal(signal.SIGKILL)
    client.wait()
    assert left_behind.wait_for_none(client.mark) == {}


def guardians(client: SidecarClient) -> list[int]:
    """The guardians of the sidecar's agents."""
    children = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text().split()
    found = []
    for pid in children:
        with contextlib.suppress(OSError):  # it has gone since
            if b"lastword-guardian" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


def test_a_second_sigterm_kills_at_once(start: Start) -> None:
    # After the first it would wait for longer than any fuse here.
    limits = {"sidecar.child.SIGNALLED_GRACE_SECONDS": 600.0}
    client = start("stubborn", limits=limits, options=["--verbose"])
    client.open()
    os.kill(client.pid, signal.SIGTERM)
    client.expect_stderr("SIGTERM")
    os.kill(client.pid, signal.SIGTERM)
    assert client.wait() == 128 + signal.SIGKILL


def test_processes_in_the_group_of_an_agent_that_ended_by_itself_are_left_alone(
    start: Start,
) -> None:
    client = start("has-child")
    client.open()
    client.turn()
    assert client.wait() == 0
    (sleeper,) = _sleepers(client)
    os.kill(sleeper, signal.SIGKILL)


def test_a_process_with_a_separate_group_outlives_the_agent_and_delays_no_end(start: Start) -> None:
    client = start("has-child", "daemon")
    client.open()
    client.read_until_true(lambda: _sleepers(client), "a daemon")
    os.kill(client.pid, signal.SIGTERM)
    client.wait()
    # It left the agent's group on purpose, as docs/editor.md says: no signal of ours reaches it.
    (sleeper,) = _sleepers(client)
    os.kill(sleeper, signal.SIGKILL)
    assert left_behind.wait_for_none(client.mark) == {}


def test_the_guardian_ends_with_the_group_that_it_guards(start: Start) -> None:
    client = start("exits-3", options=["--restart", "never", "--no-record"])
    client.open()
    for _ in range(3):  # by the last answer a whole round has followed the end
        assert "error" in client.turn().answer
    children = Path(f"/proc/{client.pid}/task/{client.pid}/children")
    client.read_until_true(lambda: children.read_text().split() == [], "the guardian's end")
    assert client.end() == 3
