"""Connections between the nodes of a fleet, which carry the line protocol of `gateway.wire`.

Owns the listener of a front or holder, the dialer of a front, the form of a place on another node,
and how soon a connection to a machine that has died ends. Both ends prove who they are
(`node_identity`) before a line is read. Connections that have not done so are bounded in number,
and each lasts a few seconds and takes a few bytes.

A dialer notices within `SILENT_SECONDS` that the other machine has gone, whether it waits for data
or sends some, on Linux. On macOS that is so while it sends nothing, and elsewhere the system's own
times hold. A listener takes longer while it sends: it cannot tell a machine that has gone from a
viewer that reads nothing, since Linux ends the connection in both cases.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import socket
from asyncio import sslproto
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from lastword.gateway import wire
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.node_identity import (
    CODE_BYTES,
    DIALER,
    LISTENER,
    NONCE_BYTES,
    code,
    dialing_context,
    fingerprint_of,
    is_code,
    listening_context,
)
from lastword.gateway.fleet.records import NodeAddress

if TYPE_CHECKING:
    from collections.abc import Sequence

PROOF_SECONDS = 5.0
"""How long a connection may take until both ends have proven who they are."""

MAX_UNPROVEN = 128
"""Connections to one process whose other end has proven nothing; for one more the oldest ends. A
node needs milliseconds, so that it is served among thousands that wait for nothing."""

SILENT_SECONDS = 8
"""How long the other machine may be silent when it should answer."""

UNREAD_SECONDS = 75
"""How long a front may read nothing: longer than a viewer may (`slow_viewers`)."""

UNSENT_BYTES = 128 * 1024
"""What waits in the system until it can be sent; what a viewer does not read stays in the log."""

CLOSE_SECONDS = 2.0
"""How long the end of a connection waits for the other end's."""

ACCEPT_AGAIN_SECONDS = 1.0
"""When to accept again after the system could not, as without a free descriptor."""

BACKLOG = 1024

UNSPECIFIED = frozenset({"0.0.0.0", "::"})  # noqa: S104 - these are refused
"""What stands for all addresses of a machine."""

READ_BYTES = 32 * 1024
"""What asyncio sets aside for reading of each TLS connection. Its own 256 KiB would be most of what
an idle viewer costs at another node's front, at both ends, and nothing is faster for them."""
sslproto.SSLProtocol.max_size = READ_BYTES

_PLACE = re.compile(r"node://(?:\[([0-9A-Fa-f:.]+)\]|([^:/\[\]]+)):([0-9]{1,5})/([0-9a-f]{64})")

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def place_of(address: NodeAddress) -> str:
    """Return an address as the place of a holder, as a directory has it."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"node://{host}:{address.port}/{address.fingerprint}"


def address_of(place: str) -> NodeAddress | None:
    """Return the address that a place stands for; `None` if it is on this machine."""
    match = _PLACE.fullmatch(place)
    if match is None:
        return None
    return NodeAddress(host=match[1] or match[2], port=int(match[3]), fingerprint=match[4])


class NotProvenError(ConnectionError):
    """The other end is not the process that was meant, or has not the fleet's key."""


