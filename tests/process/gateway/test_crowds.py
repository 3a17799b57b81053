"""Crowds, and viewers that take nothing: the gateway answers whom it can, and forgets the rest."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import socket
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode

from lastword.gateway.front import protocols, services
from lastword.gateway.viewing import reader
from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import counting
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import (
    TYPED,
    ViewerClient,
    attached,
    failure_of,
    has_ended_well,
    opened,
)
from tests.kit.patience import FUSE_SECONDS, patient
from tests.process.gateway.test_http import Caller, Conversation

if TYPE_CHECKING:
    from tests.kit.gateway.serving import Gateway, Serve


CONNECTS = int(os.environ.get("LASTWORD_CONNECTS", "600"))
"""How many connections come and go."""

AT_ONCE = 100
OF_AN_AGENT = 12
"""Descriptors of the agent that waits for the next session."""

ALLOWED_BYTES = 24 * 1024 * 1024
"""What a front may have grown by once all have gone: what a crowd needed is kept for the next."""

FLOODS = """
import json, os, sys, uuid
from lastword.kit.agent.plain import Output, PlainAgent, text_of

class Floods(PlainAgent):
    def name_session(self, _):
        return uuid.uuid4().hex

    def prompt(self, request_id, params):
        self.begin_turn(request_id, params)
        self.say("x")
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
        told = {"sessionId": self.session_id, "update": update}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": told}
        said = (json.dumps(frame) + "\\n").encode() * 1000
        while text_of(params) == "flood" and not os.path.exists(sys.argv[1]):
            self.wire.write(said)
        self.end_turn(request_id)

Floods(sys.stdin.buffer, Output()).run()
"""
"""An agent that writes as fast as it is read, when asked to, until a file is there."""


def descriptors_of(pid: int) -> int:
    """How many files and sockets a process has open."""
    return len(list(Path("/proc", str(pid), "fd").iterdir()))


def is_established(port: int, other: int) -> bool:
    """Is a connection of loopback open at the end that has the first port?"""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()
    ends = [f"0100007F:{each:04X}" for each in (port, other)]
    return any(line.split()[1:4] == [*ends, "01"] for line in lines)


def upgrade(gateway: Gateway, token: str) -> bytes:
    """The request that opens a WebSocket."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()


