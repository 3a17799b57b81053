"""A TCP proxy that does to a connection what networks do: cut, reset, swallow, delay, throttle.

Owns the faults. Which connection meets which is the test's plan.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Self

from lastword.gateway.wire import close_server

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE_BYTES = 4096
HELD_BYTES = 64 * 1024
_RESET = struct.pack("ii", 1, 0)


class Fault(Enum):
    """What happens to a connection after a number of bytes from the server."""

    NONE = "none"
    CUT = "cut"
    """Both ends see the end of the stream."""
    RESET = "reset"
    """Both ends see a reset."""
    BLACK_HOLE = "black_hole"
    """Nothing passes any more, and nobody is told."""


@dataclass(frozen=True)
class Plan:
    """What befalls one connection.

    Attributes:
        after_bytes: so many bytes of the server's are passed before.
        delay_seconds: each piece waits so long, both ways.
        bytes_per_second: no more of the server's pass; 0, all that come.
    """

    fault: Fault = Fault.NONE
    after_bytes: int = 0
    delay_seconds: float = 0.0
    bytes_per_second: int = 0


class FaultProxy:
    def __init__(self, port: int, plans: Callable[[int], Plan]) -> None:
        """Stand before a port; `plans` gives a connection's plan by its number, from 0."""
        self._to = port
        self._plans = plans
        self.connections = 0
        self.struck = 0
        self._swallowed = 0
        self._open: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()
        """The server's end of each connection that is open."""

    async def __aenter__(self) -> Self:
        listening = socket.create_server(("127.0.0.1", 0))
        # A network holds little: what its other end does not take soon stays with the sender.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, HELD_BYTES)
        self._server = await asyncio.start_server(self._serve, sock=listening)
        return self

    async def __aexit__(self, *_: object) -> None:
        await close_server(self._server)
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        """Cut what is open now; who comes afterwards gets through."""
        self.struck += len(self._ends)
        for end in self._ends:
            end.transport.abort()

    def swallow(self) -> None:
        """Let nothing more pass of the connections that there are."""
        self._swallowed = self.connections

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._server.is_serving():  # let in just before its end
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        number = self.connections
        plan = self._plans(number)
        self.connections += 1
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self._to)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
            self._open.discard(task)
            return
        self._ends.add(onward)
        try:
            up = asyncio.create_task(self._up(reader, onward, plan, number))
            await self._down(there, writer, plan, up, number)
        finally:
            up.cancel()
            self._ends.discard(onward)
            # At the proxy's own end, what is not sent yet may never be.
            is_cut = plan.fault is Fault.RESET or task.cancelling() > 0
            for end in (writer, onward):
                if plan.fault is Fault.RESET:
                    _reset(end)
                end.transport.abort() if is_cut else end.close()
            self._open.discard(task)

    async def _up(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, plan: Plan, number: int
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                await asyncio.sleep(plan.delay_seconds)
                if number < self._swallowed:
                    continue
                writer.write(piece)
                await writer.drain()
            writer.close()

    async def _down(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        plan: Plan,
        up: asyncio.Task[None],
        number: int,
    ) -> None:
        left = plan.after_bytes
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                await asyncio.sleep(plan.delay_seconds)
                if plan.bytes_per_second:
                    await asyncio.sleep(len(piece) / plan.bytes_per_second)
                if number < self._swallowed:
                    continue
                if plan.fault is not Fault.NONE:
                    piece, left = piece[:left], left - len(piece)
                writer.write(piece)
                await writer.drain()
                if plan.fault is not Fault.NONE and left <= 0:
                    break
            else:
                return
            self.struck += 1
            if plan.fault is Fault.BLACK_HOLE:
                up.cancel()
                await asyncio.Event().wait()


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    if isinstance(sock, asyncio.trsock.TransportSocket):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
