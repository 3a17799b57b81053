"""Stdin and stdout: kept for the client alone, of whatever kind they are, and given back."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import FUSE_SECONDS, clean_environment
from tests.process.inprocess.serve.conftest import AGENT
from tests.process.inprocess.test_leaving import LINES, ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.conftest import Start


def served_with(door: str, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    """An agent with these streams, when it has ended well."""
    return subprocess.run(
        [*AGENT, door], timeout=FUSE_SECONDS, check=True, env=clean_environment(), **streams
    )


def test_stdin_and_stdout_may_be_files_and_stdin_empty(door: str, tmp_path: Path) -> None:
    source, sink = tmp_path / "in", tmp_path / "out"
    source.write_bytes(LINES)
    with source.open("rb") as stdin, sink.open("wb") as stdout:
        done = served_with(door, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
    assert ids(sink.read_bytes()) == [1, 2, 3]
    assert b"raised RateLimitError" in done.stderr
    done = served_with(door, stdin=subprocess.DEVNULL, capture_output=True)
    assert ids(done.stdout) == []
    assert done.stderr == b""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_stdin_may_be_a_terminal(door: str) -> None:
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [*AGENT, door],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    ) as agent:
        try:
            os.write(ours, LINES + b"\x04")
            output, _ = agent.communicate(timeout=FUSE_SECONDS)
            assert ids(output) == [1, 2, 3]
            assert agent.returncode == 0
            assert os.get_blocking(theirs)
        finally:
            agent.kill()
            os.close(ours)
            os.close(theirs)


def test_an_agent_ends_when_its_client_stops_reading(start: Start) -> None:
    client = start(reads=False)
    client.request("session/new", cwd="/", mcpServers=[])
    client.close(client.stdout)
    for _ in range(3):
        if client.exit_status is None:
            try:
                client.request("_echo")
            except BrokenPipeError:
                break
    assert client.wait() == 0