async def come_and_go(gateway: Gateway, number: int, said: bytes) -> None:
    """One connection, which ends in one of several ways."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    never_whole = Frame(Opcode.TEXT, bytes(100)).serialize(mask=True)[:2]
    words = (b"", said[: number % len(said)], health, said, said + never_whole)[number % 5]
    writer.write(words)
    if number % 5 > 1:
        await reader.readuntil(b"\r\n\r\n")
    await writer.drain()
    if number % 2:
        writer.transport.abort()
    else:
        writer.close()


async def crowd(gateway: Gateway) -> None:
    said = upgrade(gateway, gateway.token())
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with gate:
            await come_and_go(gateway, number, said)

    async with asyncio.timeout(FUSE_SECONDS):
        await asyncio.gather(*(one(number) for number in range(CONNECTS)))


@pytest.mark.processes
def test_hundreds_of_connects_leave_nothing_behind_and_affect_no_turn(serve: Serve) -> None:
    gateway = serve("permission")
    with opened(gateway) as (viewer, session):
        prompt = viewer.prompt(session)
        asked = viewer.question()
        pid = gateway.front.pid
        descriptors, memory = descriptors_of(pid), gateway.resident_bytes
        asyncio.run(crowd(gateway))
        until("all are gone", lambda: descriptors_of(pid) <= descriptors + OF_AN_AGENT)
        assert gateway.resident_bytes < memory + ALLOWED_BYTES
        viewer.allow(asked)
        assert has_ended_well(viewer.answer(prompt))
    assert "Traceback" not in gateway.stderr()


def deaf_viewer(gateway: Gateway, session: str) -> ViewerClient:
    """A viewer that takes no more than its buffers do."""
    viewer = ViewerClient(gateway, receive_bytes=4096)
    viewer.request("session/load", gateway.opening(sessionId=session))
    return viewer


MEGABYTES = 20
LOUD = f"{10 * MEGABYTES} 0 pad=100000"


@pytest.mark.processes
def test_a_viewer_that_never_reads_delays_no_other_costs_no_memory_and_keeps_no_gateway_from_ending(
    serve: Serve,
) -> None:
    gateway = serve("", command=counting(os.devnull))
    with opened(gateway) as (viewer, session):
        deaf = [deaf_viewer(gateway, session) for _ in range(3)]
        until("they are there", lambda: gateway.session(session)["controllers"] == 4)
        before = gateway.resident_bytes
        assert has_ended_well(viewer.turn(session, LOUD))
        assert len(viewer.said) == 10 * MEGABYTES
        assert gateway.resident_bytes - before < ALLOWED_BYTES
        deaf.pop().cut()
        until("one is gone", lambda: gateway.session(session)["controllers"] == 3)
        gateway.reload()
        assert viewer.closed()[0] == 1012
    until("all are gone", lambda: gateway.session(session)["controllers"] == 0)
    with attached(gateway, session) as viewer:
        deaf.append(deaf_viewer(gateway, session))
        until("it is there", lambda: gateway.session(session)["controllers"] == 2)
        viewer.turn(session, LOUD)
        assert gateway.tell("stop").returncode == 0
        assert viewer.closed()[0] == 1001
    gateway.front.wait(FUSE_SECONDS)
    for each in deaf:
        each.cut()


@pytest.mark.processes
def test_turns_are_answered_while_another_agent_writes_endlessly(
    serve: Serve, tmp_path: Path
) -> None:
    enough = tmp_path / "enough"
    gateway = serve("", "--log-limit", "1MiB", command=[sys.executable, "-c", FLOODS, str(enough)])
    with ViewerClient(gateway) as loud, ViewerClient(gateway) as other:
        flooded, session = loud.new(gateway.root), other.new(gateway.root)
        begun = loud.prompt(flooded, "flood")
        loud.find(lambda frame: frame.get("method") == "session/update")
        for _ in range(20):
            assert has_ended_well(other.turn(session))
        enough.touch()
        assert has_ended_well(loud.answer(begun))


def test_a_viewer_that_is_silent_for_too_long_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    # A second where a gateway waits a minute, each limit where only who is let go can miss it.
    monkeypatch.setattr(reader, "STALL_SECONDS", patient(1.0))
    gateway = serve("", command=counting(os.devnull))
    with ViewerClient(gateway) as viewer, contextlib.closing(Caller(gateway)) as caller:
        session = viewer.new(gateway.root)
        over_socket = deaf_viewer(gateway, session)
        talk = Conversation(caller, session)
        talk.load()
        of_connection = f"Acp-Connection-Id: {talk.name}\r\nAcp-Session-Id: {session}\r\n"
        deaf = [
            over_socket._socket.socket,
            deaf_stream(gateway, f"/v1/sessions/{session}/events?content=1"),
            deaf_stream(gateway, "/acp", of_connection),
        ]
        viewer.turn(session, LOUD)
        for each in deaf:
            here = each.getsockname()[1]
            until("its socket is closed", lambda here=here: not is_established(gateway.port, here))
            each.close()
    monkeypatch.setattr(protocols, "INITIALIZE_SECONDS", 1.0)
    monkeypatch.setattr(protocols, "REQUEST_SECONDS", patient(1.0))
    half = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    asked = upgrade(gateway, gateway.token())
    said = {asked: struct.pack(">H", 1002) + b"initialize_first", b"": b"", half: b""}
    said[half + b"\r\n" + half] = b'{"status":"ok"}'
    said[b"POST /answer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf"] = b""
    with contextlib.ExitStack() as connections:
        there = ("127.0.0.1", gateway.port)
        idle = [
            connections.enter_context(socket.create_connection(there, FUSE_SECONDS)) for _ in said
        ]
        for one, words in zip(idle, said, strict=True):
            one.sendall(words)
        for one, told in zip(idle, said.values(), strict=True):
            assert told in b"".join(iter(lambda one=one: one.recv(65536), b""))
    assert "Traceback" not in gateway.stderr()


def deaf_stream(gateway: Gateway, path: str, more: str = "") -> socket.socket:
    """A stream of events that nobody reads."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(("127.0.0.1", gateway.port))
    asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{more}"
    deaf.sendall(f"{asked}Authorization: Bearer {gateway.token()}\r\n\r\n".encode())
    assert deaf.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 200"
    return deaf


def test_a_half_closed_viewer_has_left(serve: Serve) -> None:
    gateway = serve("permission")
    with opened(gateway) as (viewer, session):
        prompt = viewer.prompt(session)
        asked = viewer.question()
        half = ViewerClient(gateway)
        half.load(session, gateway.root)
        half.question()
        half._socket.socket.shutdown(socket.SHUT_WR)
        until("it is gone", lambda: gateway.session(session)["controllers"] == 1)
        half.closed()  # and its own reading ends
        viewer.allow(asked)
        assert has_ended_well(viewer.answer(prompt))


# --- who gets a place: what an observer may use and learn, and when a gateway is full


def watching(gateway: Gateway, **more: Any) -> ViewerClient:
    return ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER), **more)


