"""Connections between nodes: who may use them, what strangers cost, and when a machine is gone."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import socket
import ssl
import struct
import sys
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.gateway import wire
from lastword.gateway.fleet import node_link
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.node_identity import (
    DIALER,
    NONCE_BYTES,
    code,
    dialing_context,
    listening_context,
)
from lastword.gateway.fleet.node_link import (
    NodeDialer,
    NodeListener,
    NotProvenError,
    address_of,
    place_of,
)
from lastword.gateway.fleet.node_requests import NodeRequests, send_request
from lastword.gateway.fleet.records import NodeAddress
from tests.kit.fleet.servers import free_port
from tests.kit.patience import FUSE_SECONDS, fused, patient
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import Any

    from lastword.gateway.fleet.node_link import Streams


KEY = bytes(range(32))
HOST = "127.0.0.1"

_SO_ATTACH_FILTER = 26


class Served:
    """A listener whose connections are echoed line by line.

    Attributes:
        count: how many connections were served.
    """

    def __init__(self, key: bytes = KEY, limit: int = wire.LINE_LIMIT_BYTES) -> None:
        self.count = 0
        self.listener: NodeListener = NodeListener(key, HOST)
        self.listener.start(self._echo, limit)

    @property
    def address(self) -> NodeAddress:
        return self.listener.address

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                writer.write(line)
                await writer.drain()


@contextlib.asynccontextmanager
async def served(key: bytes = KEY, limit: int = wire.LINE_LIMIT_BYTES) -> AsyncIterator[Served]:
    async with asyncio.timeout(FUSE_SECONDS):
        made = Served(key, limit)
        try:
            yield made
        finally:
            made.listener.close()
            await asyncio.sleep(0)  # what it waits for is cancelled


async def echoed(address: NodeAddress, line: bytes, key: bytes = KEY) -> bytes:
    """Return what a node gets back for a line."""
    reader, writer = await NodeDialer(key).connect(address)
    writer.write(line + b"\n")
    await writer.drain()
    answer = await reader.readline()
    await ended(writer)
    return answer.rstrip(b"\n")


async def ended(writer: asyncio.StreamWriter) -> None:
    """End a connection, and wait until it has."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def in_tls(address: NodeAddress) -> Streams:
    """Connect as a stranger can: with TLS, and without proving anything."""
    return await asyncio.open_connection(
        address.host,
        address.port,
        ssl=dialing_context(),
        server_hostname="",
        ssl_shutdown_timeout=1,
    )


def proof(key: bytes, nonce: bytes, fingerprint: str) -> bytes:
    """Return what a dialer sends to a listener that has sent this nonce."""
    own = bytes(NONCE_BYTES)
    return own + code(key, DIALER, own, nonce, fingerprint)


async def is_refused(reader: asyncio.StreamReader) -> bool:
    """Return whether a connection ends without another byte."""
    try:
        return not await reader.read(1)
    except OSError:
        return True


def lose_what_comes(connection: socket.socket) -> None:
    """Drop every packet that arrives for a connection, as if the other machine had died."""
    drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    program = struct.pack("HL", 1, ctypes.addressof(drop_all))
    connection.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


OTHER_KEY = bytes(32)
LINE = b'{"jsonrpc":"2.0","method":"session/update"}'


