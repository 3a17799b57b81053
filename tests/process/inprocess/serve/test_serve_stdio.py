"""Stdin and stdout: kept for the client alone, of whatever kind they are, and given back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import FUSE_SECONDS, clean_environment
from tests.process.inprocess.serve.conftest import AGENT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.serve.conftest import Serve

PROMPT = [{"type": "text", "text": "fail throttled"}]
SCRIPT: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
    {"id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}},
    {"id": 3, "method": "session/prompt", "params": {"sessionId": "s", "prompt": PROMPT}},
]
LINES = b"\n".join(json.dumps({"jsonrpc": "2.0", **frame}).encode() for frame in SCRIPT)


def ids(output: bytes) -> list[int]:
    return [frame["id"] for frame in map(json.loads, output.splitlines()) if "id" in frame]


def test_what_a_handler_or_its_child_prints_goes_to_stderr_and_neither_reads_the_client(
    serve: Serve,
) -> None:
    client = serve()
    client.open()
    assert client.turn("print").text == "read ''"
    client.expect_stderr("printed noise")
    client.expect_stderr("noise of a child")
    assert client.end() == 0


def test_descriptors_are_given_back_as_they_were(serve: Serve) -> None:
    client = serve()
    client.open()
    client.end()
    assert client.frames[-1]["params"] == {"blocking": [True, True]}


def test_stdin_and_stdout_may_be_files(door: str, tmp_path: Path) -> None:
    source, sink = tmp_path / "in", tmp_path / "out"
    source.write_bytes(LINES)
    with source.open("rb") as stdin, sink.open("wb") as stdout:
        done = subprocess.run(
            [*AGENT, door],
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=FUSE_SECONDS,
            check=True,
            env=clean_environment(),
        )
    assert ids(sink.read_bytes()) == [1, 2, 3]
    assert b"raised RateLimitError" in done.stderr


def test_stdin_may_be_nothing(door: str) -> None:
    done = subprocess.run(
        [*AGENT, door],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=FUSE_SECONDS,
        check=True,
        env=clean_environment(),
    )
    assert ids(done.stdout) == []
    assert done.stderr == b""


def test_stdin_and_stdout_may_be_one_socket(door: str) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(FUSE_SECONDS)
    with ours, theirs:
        agent = subprocess.Popen(
            [*AGENT, door],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            env=clean_environment(),
        )
        theirs.close()
        ours.sendall(LINES + b"\n")
        output = b""
        while len(ids(output[: output.rfind(b"\n") + 1])) < 3:
            output += ours.recv(65536)
        ours.shutdown(socket.SHUT_WR)
        assert agent.wait(FUSE_SECONDS) == 0


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_stdin_may_be_a_terminal(door: str) -> None:
    ours, theirs = os.openpty()
    agent = subprocess.Popen(
        [*AGENT, door],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    os.write(ours, LINES + b"\n\x04")
    try:
        output, _ = agent.communicate(timeout=FUSE_SECONDS)
        assert ids(output) == [1, 2, 3]
        assert agent.returncode == 0
        assert os.get_blocking(theirs)
    finally:
        agent.kill()
        os.close(ours)
        os.close(theirs)
