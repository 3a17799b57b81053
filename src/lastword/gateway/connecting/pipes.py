"""Stdin and stdout as asyncio streams, whatever they are.

Owns reading and writing what event loops cannot wait for: files, terminals, and on Windows any pipe
that was not made for it. A thread stands between.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading

from lastword.platform.pipes import is_polled

LINE_LIMIT_BYTES = 80 * 1024 * 1024
HIGH_WATER_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024


async def reader_of(descriptor: int) -> asyncio.StreamReader:
    """Return a stream that reads from a descriptor."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    if not is_polled(descriptor):
        ours, theirs = socket.socketpair()
        threading.Thread(target=_pump_in, args=(descriptor, theirs), daemon=True).start()
        # Not `open_connection`, whose writer would close the socket once nobody refers to it.
        await loop.create_connection(lambda: protocol, sock=ours)
        return reader
    file = os.fdopen(descriptor, "rb", buffering=0, closefd=False)
    await loop.connect_read_pipe(lambda: protocol, file)
    return reader


async def writer_to(
    descriptor: int,
) -> tuple[asyncio.StreamWriter, threading.Thread | None]:
    """Return a stream that writes to a descriptor.

    Returns:
        The stream, and the thread between them if there is one: it ends, all written, after the
        stream was closed.
    """
    if not is_polled(descriptor):
        ours, theirs = socket.socketpair()
        pump = threading.Thread(target=_pump_out, args=(theirs, descriptor), daemon=True)
        pump.start()
        _, writer = await asyncio.open_connection(sock=ours)
        writer.transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        return writer, pump
    loop = asyncio.get_running_loop()
    file = os.fdopen(descriptor, "wb", buffering=0, closefd=False)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), file
    )
    transport.set_write_buffer_limits(HIGH_WATER_BYTES)
    return asyncio.StreamWriter(transport, protocol, None, loop), None


def _pump_in(descriptor: int, into: socket.socket) -> None:
    with into, contextlib.suppress(OSError):  # the loop sees the end by itself
        while piece := os.read(descriptor, _PIECE_BYTES):
            into.sendall(piece)


def _pump_out(out_of: socket.socket, descriptor: int) -> None:
    with out_of, contextlib.suppress(OSError):
        while piece := out_of.recv(_PIECE_BYTES):
            while piece:
                piece = piece[os.write(descriptor, piece) :]
