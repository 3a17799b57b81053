"""The agent's process as the official SDK's client starts it: its stderr, and how it ended.

Owns a reader of stderr that reads whether or not anybody wants the bytes, since a full pipe stops
the agent. The SDK starts and stops the process.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Self

from lastword.client import reading
from lastword.core.classify import classify_exit
from lastword.core.link.stderr import StderrRecord

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from types import TracebackType

    from lastword.core.failure.taxonomy import AgentError

READ_BYTES = 65536

GRACE_SECONDS = 2.0
"""How long the end of a process and its last words may take to come, on a machine that is busy: it
may also live on, or a child of its own hold the pipe."""


class AgentProcess:
    """A process, with the end of what it wrote to stderr.

    While the context manager is entered, stderr is read. `process.stderr` becomes a stream of the
    same bytes: a reader that does not keep up misses some, and learns how many.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._written = StderrRecord()
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._reading is not None:
            await self._last_words()
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def started(self, process: Process) -> None:
        """Read the stderr of a process, if it is a pipe."""
        self._process = process
        if process.stderr is not None:
            source, process.stderr = process.stderr, _Stderr(self._written)
            self._reading = asyncio.create_task(self._read(source, process.stderr))

    async def _read(self, source: asyncio.StreamReader, stream: _Stderr) -> None:
        while data := await source.read(READ_BYTES):
            self._written.receive(data)
            stream.written(data)
        stream.ended()

    async def failure(self) -> AgentError:
        """Return how the process ended, once its connection is gone."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
                await self._last_words()
        exit_code = self._process.returncode if self._process is not None else None
        if exit_code is None:
            return reading.connection_lost()
        tail = self._written.tail()
        return reading.compose(classify_exit(exit_code=exit_code, stderr_tail=tail))

    async def _last_words(self) -> None:
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=GRACE_SECONDS)


class _Stderr(asyncio.StreamReader):
    """The stream behind `process.stderr`: bounded, with a note of what was left out."""

    def __init__(self, record: StderrRecord) -> None:
        super().__init__()
        self._record = record
        self._given = 0
        self._full = False
        self.set_transport(_Valve(self))

    def written(self, data: bytes) -> None:
        """Take in what the agent wrote, which the record already has."""
        if not self._full:
            self._given += len(data)
            self.feed_data(data)

    def ended(self) -> None:
        """Note that the agent writes no more."""
        self._catch_up()
        self.feed_eof()

    def fill(self) -> None:
        """Note that nobody reads: what comes now is for the record alone."""
        self._full = True

    def resume(self) -> None:
        """Note that somebody has read: continue with the latest."""
        self._full = False
        self._catch_up()

    def _catch_up(self) -> None:
        tail = self._record.tail(self._given).encode()
        cut = self._record.total - self._given - len(tail)
        self._given = self._record.total
        if cut > 0:
            tail = b"\n[... %d bytes of stderr left out ...]\n" % cut + tail
        if tail:
            self.feed_data(tail)


class _Valve(asyncio.ReadTransport):
    """The object that a stream reader asks to pause; the process itself never waits."""

    def __init__(self, stream: _Stderr) -> None:
        super().__init__()
        self._stream = stream

    def pause_reading(self) -> None:
        self._stream.fill()

    def resume_reading(self) -> None:
        self._stream.resume()