class NodeDialer:
    """Connects to the processes of other nodes."""

    def __init__(self, key: bytes) -> None:
        """Use the fleet's key for connections between nodes."""
        self._key = key
        self._context = dialing_context()

    async def connect(self, address: NodeAddress, limit: int = wire.LINE_LIMIT_BYTES) -> Streams:
        """Connect to the process at an address.

        Args:
            address: Where it listens.
            limit: The longest line that the reader takes, in bytes; it buffers twice as much.

        Raises:
            NotProvenError: It is another process, or has not the fleet's key.
            OSError: It cannot be reached, or does not answer in time.
        """
        async with asyncio.timeout(PROOF_SECONDS):
            reader, writer = await asyncio.open_connection(
                address.host,
                address.port,
                limit=limit,
                ssl=self._context,
                server_hostname="",
                ssl_shutdown_timeout=CLOSE_SECONDS,
            )
            try:
                await self._prove(address, reader, writer)
            except BaseException:
                writer.transport.abort()
                raise
        _prepare(writer.get_extra_info("socket"), SILENT_SECONDS)
        return reader, writer

    async def _prove(
        self, address: NodeAddress, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if fingerprint_of(certificate) != address.fingerprint:
            raise NotProvenError("another process listens there")
        own = secrets.token_bytes(NONCE_BYTES)
        try:
            other = await reader.readexactly(NONCE_BYTES)
            writer.write(own + code(self._key, DIALER, own, other, address.fingerprint))
            received = await reader.readexactly(CODE_BYTES)
        except asyncio.IncompleteReadError:
            raise NotProvenError(
                "it has closed the connection: its key is another, or too many connect"
            ) from None
        if not is_code(received, code(self._key, LISTENER, other, own, address.fingerprint)):
            raise NotProvenError("its key is another")


class NodeListener:
    """Accepts the connections of other nodes' fronts.

    Attributes:
        address: where.
    """

    def __init__(self, key: bytes, host: str, ports: Sequence[int] = (0,)) -> None:
        """Listen; what connects waits until `start`.

        Args:
            key: The fleet's key for connections between nodes.
            host: The IP address or host name to listen on.
            ports: The TCP ports to choose from; 0 is any.

        Raises:
            FleetError: None of them can be listened on, or the address is none to connect to.
        """
        self._key = key
        self._context, fingerprint = listening_context()
        self._socket = _listening(host, ports)
        bound, port, *_ = self._socket.getsockname()
        if bound in UNSPECIFIED:
            self._socket.close()
            raise FleetError(
                f"other nodes cannot connect to {host}: name an address of this machine in "
                "--fleet-listen"
            )
        self.address: NodeAddress = NodeAddress(host=host, port=port, fingerprint=fingerprint)
        self._accepting: asyncio.Task[None] | None = None
        self._unproven: dict[asyncio.Task[None], None] = {}
        """In the order in which they came."""
        self._proven: set[asyncio.Task[None]] = set()

    def start(self, serve: Serve, limit: int = wire.LINE_LIMIT_BYTES) -> None:
        """Accept connections, and have those of nodes served until they end.

        Args:
            serve: Serves one.
            limit: The longest line that its reader takes, in bytes.
        """
        self._accepting = asyncio.create_task(self._accept(serve, limit))

    def close(self) -> None:
        """Accept no more; connections that are being served go on."""
        for task in (self._accepting, *self._unproven):
            if task is not None:
                task.cancel()
        self._socket.close()

    async def _accept(self, serve: Serve, limit: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                peer, _ = await loop.sock_accept(self._socket)
            except OSError:
                await asyncio.sleep(ACCEPT_AGAIN_SECONDS)
                continue
            if len(self._unproven) >= MAX_UNPROVEN:
                oldest = next(iter(self._unproven))
                del self._unproven[oldest]
                oldest.cancel()
            task = loop.create_task(self._receive(peer, serve, limit))
            self._unproven[task] = None
            task.add_done_callback(lambda done: self._unproven.pop(done, None))
            await asyncio.sleep(0)  # a waiting connection is accepted without giving way to others

    async def _receive(self, peer: socket.socket, serve: Serve, limit: int) -> None:
        try:
            async with asyncio.timeout(PROOF_SECONDS):
                reader, writer = await self._prove(peer, limit)
        except OSError:
            return
        task = asyncio.create_task(_served(serve, reader, writer))
        self._proven.add(task)
        task.add_done_callback(self._proven.discard)

    async def _prove(self, peer: socket.socket, limit: int) -> Streams:
        """Return the streams of a connection whose other end has the fleet's key.

        Raises:
            OSError: It has not, or ends the connection, or is too slow.
        """
        loop = asyncio.get_running_loop()
        unproven = _Unproven(NONCE_BYTES + CODE_BYTES)
        transport, _ = await loop.connect_accepted_socket(
            lambda: unproven, peer, ssl=self._context, ssl_shutdown_timeout=CLOSE_SECONDS
        )
        try:
            answer = await self._checked(transport, unproven)
            _prepare(transport.get_extra_info("socket"), UNREAD_SECONDS)
        except BaseException:
            transport.abort()
            raise
        reader = asyncio.StreamReader(limit)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        writer.write(answer)
        return reader, writer

    async def _checked(self, transport: asyncio.WriteTransport, unproven: _Unproven) -> bytes:
        """Check the other end's proof; return our own.

        Raises:
            NotProvenError: It is wrong, or is not all that was sent.
        """
        own = secrets.token_bytes(NONCE_BYTES)
        transport.write(own)
        received = await unproven.received
        other = received[:NONCE_BYTES]
        expected = code(self._key, DIALER, other, own, self.address.fingerprint)
        if not is_code(received[NONCE_BYTES:], expected):
            raise NotProvenError
        return code(self._key, LISTENER, own, other, self.address.fingerprint)


async def _served(serve: Serve, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await serve(reader, writer)
    finally:
        writer.close()


class _Unproven(asyncio.Protocol):
    """A connection whose other end has proven nothing: a fixed number of bytes is read."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._data = b""
        self.received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """What was read; nothing, if it was less or more."""

    def data_received(self, data: bytes) -> None:
        self._data += data[: self._size + 1]
        if len(self._data) > self._size:  # a node says no more before it is answered
            self._refuse()
        elif len(self._data) == self._size and not self.received.done():
            self.received.set_result(self._data)

    def eof_received(self) -> None:
        self._refuse()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._refuse()

    def _refuse(self) -> None:
        if not self.received.done():
            self.received.set_result(b"")


def _listening(host: str, ports: Sequence[int]) -> socket.socket:
    reason = "no port is named"
    for port in ports:
        try:
            return _bound(host, port)
        except OSError as error:
            reason = (error.strerror or "failed").lower()
    shown = f"{host}:{ports[0]}-{ports[-1]}" if len(ports) > 1 else f"{host}:{ports[0]}"
    raise FleetError(
        f"other nodes cannot be listened to on {shown} ({reason}); the front and each agent need "
        "a port of --fleet-listen"
    )


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        OSError: The port is not free, or the address is not this machine's.
    """
    kind = socket.SOCK_STREAM
    family, _, _, _, address = socket.getaddrinfo(host, port, type=kind)[0]
    # By its protocol asyncio knows that answers are not to wait for more (`TCP_NODELAY`).
    listening = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)  # noqa: FBT003 - its only form
    return listening


def _prepare(connection: socket.socket, patience_seconds: int) -> None:
    """Have the system look whether the other machine is still there."""
    look_seconds = max(1, SILENT_SECONDS // 4)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        ("TCP_KEEPIDLE", "TCP_KEEPALIVE"): look_seconds,  # the same, on macOS
        ("TCP_KEEPINTVL",): look_seconds,
        ("TCP_KEEPCNT",): 3,
        ("TCP_USER_TIMEOUT",): patience_seconds * 1000,
        ("TCP_NOTSENT_LOWAT",): UNSENT_BYTES,
    }
    for names, value in options.items():
        option = next((getattr(socket, name) for name in names if hasattr(socket, name)), None)
        if option is not None:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
