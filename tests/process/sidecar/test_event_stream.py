"""The event stream that an agent serves: what is heard of it, and of one that is none."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from lastword.platform import listeners
from lastword.platform.posix import listeners as posix_listeners
from lastword.sidecar import event_stream
from lastword.sidecar.event_stream import MAX_LINE_BYTES, Chunks, EmptyAnswers, EventLines
from tests.kit.canaries import CANARIES, PLAIN
from tests.kit.client import RETRY
from tests.kit.patience import FUSE_SECONDS
from tests.process.sidecar.stored_files import all_stored_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

AGENT = r"""#!PYTHON
import json, os, socket, sys, threading, time
mode = os.environ.get("MODE", "chunked")
streams, told = [], threading.Event()

def event(type_, **properties):
    inner = {"id": "e", "type": type_, "properties": properties}
    return b"data: " + json.dumps({"directory": "/", "payload": inner}).encode() + b"\n\n"

def send(data):
    for stream in streams:
        framed = b"%x\r\n%s\r\n" % (len(data), data) if mode != "plain" else data
        try:
            stream.sendall(framed)
        except OSError:
            pass

def serve(server):
    while True:
        stream, _ = server.accept()
        request = stream.recv(65536)
        if mode == "mute":
            streams.append(stream)
            told.set()
            continue
        if mode == "other-page":
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>")
        elif mode == "refuses":
            stream.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        elif mode == "long-head":
            stream.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000)
        elif mode == "closes":
            stream.close()
        else:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            chunked = b"Transfer-Encoding: chunked\r\n" if mode != "plain" else b""
            stream.sendall(head + chunked + b"\r\n")
            streams.append(stream)
            send(event("server.connected"))
        told.set()

def listen():
    port = int(sys.argv[sys.argv.index("--port") + 1])
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen()
    if mode == "strangers":
        agent = os.getpid()
        if os.fork() == 0:
            os.setsid()
            threading.Thread(target=end_with, args=[agent], daemon=True).start()
            serve(server)
        server.close()
        told.set()
    else:
        threading.Thread(target=serve, args=[server], daemon=True).start()

def end_with(agent):
    while os.getppid() == agent:
        time.sleep(0.05)
    os._exit(0)

def say(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)

if "--port" in sys.argv:
    listen()
prompt = None
for frame in sys.stdin:
    message = json.loads(frame)
    method = message.get("method")
    if method == "initialize":
        info = {"name": "OpenCode", "version": str(sys.argv[1:])}
        say(id=message["id"], result={"protocolVersion": 1, "agentInfo": info})
    elif method == "session/new":
        say(id=message["id"], result={"sessionId": "s1"})
    elif method == "session/prompt":
        prompt = message["id"]
        told.wait(0 if "--port" not in sys.argv else 20)
        text = os.environ.get("TEXT", "Rate limit reached")
        send(event("message.updated", part="session.status retry, " + "said by a user"))
        if mode == "long-line":
            send(event("message.updated", part="x" * 600_000))
        if mode == "endless":
            for _ in range(40):
                send(b"x" * 100_000)
        status = {"type": "retry", "attempt": 1, "message": text, "next": (time.time() + 30) * 1000}
        retry = event("session.status", sessionID="s1", status=status)
        if mode == "empty-answers":
            for number in range(5):
                info = {"id": f"m{number}", "parentID": "p1", "finish": "unknown",
                        "tokens": {"output": 0, "reasoning": 0}}
                for _ in "12":
                    send(event("message.updated", sessionID="s1", info=info))
        elif mode == "pieces":
            for start in range(0, len(retry), 7):
                send(retry[start : start + 7])
        else:
            send(retry)
    elif method == "_agent/go":
        say(id=prompt, result={"stopReason": "end_turn"})