def test_observers_start_no_agent_and_a_full_gateways_session_is_watched_and_continued(
    serve: Serve,
) -> None:
    gateway = serve("healthy", "--sessions", "1")
    with contextlib.ExitStack() as stack:
        for number in range(6):
            one = stack.enter_context(watching(gateway, capabilities={"x": number}))
            assert one.result("session/list", {}) == {"sessions": []}
        bound = gateway.token(session="none yet")
        stack.enter_context(ViewerClient(gateway, token=bound, capabilities={"y": 1}))
        assert gateway.holders() == []
        viewer = stack.enter_context(ViewerClient(gateway, replay=True))
        session = viewer.new(gateway.root)
        for number in range(6):
            one = stack.enter_context(watching(gateway, capabilities={"z": number}))
            one.load(session, gateway.root)
        assert len(gateway.holders()) == 1
        viewer.cut()
        back = stack.enter_context(attached(gateway, session, replay=True, known=viewer.known))
        another = stack.enter_context(attached(gateway, session, capabilities=TYPED))
        assert has_ended_well(back.turn(session))
        assert another.frames[0]["result"]["agentInfo"] == back.frames[0]["result"]["agentInfo"]
        failure = another.failure("session/new", gateway.opening())
        assert failure["reason"] == "too_many_agents"
        assert ApiClient(gateway).ask("/readyz").status == 200


@pytest.mark.processes
def test_a_controller_restores_a_session_and_an_observer_does_not(serve: Serve) -> None:
    gateway = serve("healthy")
    with opened(gateway) as (controller, session):
        said = controller.frames[0]["result"]
        gateway.reload()  # it has to ask the running agent for its greeting
        with watching(gateway) as observer:
            told = observer.frames[0]["result"]
            assert told["agentCapabilities"] == said["agentCapabilities"]
            assert told.get("agentInfo") == said.get("agentInfo")
    gateway.crash()
    params = gateway.opening(sessionId=session)
    with watching(gateway) as observer, ViewerClient(gateway) as controller:
        refused = observer.answer(observer.request("session/load", params))
        assert failure_of(refused)["reason"] == "observer"
        assert "once a controller opens it" in refused["error"]["message"]
        controller.load(session, gateway.root)
        observer.load(session, gateway.root)
        unknown = observer.answer(observer.request("session/load", params | {"sessionId": "none"}))
        assert unknown["error"]["code"] == -32002


def test_the_limit_of_agents_is_typed_and_counts_neither_closed_sessions_nor_unused_agents(
    serve: Serve,
) -> None:
    gateway = serve("healthy", "--sessions", "2")
    for _ in range(3):
        with opened(gateway) as (viewer, session):
            assert viewer.result("session/close", {"sessionId": session}) == {}
            assert viewer.closed()[0] == 4410
            until("its agent has ended", lambda: not gateway.sessions())
    with contextlib.ExitStack() as stack:
        clients = [  # of other kinds, each of which needs an agent of its own
            stack.enter_context(ViewerClient(gateway, capabilities={"x": number}))
            for number in range(6)
        ]
        assert len(gateway.holders()) == 2
        assert len({client.new(gateway.root) for client in clients[:2]}) == 2
        refused = clients[2].answer(clients[2].request("session/new", gateway.opening()))
        failure = failure_of(refused)
        assert (failure["type"], failure["reason"]) == ("invalid_request", "too_many_agents")
        assert "2 agents are running" in refused["error"]["message"]
        assert "--sessions" in refused["error"]["message"]


ASKS_FOR_A_LOGIN = """
import sys
from lastword.kit.agent.plain import Output, PlainAgent

class AsksForALogin(PlainAgent):
    def __init__(self):
        super().__init__(sys.stdin.buffer, Output())
        self.requests["session/new"] = self.refuse
        self.requests["authenticate"] = self.login

    def refuse(self, request_id, _params):
        self.wire.frame(id=request_id, error={"code": -32000, "message": "Log in."})

    def login(self, request_id, _params):
        self.requests["session/new"] = self.new_session
        self.wire.frame(id=request_id, result={})

AsksForALogin().run()
"""
"""An agent that refuses sessions before a login, which only its own process knows of."""


def test_a_login_reaches_the_agent_that_asked_for_it_and_gets_the_session(serve: Serve) -> None:
    gateway = serve("", "--sessions", "2", command=[sys.executable, "-c", ASKS_FOR_A_LOGIN])
    with ViewerClient(gateway) as viewer:
        for number in (1, 2):
            for _ in range(3):
                refused = viewer.answer(viewer.request("session/new", gateway.opening()))
                assert refused["error"]["message"] == "Log in."
            assert len(gateway.holders()) == number
            assert viewer.result("authenticate", {"methodId": "key"}) == {}
            assert has_ended_well(viewer.turn(viewer.new(gateway.root)))


