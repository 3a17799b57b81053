"""A client that leaves, in whatever way: its prompts are cancelled, and nothing holds the agent."""

from __future__ import annotations

import fcntl
import json
import socket
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import FUSE_SECONDS, clean_environment
from tests.kit.doors import command

if TYPE_CHECKING:
    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Start

NEARLY_FULL_BYTES = 48 * 1024
"""Of a pipe's 64 KiB, whose pages need not be full."""

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def flooded(start: Start) -> DoorClient:
    """A client that reads nothing of what fills the pipe."""
    client = start(reads=False)
    client.request("initialize", protocolVersion=1)
    client.prompt("many 1000000")
    fd, deadline = client.stdout.fd, time.monotonic() + FUSE_SECONDS
    waiting = b""
    while int.from_bytes(waiting, sys.byteorder) < NEARLY_FULL_BYTES:
        assert time.monotonic() < deadline
        waiting = fcntl.ioctl(fd, termios.FIONREAD, bytes(4))
    return client


def test_a_client_that_leaves_cancels_its_prompts_and_other_requests_do_not_delay_the_end(
    start: Start, door: str
) -> None:
    client = start().opened().open_session("s2")
    client.request("_wait")
    client.prompt("wait")
    client.expect_text("waiting")
    client.prompt("ask", "s2")
    client.expect_method("session/request_permission")
    assert client.end() == 0
    assert client.told == []
    # The SDK fails an open question itself, and logs what the handler makes of it.
    assert "Traceback" not in client.said or door == "sdk"


def test_a_client_that_leaves_right_after_its_request_is_answered(door: str) -> None:
    done = subprocess.run(
        command(door),
        input=HELLO,
        capture_output=True,
        timeout=FUSE_SECONDS,
        check=True,
        env=clean_environment(),
    )
    assert done.stdout.count(b'"result"') == 1
    assert b"[lastword]" not in done.stderr


def test_a_client_that_dies_in_a_flood_ends_the_agent(start: Start) -> None:
    client = flooded(start)
    # The agent waits for room, and hears of both pipes at once.
    client.close(client.stdout)
    client.close_stdin()
    assert client.wait() == 0


def test_a_client_that_leaves_without_reading_does_not_block_the_agent(start: Start) -> None:
    client = flooded(start)
    client.close_stdin()
    assert client.wait() == 0


FORKED = {"and_exit": 3, "and_fail": 1, "and_return": 0, "and_say": 1}


def test_a_forked_child_that_leaves_the_handler_ends_and_answers_nothing(
    client: DoorClient,
) -> None:
    for how, status in FORKED.items():
        assert client.turn(f"fork {how}").text == f"{status}: Here."
    assert client.turn("say").text == "Hello."


# --- stdin and stdout of any kind


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
