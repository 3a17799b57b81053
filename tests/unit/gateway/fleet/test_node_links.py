"""Links between nodes: who may use them, what loss and forgery do, and when a node is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

import pytest
from nats.aio.msg import Msg

from lastword.gateway.fleet import node_link
from lastword.gateway.fleet.node_link import (
    CODE_BYTES,
    FRAME,
    NONCE_BYTES,
    WINDOW_BYTES,
    NodeLink,
    NodeLinks,
    read_control,
)
from tests.kit.patience import FUSE_SECONDS, fused
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

KEY = bytes(range(32))
FRAME_OF_ACP = b'{"jsonrpc":"2.0",\n"method":"session/update"}'


class Servers:
    """The subjects of NATS servers, in memory.

    Attributes:
        sent: the messages, in their order.
        change: what becomes of a message on its way: those that arrive in its place.
    """

    def __init__(self) -> None:
        self.sent: list[Msg] = []
        self.change: Callable[[Msg], list[Msg]] = lambda message: [message]
        self.subscribed: list[tuple[Connection, str, Callable[[Msg], None]]] = []

    def route(self, message: Msg) -> None:
        self.sent.append(message)
        for each in self.change(message):
            self.deliver(each)

    def deliver(self, message: Msg) -> None:
        heard = [receive for _, name, receive in self.subscribed if is_of(name, message.subject)]
        for receive in heard:
            asyncio.get_running_loop().call_soon(receive, message)
        if not heard and message.reply:
            self.deliver(made(message.reply, b"", headers={"Status": "503"}))


def is_of(name: str, subject: str) -> bool:
    return name == subject or (name.endswith(".*") and subject.rpartition(".")[0] == name[:-2])


def made(subject: str, data: bytes, reply: str = "", headers: dict[str, str] | None = None) -> Msg:
    return Msg(_client=None, subject=subject, reply=reply, data=data, headers=headers)  # type: ignore[arg-type]


class Connection:
    """A process' connection to the servers."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._listeners: list[Callable[[bool], None]] = []
        self.is_connected = True

    def listen(self, listener: Callable[[bool], None]) -> None:
        self._listeners.append(listener)

    async def publish(self, subject: str, payload: bytes = b"", *, reply: str = "") -> None:
        await asyncio.sleep(0)
        if not self.is_connected:
            raise ConnectionResetError
        self._servers.route(made(subject, payload, reply))

    async def subscribe(self, subject: str, receive: Callable[[Msg], None]) -> None:
        self._servers.subscribed.append((self, subject, receive))

    def lose(self) -> None:
        self.is_connected = False
        self._servers.subscribed = [
            each for each in self._servers.subscribed if each[0] is not self
        ]
        for listener in self._listeners:
            listener(False)

    def restore(self) -> None:
        self.is_connected = True
        for listener in self._listeners:
            listener(True)


class Fleet:
    """Two nodes: `one` opens links, and `two` sends back what it receives."""

    def __init__(self, key_of_two: bytes) -> None:
        self.servers = Servers()
        self.at_one, self.at_two = Connection(self.servers), Connection(self.servers)
        self.one = NodeLinks(self.at_one, KEY, "one")
        self.two = NodeLinks(self.at_two, key_of_two, "two")
        self.served: list[NodeLink] = []

    async def echo(self, link: NodeLink) -> None:
        self.served.append(link)
        while items := await link.read():
            for kind, item in items:
                link.write(kind, item)
                await link.drain(WINDOW_BYTES)


@contextlib.asynccontextmanager
async def nodes(
    key_of_two: bytes = KEY, serve: Callable[[NodeLink], Awaitable[None]] | None = None
) -> AsyncIterator[Fleet]:
    fleet = Fleet(key_of_two)
    await fleet.one.start(fleet.echo)
    await fleet.two.start(serve or fleet.echo)
    try:
        async with asyncio.timeout(FUSE_SECONDS):
            yield fleet
    finally:
        await fleet.one.close()
        await fleet.two.close()


async def echoed(link: NodeLink, *frames: bytes) -> list[bytes]:
    """Return as many items as are sent."""
    link.write(FRAME, *frames)
    received: list[bytes] = []
    while len(received) < len(frames):
        received += [item for _, item in await link.read()]
    return received


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - other tasks go on meanwhile
        await asyncio.sleep(0)


async def until_lost(link: NodeLink) -> None:
    with contextlib.suppress(ConnectionResetError):
        while await link.read():
            pass
        pytest.fail("it was closed, and not lost")


@fused
async def test_a_node_sends_and_receives_frames_of_any_length() -> None:
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        frames = [FRAME_OF_ACP, b"", os.urandom(3 * WINDOW_BYTES), FRAME_OF_ACP]
        assert await echoed(link, *frames) == frames
        assert max(len(each.data) for each in fleet.servers.sent) < 512 * 1024
        link = await fleet.one.open("two")
        before = len(fleet.servers.sent)
        assert len(await echoed(link, *[FRAME_OF_ACP] * 16)) == 16
        assert len(fleet.servers.sent) - before == 2  # those written together are one message


@fused
async def test_a_closed_link_ends_after_its_last_written_frame() -> None:
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        assert await echoed(link, FRAME_OF_ACP) == [FRAME_OF_ACP]
        (other,) = fleet.served
        other.write(FRAME, b"last")
        other.close()
        assert await link.read() == [(FRAME, b"last")]
        assert await link.read() == []
        assert link.is_closing


