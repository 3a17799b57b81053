"""A client that leaves, in whatever way: its prompts are cancelled, and nothing holds the agent."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import FUSE_SECONDS, clean_environment
from tests.kit.doors import command
from tests.kit.patience import patient

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


@pytest.mark.parametrize("prompt", ["wait", "ask"])
def test_a_client_that_leaves_cancels_its_prompts(start: Start, door: str, prompt: str) -> None:
    client = start().opened()
    client.prompt(prompt)
    client.expect(
        lambda frame: frame.get("method") in {"session/update", "session/request_permission"}
    )
    started = time.monotonic()
    assert client.end() == 0
    assert time.monotonic() - started < patient(5)
    assert client.told == []
    # The SDK fails an open question itself, and logs what the handler makes of it.
    assert "Traceback" not in client.said or (door, prompt) == ("sdk", "ask")


def test_a_client_that_leaves_right_after_its_question_is_answered(door: str) -> None:
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


def test_a_client_that_leaves_does_not_wait_for_a_request_that_never_ends(start: Start) -> None:
    client = start()
    client.request("_wait")
    assert client.end() == 0


def test_a_client_that_dies_in_a_flood_ends_the_agent(start: Start) -> None:
    client = flooded(start)
    # The agent waits for room, and hears of both pipes at once.
    client.close(client.stdout)
    client.close_stdin()
    assert client.wait() == 0


def test_a_client_that_leaves_without_reading_does_not_hold_the_agent(start: Start) -> None:
    client = flooded(start)
    client.close_stdin()
    assert client.wait(fuse=20) == 0


@pytest.mark.parametrize(
    ("how", "status"), [("and_exit", 3), ("and_fail", 1), ("and_return", 0), ("and_say", 1)]
)
def test_a_forked_child_that_leaves_the_handler_ends_and_answers_nothing(
    start: Start, how: str, status: int
) -> None:
    client = start().opened()
    assert client.turn(f"fork {how}").text == f"{status}: Here."
    assert client.turn("say").text == "Hello."
    assert client.end() == 0