"""
"""A stand-in for `opencode acp`: it serves events on the port that it is given."""


@pytest.fixture
def opencode(start: Start, tmp_path: Path) -> Callable[..., SidecarClient]:
    program = tmp_path / "opencode"
    program.write_text(AGENT.replace("PYTHON", sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def starts(
        mode: str = "chunked", *words: str, text: str = "", **settings: Any
    ) -> SidecarClient:
        more = settings.pop("environment", {})
        environment = (
            more | {"MODE": mode, "XDG_DATA_HOME": str(tmp_path)} | ({"TEXT": text} if text else {})
        )
        command = [str(program), *(words or ("acp",))]
        client = start.command(command, environment=environment, **settings)
        client.open(**RETRY)
        return client

    return starts


def _is_retry(frame: dict[str, Any]) -> bool:
    update = frame.get("params", {}).get("update", {})
    return bool(update.get("sessionUpdate") == "agent_retry")


def _answers(client: SidecarClient) -> dict[str, Any]:
    prompt = client.prompt()
    client.listen(0.3)
    client.go_on()
    payload: dict[str, Any] = client.answer(prompt)["error"]["data"]["agent_error"]
    return payload


@pytest.mark.parametrize("mode", ["chunked", "plain", "pieces", "long-line"])
def test_a_retry_is_told_as_it_is_announced(
    opencode: Callable[..., SidecarClient], mode: str
) -> None:
    client = opencode(mode)
    prompt = client.prompt()
    told = client.expect(_is_retry)["params"]["update"]
    assert told["attempt"] == 2
    assert told["error"]["type"] == "rate_limit"
    assert 0 < told["wait_seconds"] <= 30
    client.go_on()
    assert client.answer(prompt)["error"]["data"]["agent_error"]["type"] == "rate_limit"


def test_empty_answers_are_told_as_retries_each_time_that_they_have_doubled(
    opencode: Callable[..., SidecarClient],
) -> None:
    client = opencode("empty-answers")
    prompt = client.prompt()
    told = client.expect(_is_retry)["params"]["update"]
    assert (told["attempt"], told["error"]["type"]) == (3, "protocol_error")
    told = client.expect(lambda frame: _is_retry(frame) and frame["params"]["update"] != told)
    assert told["params"]["update"]["attempt"] == 5
    client.go_on()
    assert client.answer(prompt)["error"]["data"]["agent_error"]["type"] == "protocol_error"


def test_one_empty_answer_or_one_with_words_is_nothing() -> None:
    empty = EmptyAnswers()
    info = {"id": "m1", "parentID": "p1", "finish": "unknown"}

    def hint(number: int, prompt: str, output: int = 0) -> object:
        tokens = {"output": output, "reasoning": 0}
        more = {"id": f"m{number}", "parentID": prompt, "tokens": tokens}
        return empty.hint({"properties": {"sessionID": "s1", "info": info | more}}, 1.0)

    assert hint(1, "p1") is None
    assert hint(1, "p1") is None
    assert hint(2, "p1", output=9) is None
    assert [hint(1, f"p{number}") for number in range(2, 100)] == [None] * 98
    assert hint(2, "p99") is not None
    assert empty.hint({"properties": {"info": info}}, 1.0) is None


@pytest.mark.parametrize(
    "mode", ["mute", "other-page", "refuses", "long-head", "closes", "endless", "strangers"]
)
def test_a_stream_that_is_none_changes_nothing(
    opencode: Callable[..., SidecarClient], mode: str
) -> None:
    client = opencode(mode)
    payload = _answers(client)
    assert payload["type"] == "unknown"
    assert payload["reason"] == "silent_success"
    assert "lastword:" not in client.said


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["acp", "--port", "0"], []),
        (["acp", "--port=0"], []),
        (["serve"], []),
        (["acp"], ["--evidence", "wire"]),
    ],
)
def test_where_a_port_is_given_or_none_is_wanted_none_is_added(
    opencode: Callable[..., SidecarClient], words: list[str], options: list[str]
) -> None:
    client = opencode("chunked", *words, options=options)
    hello = client.frames[0]["result"]["agentInfo"]["version"]
    assert hello == str(words)


def test_the_port_that_is_added_is_no_argument_of_other_agents(start: Start) -> None:
    client = start("healthy")
    client.open()
    assert client.turn().answer["result"]["stopReason"] == "end_turn"


def test_no_secret_of_a_stream_gets_out(
    opencode: Callable[..., SidecarClient], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    text = " ".join(["Rate limit reached.", f"token: {PLAIN}", *CANARIES.values()])
    client = opencode(
        text=text,
        options=["--verbose", "--record-text"],
        environment={"LASTWORD_STATE_DIR": str(state)},
    )
    prompt = client.prompt()
    client.expect(_is_retry)
    client.go_on()
    client.answer(prompt)
    out = client.stdout.data.decode() + client.said + all_stored_text(client, state)
    assert not [canary for canary in CANARIES.values() if canary in out]
    assert PLAIN not in out
    assert "said by a user" not in out


# --- its parts ------------------------------------------------------------------------------------


def _a_free_port() -> int:
    port = listeners.free_port()
    assert port is not None
    return port


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_chunks_are_put_together_however_they_come(size: int) -> None:
    framed = b"5\r\nhello\r\n7;x=y\r\n, world\r\nA\r\n0123456789\r\n"
    chunks, body = Chunks(), b""
    for start in range(0, len(framed), size):
        taken = chunks.feed(framed[start : start + size])
        assert taken is not None
        body += taken
    assert body == b"hello, world0123456789"
    assert chunks.feed(b"0\r\n\r\n") is None


@pytest.mark.parametrize(
    "framed", [b"xyz\r\n", b"\r\n", b"-5\r\n", b"fffffffff\r\n", b"1" * 20_000]
)
def test_what_is_no_chunk_ends_the_stream(framed: bytes) -> None:
    assert Chunks().feed(framed) is None


def test_a_line_is_bounded_and_one_behind_a_longer_one_is_heard() -> None:
    lines, line = EventLines(), b'data: {"session.status" "retry"}'
    for _ in range(100):
        lines.feed(b"x" * MAX_LINE_BYTES)
    lines.feed(line + b"\n" + line + b"\n" + b"no more than a line\n" + line)
    assert lines.marked() == [line]
    lines.feed(b"\n")
    assert lines.marked() == [line]


def test_a_flood_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "FLOOD_BYTES", 1_000_000)
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = event_stream.EventStream(server.getsockname()[1], time.monotonic())
        ours, _ = server.accept()
        stream.ready(time.monotonic())
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        ours.recv(65536)
        ours.sendall(head)
        sent = 0
        while stream.is_open:
            assert sent < 50_000_000
            sent += ours.send(b"y" * 50_000)
            stream.ready(time.monotonic())
        ours.close()


def _listens(port: int, group: int) -> bool:
    """Whether a group listens, once the system has said it."""
    deadline = time.monotonic() + FUSE_SECONDS
    while (answer := listeners.listens(port, group)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


def test_a_listener_is_told_from_a_strangers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert _listens(port, os.getpgrp())
        other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1, process_group=0)
        try:
            assert not _listens(port, other.pid)
        finally:
            other.communicate(b"\n")
    assert not _listens(port, os.getpgrp())


def test_a_free_port_is_none_that_is_given_by_chance() -> None:
    port = _a_free_port()
    assert listeners.LOWEST_PORT <= port < 65_536


def test_where_the_system_tells_nothing_of_listeners_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(posix_listeners, "_RANGE", "/nowhere")
    monkeypatch.setattr(posix_listeners, "_TABLE", "/nowhere")
    monkeypatch.setattr(posix_listeners, "_LSOF", ())
    assert posix_listeners._dynamic_from() == 49_152
    assert not listeners.listens(1, os.getpgrp())


def test_where_no_port_is_left_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "DYNAMIC_FROM", listeners.LOWEST_PORT)
    assert listeners.free_port() is None
