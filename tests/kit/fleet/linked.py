"""A listener for other nodes and what connects to it: nodes, and those without the fleet's key."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
import struct
from typing import TYPE_CHECKING

from lastword.gateway import wire
from lastword.gateway.fleet.node_identity import DIALER, NONCE_BYTES, code, dialing_context
from lastword.gateway.fleet.node_link import NodeDialer, NodeListener
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.gateway.fleet.node_link import Streams
    from lastword.gateway.fleet.records import NodeAddress

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
