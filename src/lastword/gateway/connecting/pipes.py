"""Stdin and stdout as asyncio streams, whatever they are.

Owns reading and writing files and terminals, which event loops cannot wait for.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading

LINE_LIMIT_BYTES = 80 * 1024 * 1024
HIGH_WATER_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024


async def reader_of(descriptor: int) -> asyncio.StreamReader:
    """Return a stream that reads from a descriptor."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES, loop=loop)
    if not _can_be_waited_for(descriptor):
        descriptor = _pumped_from(descriptor)
    file = os.fdopen(descriptor, "rb", buffering=0, closefd=False)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), file)
    return reader


async def writer_to(descriptor: int) -> asyncio.StreamWriter:
    """Return a stream that writes to a descriptor."""
    loop = asyncio.get_running_loop()
    if not _can_be_waited_for(descriptor):
        descriptor = _pumped_to(descriptor)
    file = os.fdopen(descriptor, "wb", buffering=0, closefd=False)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), file
    )
    transport.set_write_buffer_limits(HIGH_WATER_BYTES)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _can_be_waited_for(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _pumped_from(descriptor: int) -> int:
    reading, writing = os.pipe()
    threading.Thread(target=_pump, args=(descriptor, writing), daemon=True).start()
    return reading


def _pumped_to(descriptor: int) -> int:
    reading, writing = os.pipe()
    threading.Thread(target=_pump, args=(reading, descriptor), daemon=True).start()
    return writing


def _pump(source: int, sink: int) -> None:
    try:
        while piece := os.read(source, _PIECE_BYTES):
            while piece:
                piece = piece[os.write(sink, piece) :]
    except OSError:
        pass  # the other end is gone, which the loop sees by itself
    finally:
        os.close(sink)