def play(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Play a story in an event loop, under a fuse."""

    async def fused() -> None:
        async with asyncio.timeout(FUSE_SECONDS):
            await story()

    asyncio.run(fused())


@fused
async def test_a_node_sends_and_receives_lines_of_any_length() -> None:
    async with served() as here:
        assert await echoed(here.address, LINE) == LINE
        long_line = os.urandom(2_000_000).hex().encode()
        assert await echoed(here.address, long_line) == long_line


@every("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(4096)])
@fused
async def test_what_is_not_tls_is_not_served(sent: bytes) -> None:
    async with served() as here:
        reader, writer = await asyncio.open_connection(HOST, here.address.port)
        writer.write(sent)
        if not sent:
            writer.write_eof()
        with contextlib.suppress(OSError):
            answer = await reader.read()
            assert len(answer) < 16  # at most TLS' alert
        await ended(writer)
        assert here.count == 0
        assert await echoed(here.address, LINE) == LINE


@fused
async def test_older_tls_is_not_spoken() -> None:
    async with served() as here:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection(HOST, here.address.port, ssl=context)


@every("sent", [b"", (LINE + b"\n") * 2, bytes(64), bytes(100_000)])
@fused
async def test_a_stranger_is_not_served(sent: bytes) -> None:
    async with served() as here:
        reader, writer = await in_tls(here.address)
        await reader.readexactly(NONCE_BYTES)
        writer.write(sent)
        if not sent:
            writer.close()
        assert await is_refused(reader)
        await ended(writer)
        assert here.count == 0


@fused
async def test_a_node_of_another_fleet_is_not_served() -> None:
    async with served() as here:
        with pytest.raises(NotProvenError, match="key is another"):
            await NodeDialer(OTHER_KEY).connect(here.address)
        assert here.count == 0


@fused
async def test_a_proof_is_of_use_once_and_at_one_process() -> None:
    async with served() as here, served() as there:
        reader, writer = await in_tls(here.address)
        sent = proof(KEY, await reader.readexactly(NONCE_BYTES), here.address.fingerprint)
        writer.write(sent)
        assert await reader.read(1)  # that was a node
        again, second = await in_tls(here.address)
        await again.readexactly(NONCE_BYTES)
        second.write(sent)
        assert await is_refused(again)
        other, third = await in_tls(there.address)
        nonce = await other.readexactly(NONCE_BYTES)
        third.write(proof(KEY, nonce, here.address.fingerprint))
        assert await is_refused(other)
        for each in (writer, second, third):
            await ended(each)
        assert (here.count, there.count) == (1, 0)


@fused
async def test_nobody_says_more_than_the_proof_before_it_is_checked() -> None:
    async with served() as here:
        reader, writer = await in_tls(here.address)
        nonce = await reader.readexactly(NONCE_BYTES)
        writer.write(proof(KEY, nonce, here.address.fingerprint) + b"!")
        assert await is_refused(reader)
        await ended(writer)
        assert here.count == 0


@fused
async def test_who_stands_between_two_nodes_reads_nothing() -> None:
    received: list[bytes] = []
    done = asyncio.Event()

    async def stand_between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(NONCE_BYTES))
        with contextlib.suppress(OSError):
            received.append(await reader.read())
        await ended(writer)
        done.set()

    context, _ = listening_context()
    async with served() as here:
        between = await asyncio.start_server(stand_between, HOST, 0, ssl=context)
        address = msgspec.structs.replace(here.address, port=between.sockets[0].getsockname()[1])
        with pytest.raises(NotProvenError, match="another process"):
            await NodeDialer(KEY).connect(address)
        await done.wait()
        between.close()
        assert received in ([], [b""])


@every("answer", [b"", bytes(32)])
@fused
async def test_a_listener_without_the_key_gets_no_line(answer: bytes) -> None:
    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(NONCE_BYTES))
        await reader.readexactly(64)
        writer.write(answer)
        await ended(writer)

    context, fingerprint = listening_context()
    server = await asyncio.start_server(pretend, HOST, 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    address = NodeAddress(host=HOST, port=port, fingerprint=fingerprint)
    with pytest.raises(NotProvenError):
        await NodeDialer(KEY).connect(address)
    server.close()


@fused
async def test_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as here:
        monkeypatch.setattr(node_link, "PROOF_SECONDS", 0.5)
        silent, first = await asyncio.open_connection(HOST, here.address.port)
        assert await is_refused(silent)
        await ended(first)
        monkeypatch.setattr(node_link, "PROOF_SECONDS", patient(3))
        secret, second = await in_tls(here.address)
        await secret.readexactly(NONCE_BYTES)
        assert await is_refused(secret)
        await ended(second)


@fused
async def test_a_listener_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_link, "PROOF_SECONDS", 0.5)
    with socket.create_server((HOST, 0)) as silent:
        port = silent.getsockname()[1]
        address = NodeAddress(host=HOST, port=port, fingerprint="0" * 64)
        with pytest.raises(TimeoutError):
            await NodeDialer(KEY).connect(address)


def test_a_node_is_served_among_crowds_of_strangers() -> None:
    async def story() -> None:
        async with served() as here:
            crowd: list[socket.socket] = []
            for number in range(400):
                crowd.append(socket.create_connection((HOST, here.address.port)))
                if number % 20 == 19:
                    await asyncio.sleep(0.01)
                if number % 100 == 99:
                    assert await echoed(here.address, LINE) == LINE
            connections = [each for each in gc.get_objects() if isinstance(each, ssl.SSLObject)]
            assert len(connections) < node_link.MAX_UNPROVEN + 20
            for each in crowd:
                each.close()

    gc.collect()
    gc.disable()  # what has ended is freed at once, not when cycles are collected
    try:
        play(story)
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform != "linux", reason="what a system notices is its own matter")
@fused
async def test_a_dialer_notices_that_the_other_machine_has_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_link, "SILENT_SECONDS", 2)
    async with served() as here:
        reader, writer = await NodeDialer(KEY).connect(here.address)
        lose_what_comes(writer.get_extra_info("socket"))
        since = time.monotonic()
        writer.write(LINE)
        with pytest.raises(OSError, match=r"(?i)timed out"):
            await reader.read(1)
        assert time.monotonic() - since < patient(2 + 2)
        writer.transport.abort()


@pytest.mark.skipif(sys.platform != "linux", reason="what a system notices is its own matter")
@fused
async def test_a_listener_waits_for_who_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_link, "SILENT_SECONDS", 1)
    size, written = 64 * 1024 * 1024, 0

    async def write(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.transport.set_write_buffer_limits(65536)
        while written < size:
            writer.write(bytes(65536))
            await writer.drain()
            written += 65536
        await reader.read()

    listener = NodeListener(KEY, HOST)
    listener.start(write)
    address = listener.address
    reader, writer = await NodeDialer(KEY).connect(address, limit=65536)
    before = -1
    until = time.monotonic() + 3  # thrice what a dialer is patient for
    while written != before or time.monotonic() < until:
        before = written
        await asyncio.sleep(0.2)
    assert written < 16 * 1024 * 1024
    assert len(await reader.readexactly(size)) == size
    await ended(writer)
    listener.close()


@fused
async def test_a_front_is_answered_by_the_handler_of_its_word() -> None:
    async def double(facts: dict[str, Any]) -> dict[str, Any]:
        return {"number": facts["number"] * 2}

    listener = NodeListener(KEY, HOST)
    listener.start(NodeRequests({"double": double}).serve, limit=4096)
    address = listener.address
    dialer = NodeDialer(KEY)
    assert await send_request(dialer, address, "double", {"number": 21}, FUSE_SECONDS) == {
        "number": 42
    }
    assert await send_request(dialer, address, "triple", {"number": 21}, FUSE_SECONDS) is None
    reader, writer = await dialer.connect(address)
    writer.write(wire.control("double", number=1) + b"\n" + wire.control("other") + b"\n")
    assert wire.read_control(await reader.readline()) == ("double", {"number": 2})
    assert wire.read_control(await reader.readline()) == ("other", {"unknown": True})
    writer.write(b"!" + b"x" * 10_000 + b"\n")  # longer than is taken
    assert await is_refused(reader)
    await ended(writer)
    listener.close()
    assert await send_request(dialer, address, "double", {"number": 21}, FUSE_SECONDS) is None


@fused
async def test_a_front_that_does_not_answer_in_time_has_no_answer() -> None:
    async def never(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    listener = NodeListener(KEY, HOST)
    listener.start(NodeRequests({"never": never}).serve)
    address = listener.address
    assert await send_request(NodeDialer(KEY), address, "never", {}, 0.1) is None
    listener.close()


@fused
async def test_a_listener_takes_the_first_free_port_of_its_range() -> None:
    other = free_port()
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        listener = NodeListener(KEY, HOST, (port, other))
        assert listener.address.port == other
        with pytest.raises(FleetError, match=f"{HOST}:{port}-{other}.*--fleet-listen"):
            NodeListener(KEY, HOST, (port, other))
        listener.close()


@every("host", ["0.0.0.0", "0"])
def test_an_address_that_nobody_can_connect_to_is_refused(host: str) -> None:
    with pytest.raises(FleetError, match=f"connect to {host}: .*--fleet-listen"):
        NodeListener(KEY, host)


@every("host", ["10.0.0.7", "box.example", "fe80::1"])
def test_an_address_is_read_back_from_its_place(host: str) -> None:
    address = NodeAddress(host=host, port=7791, fingerprint="a" * 64)
    assert address_of(place_of(address)) == address


@every(
    "text",
    [
        "",
        "/run/lastword/7780/a.sock",
        "node://host/abc",
        f"node://host:1/{'a' * 63}",
        f"node://host:99999999/{'a' * 64}",
        f"http://host:1/{'a' * 64}",
    ],
)
def test_another_text_is_no_place_on_another_node(text: str) -> None:
    assert address_of(text) is None