def test_observers_do_not_learn_the_folder_of_a_session(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as controller, watching(gateway) as observer:
        session = controller.new(gateway.root)
        assert controller.result("session/list", {})["sessions"][0]["cwd"] == str(gateway.root)
        observer.load(session, gateway.root)
        listed = observer.result("session/list", {})["sessions"]
        assert listed == [{"sessionId": session, "cwd": "/"}]
        assert str(gateway.root) not in str(observer.frames)
        api = ApiClient(gateway, gateway.token(role=Role.OBSERVER))
        paths = ("/v1/sessions", f"/v1/sessions/{session}", f"/v1/sessions/{session}/events")
        for path in (*paths, "/v1/stats", "/page/settings.json"):
            assert str(gateway.root) not in api.ask(path).body.decode(), path


def test_a_flood_of_attaches_does_not_displace_the_conversation(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the flood takes: by the clock of the paces it comes at once.
    monkeypatch.setattr(services, "time", SimpleNamespace(monotonic=lambda: 1.0))
    turn = [{"say": "What was said first."}, {"result": "end_turn"}]
    gateway = serve({"turns": [turn]}, "--log-limit", "64KiB")
    with ViewerClient(gateway) as controller, watching(gateway) as observer:
        session = controller.new(gateway.root)
        controller.turn(session)
        params = gateway.opening(sessionId=session)
        answers = []
        for viewer, count in ((observer, 300), (controller, 1500)):
            numbers = [viewer.request("session/resume", params) for _ in range(count)]
            answers.append([viewer.answer(number) for number in numbers])
        refused = [[failure_of(each) for each in told if "error" in each] for told in answers]
        assert len(refused[0]) == 300 - 256
        assert len(refused[1]) > 500
        assert {each["reason"] for each in refused[0]} == {"too_many_requests"}
        view = ApiClient(gateway).json(f"/v1/sessions/{session}")["session"]
        assert view["first"] == 1
        assert view["head"] < 2 * 2 * 240 + 50
        with attached(gateway, session) as late:
            assert "What was said first." in late.said


def test_a_session_full_of_observers_has_room_for_a_controller(serve: Serve) -> None:
    gateway = serve("healthy", "--viewers", "3")
    with contextlib.ExitStack() as stack:
        controller = stack.enter_context(ViewerClient(gateway))
        session = controller.new(gateway.root)
        observers = [stack.enter_context(watching(gateway)) for _ in range(3)]
        for one in observers[:2]:
            one.load(session, gateway.root)
        params = gateway.opening(sessionId=session)
        assert observers[2].failure("session/load", params)["reason"] == "too_many_viewers"
        for _ in range(2):
            stack.enter_context(ViewerClient(gateway)).load(session, gateway.root)
        assert [one.closed() for one in observers[:2]] == [(4429, "too_many_viewers")] * 2
        late = stack.enter_context(ViewerClient(gateway))
        assert late.failure("session/load", params)["reason"] == "too_many_viewers"


def test_guests_connections_of_each_kind_are_bounded_and_the_owner_gets_in(serve: Serve) -> None:
    gateway = serve("healthy")
    watcher = gateway.token(role=Role.OBSERVER)

    def watches() -> bool:
        try:
            with watching(gateway):
                return True
        except InvalidStatus:
            return False

    def streams(session: str) -> bool:
        with ApiClient(gateway, watcher).stream(session) as stream:
            return stream.answer.status == 200

    with contextlib.ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(watching(gateway))
        with pytest.raises(InvalidStatus) as caught:
            watching(gateway)
        assert caught.value.response.status_code == 429
        assert caught.value.response.headers["retry-after"] == "30"
        other = gateway.token(role=Role.OBSERVER, expires=2_000_000_000)
        stack.enter_context(ViewerClient(gateway, token=other))
        session = stack.enter_context(ViewerClient(gateway)).new(gateway.root)
    until("one has left", watches)
    with contextlib.ExitStack() as stack:
        guest, owner = (
            stack.enter_context(contextlib.closing(Caller(gateway, token)))
            for token in (watcher, gateway.token())
        )
        for _ in range(32):
            guest.connect()
        refused = guest.greet()
        assert (refused.status, refused.getheader("retry-after")) == (429, "30")
        assert b'"reason":"too_many"' in refused.read()
        assert owner.connect()
    with contextlib.ExitStack() as stack:
        api = ApiClient(gateway, watcher)
        opened = [stack.enter_context(api.stream(session)) for _ in range(33)]
        assert [one.answer.status for one in opened] == [200] * 32 + [429]
        own = stack.enter_context(ApiClient(gateway).stream(session))
        assert own.answer.status == 200
    until("a stream has ended", lambda: streams(session))
