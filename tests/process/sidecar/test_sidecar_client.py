"""Clients that send the wrong thing, leave in an odd way, or say nothing at all."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.kit.crowded import CROWDED
from tests.kit.patience import FUSE_SECONDS
from tests.kit.sidecar import SIDECAR, agent_command
from tests.process.sidecar.failing_turn import is_healthy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

MIB = 1024 * 1024
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NO_METHOD = -32601

NO_MESSAGES = (
    (b"no json at all", PARSE_ERROR, None),
    (b'{"jsonrpc":"2.0","id":77,"method":"session/new","params":', PARSE_ERROR, 77),
    (b"[]", INVALID_REQUEST, None),
)


def test_every_line_of_a_client_is_answered_and_the_session_continues(start: Start) -> None:
    client = start("healthy", options=["--line-limit", "1MiB"])
    client.send_bytes(b"\n\r\n  \n\t\n")
    client.open()
    assert len(client.frames) == 2, "empty lines are no matter"
    for line, code, request_id in NO_MESSAGES:
        since = len(client.frames)
        client.send_bytes(line + b"\n")
        answer = client.expect(lambda frame: "error" in frame, since=since)
        assert (answer["error"]["code"], answer["id"]) == (code, request_id), line[:60]
        assert answer["error"]["message"] == answer["error"]["data"]["details"]
    long = b'{"jsonrpc":"2.0","id":78,"method":"session/prompt","params":"%s"}\n'
    client.send_bytes(long % (b"x" * 3 * MIB))
    assert client.answer(78)["error"]["data"]["agent_error"]["reason"] == "line_too_long"
    # A frame in a thousand pieces is one, and an id in other bytes the same id.
    line = b'{"jsonrpc":"2.0","id":79,"method":"_vendor/thing","params":"%s"}\n' % (b"x" * 940)
    for number in range(len(line)):
        client.send_bytes(line[number : number + 1])
    assert client.answer(79)["error"]["code"] == NO_METHOD
    for sent, meant in ((rb'"a\/b"', "a/b"), ('"é"'.encode(), "é"), (b"1e2", 100)):
        client.send_bytes(b'{"jsonrpc":"2.0","id":%s,"method":"_vendor/thing"}\n' % sent)
        assert client.answer(meant)["error"]["code"] == NO_METHOD
    assert is_healthy(client.turn("hello"))


def test_a_client_that_has_closed_its_stdin_still_gets_its_answers(start: Start) -> None:
    client = start("healthy")
    client.open()
    since = len(client.frames)
    prompt = client.prompt("hello")
    # The last line has no end.
    client.send_bytes(b'{"jsonrpc":"2.0","id":77,"method":"session/new","params":{}}')
    client.close_stdin()
    assert is_healthy(client.end_of(prompt, since))
    assert "sessionId" in client.answer(77)["result"]
    assert client.wait() == 0


@pytest.mark.parametrize(
    "under",
    [
        ["sh", "-c", 'exec "$@" 2>&-', "sh"],
        ["sh", "-c", 'exec "$@" <&- 2>&-', "sh"],
        CROWDED,
    ],
    ids=["no stderr", "neither stdin nor stderr", "a thousand descriptors"],
)
def test_a_client_that_started_us_oddly_is_served_as_far_as_possible(
    start: Start, tmp_path: Path, under: Sequence[str]
) -> None:
    client = start("exits-at-end", 6, under=under, options=["--record", str(tmp_path)])
    if "<&-" not in str(under):
        client.open()
        assert is_healthy(client.turn("hello"))
    assert client.end() == 6


def test_a_client_on_a_socket_is_served_like_one_on_pipes() -> None:
    # Node gives its children socket pairs; inetd and its like give them one for both ways.
    ours, theirs = socket.socketpair()
    command = [*SIDECAR, "--", *agent_command("exits-at-end", 6)]
    with ours, subprocess.Popen(command, stdin=theirs, stdout=theirs) as process:
        theirs.close()
        ours.settimeout(FUSE_SECONDS)
        ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}\n')
        with ours.makefile("rb", buffering=0) as lines:
            assert json.loads(lines.readline())["result"] == {"sessionId": "s1"}
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(FUSE_SECONDS) == 6
        assert ours.recv(1) == b""


def test_a_client_that_closed_its_stdout_has_left(start: Start) -> None:
    client = start("exits-at-end", 4)
    client.open()
    client.close(client.stdout)
    assert client.wait() == 4


def test_a_client_that_vanishes_in_mid_turn_ends_the_agent(start: Start) -> None:
    # As the kernel does it when a client is killed: all three of its ends are closed at once.
    client = start("many-frames", 5_000)
    client.cut_allowed = True
    client.open()
    client.prompt("fail")
    client.listen(0.1)
    client.close_stdin()
    client.close(client.stdout)
    client.close(client.stderr)
    client.wait()


def test_a_client_that_asks_forever_without_reading_is_paused(start: Start) -> None:
    client = start("healthy")
    client.open()
    client.stdout.reading = False
    ask = b'{"jsonrpc":"2.0","id":%d,"method":"_vendor/thing","params":"' + b"x" * 1000 + b'"}\n'
    # Their answers are more than is kept for a client that does not read.
    flood = b"".join(ask % number for number in range(1000, 61_000))
    taken = client.send_bytes(flood, fuse=4.0)
    assert taken < len(flood)
    client.stdout.reading = True
    # The fuse has cut a frame in two. One that reads at last gets every answer.
    asked = flood.index(b"\n", taken) + 1
    client.send_bytes(flood[taken:asked])
    client.answer(999 + flood[:asked].count(b"\n"))
