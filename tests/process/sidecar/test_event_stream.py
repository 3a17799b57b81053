"""The event stream that an agent serves: what is heard of it, and of one that is none."""

from __future__ import annotations

import json
import os
import select
import socket
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lastword.platform import process_tree
from lastword.sidecar import event_stream
from lastword.sidecar.event_stream import MAX_LINE_BYTES, EventStream
from tests.kit.canaries import CANARIES, PLAIN
from tests.kit.client import RETRY, is_retry
from tests.kit.patience import FUSE_SECONDS
from tests.process.sidecar.stored_files import all_stored_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lastword.core.link.evidence import Hint
    from tests.process.sidecar.conftest import Start

AGENT = r"""#!PYTHON
import json, os, socket, sys, threading, time
from lastword.kit.agent.plain import Output, PlainAgent
streams, told = [], threading.Event()

def event(type_, **properties):
    inner = {"id": "e", "type": type_, "properties": properties}
    data = b"data: " + json.dumps({"directory": "/", "payload": inner}).encode() + b"\n\n"
    for stream in streams:
        # In two pieces, as chunks are.
        for piece in (data[:7], data[7:]):
            stream.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))

def serve(server):
    while True:
        stream, _ = server.accept()
        stream.recv(65536)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        stream.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        streams.append(stream)
        event("server.connected")
        told.set()

class OpenCode(PlainAgent):
    info = {"name": "OpenCode", "version": "1"}

    def serve(self, prompt):
        self.notifications["_agent/go"] = lambda _: self.end_turn(prompt)
        told.wait(60)
        event("message.updated", part="session.status retry, " + "said by a user")
        status = {"type": "retry", "attempt": 1, "next": (time.time() + 30) * 1000}
        event("session.status", sessionID="s1", status=status | {"message": os.environ["TEXT"]})

server = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
threading.Thread(target=serve, args=[server], daemon=True).start()
OpenCode(sys.stdin.buffer, Output()).run()
"""
"""A stand-in for `opencode acp`: it serves events on the port that it is given."""


def test_a_retry_is_reported_when_it_is_announced_without_the_streams_secrets(
    start: Start, tmp_path: Path
) -> None:
    program, state = tmp_path / "opencode", tmp_path / "state"
    program.write_text(AGENT.replace("PYTHON", sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    client = start.command(
        [str(program), "acp"],
        environment={
            "TEXT": " ".join(["Rate limit reached.", f"token: {PLAIN}", *CANARIES.values()]),
            "XDG_DATA_HOME": str(tmp_path),
            "LASTWORD_STATE_DIR": str(state),
        },
        options=("--verbose", "--record-text"),
    )
    client.open(**RETRY)
    prompt = client.prompt()
    told = client.expect(is_retry)["params"]["update"]
    assert (told["attempt"], told["error"]["type"]) == (2, "rate_limit")
    assert 0 < told["wait_seconds"] <= 30
    client.go_on()
    assert client.answer(prompt)["error"]["data"]["agent_error"]["type"] == "rate_limit"
    out = client.stdout.data.decode() + client.said + all_stored_text(client, state)
    assert not [canary for canary in CANARIES.values() if canary in out]
    assert PLAIN not in out
    assert "said by a user" not in out


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@pytest.fixture
def page() -> Iterator[Page]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = EventStream(server.getsockname()[1], time.monotonic())
        connection, _ = server.accept()
        with connection:
            stream.ready(time.monotonic())
            connection.recv(65_536)
            yield Page(stream, connection)
            stream.close()


class Page:
    """The stream, and what serves it."""

    def __init__(self, stream: EventStream, connection: socket.socket) -> None:
        self.stream, self._connection = stream, connection

    def serves(self, data: bytes) -> list[Hint]:
        """Serve some bytes, until they have all been read or the stream is given up."""
        hints: list[Hint] = []
        while data and self.stream.is_open:
            sent = self._connection.send(data[:50_000])
            data = data[sent:]
            select.select([self.stream.fd], [], [], FUSE_SECONDS)
            hints += self.stream.ready(time.monotonic())
        return hints


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>",
        b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
        STREAM + b"\r\n" + b"y" * 5_000_000,
    ],
    ids=["another page", "a refusal", "a head without an end", "a flood"],
)
def test_an_invalid_event_stream_is_closed(
    page: Page, head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "FLOOD_BYTES", 1_000_000)
    page.serves(head)
    assert not page.stream.is_open


def test_a_stream_that_does_not_answer_is_closed(page: Page) -> None:
    page.stream.look(time.monotonic() + event_stream.ANSWER_SECONDS + 1)
    assert not page.stream.is_open


def test_empty_answers_are_reported_as_a_retry_at_each_doubling(page: Page) -> None:
    # Behind a line that is too long, in a stream without chunks.
    page.serves(STREAM + b"\r\ndata: " + b"x" * (2 * MAX_LINE_BYTES) + b"\n")
    told = []
    for number in range(5):
        info = {"id": f"m{number}", "parentID": "p1", "finish": "unknown"}
        info |= {"tokens": {"output": 0, "reasoning": 0}}
        properties = {"sessionID": "s1", "info": info}
        line = json.dumps({"type": "message.updated", "properties": properties}).encode()
        told += page.serves(b"data: " + line + b"\n\n" + b"data: " + line + b"\n\n")
    assert [(hint.attempt, hint.verdict.type) for hint in told] == [
        (3, "protocol_error"),
        (5, "protocol_error"),
    ]


def _listens(port: int, group: int) -> bool:
    """Whether a group listens, once the system has said it."""
    deadline = time.monotonic() + FUSE_SECONDS
    while (answer := process_tree.listens(port, group)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


def test_an_agents_listener_is_distinguished_from_others() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert _listens(port, os.getpgrp())
        other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1, process_group=0)
        try:
            assert not _listens(port, other.pid)
        finally:
            other.communicate(b"\n")
    assert not _listens(port, os.getpgrp())


def test_a_free_port_is_outside_the_dynamic_range_or_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = process_tree.free_port()
    assert port is not None
    assert process_tree.LOWEST_PORT <= port < 65_536
    monkeypatch.setattr(process_tree, "DYNAMIC_FROM", process_tree.LOWEST_PORT)
    assert process_tree.free_port() is None
