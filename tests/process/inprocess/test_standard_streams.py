"""Stdin and stdout of whatever kind, and what a client that reads late still gets of them."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import FUSE_SECONDS, clean_environment
from tests.kit.doors import command

if TYPE_CHECKING:
    from tests.process.inprocess.conftest import Start

PROMPT = [{"type": "text", "text": "fail throttled"}]
SCRIPT: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
    {"id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}},
    {"id": 3, "method": "session/prompt", "params": {"sessionId": "s", "prompt": PROMPT}},
]
LINES = b"".join(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n" for frame in SCRIPT)


def ids(output: bytes) -> list[int]:
    """The ids of the answers in whole lines."""
    return [f["id"] for f in map(json.loads, output.splitlines()) if "id" in f]


@pytest.mark.parametrize("door", ["asyncio", "trio"])  # to asyncio's pipes it is no stdout
def test_stdin_and_stdout_may_be_one_socket(door: str) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(FUSE_SECONDS)
    with (
        subprocess.Popen(
            command(door), stdin=theirs.fileno(), stdout=theirs.fileno(), env=clean_environment()
        ) as agent,
        ours,
        theirs,
    ):
        theirs.close()
        ours.sendall(LINES)
        output = b""
        while len(ids(output[: output.rfind(b"\n") + 1])) < 3:
            output += ours.recv(65536)
        ours.shutdown(socket.SHUT_WR)
        assert agent.wait(FUSE_SECONDS) == 0


def test_a_client_that_reads_after_leaving_gets_whole_frames(start: Start) -> None:
    client = start(reads=False)
    client.request("initialize", protocolVersion=1)
    client.prompt("many 1000")
    client.close_stdin()
    client.read()
    assert client.wait() == 0
    assert client.texts
    assert client.is_whole


def test_prints_go_to_stderr_while_a_door_serves_and_to_stdout_afterwards(
    start: Start,
) -> None:
    # Buffered, as Python prints to a pipe where nobody asked for anything else.
    client = start("prints", PYTHONUNBUFFERED="")
    client.peer.takes_noise = True
    client.open()
    assert client.end() == 0
    assert "printed before" in client.said
    # Stdout is the process's own again, when there is nobody left to be disturbed.
    assert client.stdout.data.endswith(b"printed after, [True, True]\n")