@fused
async def test_a_node_that_is_not_there_or_has_another_key_is_refused_at_once() -> None:
    async with nodes(key_of_two=bytes(32)) as fleet:
        for name in ("two", "three"):
            with pytest.raises(ConnectionRefusedError):
                await fleet.one.open(name)
        assert not fleet.served
    async with nodes() as fleet:
        fleet.at_one.lose()
        with pytest.raises(ConnectionRefusedError):
            await fleet.one.open("two")


@every("changed", ["lost", "forged", "repeated", "reordered", "sent back", "empty"])
@fused
async def test_a_message_that_is_not_the_next_one_ends_the_link(changed: str) -> None:
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        assert await echoed(link, FRAME_OF_ACP) == [FRAME_OF_ACP]
        (other,) = fleet.served
        kept: list[Msg] = []

        def change(message: Msg) -> list[Msg]:
            if message.subject != other.inbox or other.is_over:
                return [message]
            kept.append(message)
            forged = message.data[:-1] + bytes([message.data[-1] ^ 1])
            return {
                "lost": [] if len(kept) == 1 else [message],
                "forged": [made(message.subject, forged)],
                "repeated": [message, message],
                "reordered": kept[::-1] if len(kept) == 2 else [],
                "sent back": [made(link.inbox, message.data)],
                "empty": [made(message.subject, b"")],
            }[changed]

        fleet.servers.change = change
        for _ in range(2):
            link.write(FRAME, b"next")
            for _ in range(10):
                await asyncio.sleep(0)
        await until_lost(link if changed == "sent back" else other)


@fused
async def test_a_stranger_is_not_served_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_link, "MAX_UNUSED", 4)
    async with nodes() as fleet:
        stranger = Connection(fleet.servers)
        answers: list[Msg] = []
        await stranger.subscribe("lwi.stranger.*", answers.append)
        for number in range(20):
            await stranger.publish("lwn.two", bytes(NONCE_BYTES), reply=f"lwi.stranger.{number}")
        await stranger.publish("lwn.two", b"x", reply="lwi.stranger.x")
        await stranger.publish("lwn.two", bytes(NONCE_BYTES), reply="$JS.API.INFO")
        await until(lambda: len(answers) == 20)
        await stranger.publish(answers[-1].reply, bytes(CODE_BYTES + 5))
        link = await fleet.one.open("two")
        assert await echoed(link, FRAME_OF_ACP) == [FRAME_OF_ACP]
        assert len(fleet.served) == 1


@fused
async def test_a_peer_that_reads_nothing_gets_no_more_than_its_credit() -> None:
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        link.write(FRAME, b"begin")
        await until(lambda: bool(fleet.served))
        (other,) = fleet.served
        content = [bytes(1000)] * 2000
        other.write(FRAME, *content)
        await until(lambda: other.unsent_bytes < 2_000_000 - WINDOW_BYTES + 20_000)
        for _ in range(100):
            await asyncio.sleep(0)
        assert other.unsent_bytes >= 2_000_000 - WINDOW_BYTES
        count = 0
        while count < len(content):
            count += len(await link.read())
        assert other.unsent_bytes == 0


@fused
async def test_a_lost_connection_ends_the_links_at_both_ends() -> None:
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        await echoed(link, FRAME_OF_ACP)
        fleet.at_two.lose()
        await until_lost(fleet.served[0])
        fleet.at_two.restore()
        await until_lost(link)
        again = await fleet.one.open("two")
        assert await echoed(again, FRAME_OF_ACP) == [FRAME_OF_ACP]


@every("is_known", [True, False])
@fused
async def test_a_vanished_node_ends_its_links(
    is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_link, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(node_link, "SILENT_SECONDS", 0.1 if is_known else FUSE_SECONDS)
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        await echoed(link, FRAME_OF_ACP)
        if is_known:  # its machine: the servers do not know it yet
            fleet.servers.change = lambda _: []
        else:
            fleet.at_two.lose()
        await until_lost(link)
        assert link.is_silent is is_known


@fused
async def test_an_idle_link_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_link, "BEAT_SECONDS", 0.01)
    async with nodes() as fleet:
        link = await fleet.one.open("two")
        await echoed(link, FRAME_OF_ACP)
        before = len(fleet.servers.sent)
        await until(lambda: len(fleet.servers.sent) >= before + 10)  # signs of life
        assert await echoed(link, FRAME_OF_ACP) == [FRAME_OF_ACP]


@fused
async def test_a_request_gets_one_answer_or_none() -> None:
    async def answer(link: NodeLink) -> None:
        word, facts = await read_control(link)
        reply: dict[str, Any] = {"number": facts["number"] * 2}
        link.control(word, **(reply if word == "double" else {"unknown": True}))

    async with nodes(serve=answer) as fleet:
        asked = fleet.one.request
        assert await asked("two", "double", {"number": 21}, FUSE_SECONDS) == {"number": 42}
        assert await asked("two", "triple", {"number": 21}, FUSE_SECONDS) is None
        assert await asked("three", "double", {"number": 21}, FUSE_SECONDS) is None
        assert await asked("two", "double", {}, 0.05) is None
