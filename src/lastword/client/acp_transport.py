"""The base of the official SDK's client: a transport, and the agent's process.

Owns two translations: an update of a kind that the SDK drops becomes one that it delivers, and a
prompt's result that reports a failure becomes an error. Everything else passes unchanged. Owns a
reader of the agent's stderr, too, which reads whether or not anybody wants the bytes, since a full
pipe stops the agent, and how the process ended; the SDK starts and stops it. Imports nothing from
the SDK: its transport is three methods.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Protocol, Self

from lastword.client import reading
from lastword.client.reading import kind_of, object_of, read_error
from lastword.core.classify import classify_exit, own_failure
from lastword.core.failure.ladder import typed_payload
from lastword.core.failure.taxonomy import AgentError, ErrorType
from lastword.core.link.evidence import StderrRecord
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from types import TracebackType


READ_BYTES = 65536

GRACE_SECONDS = 2.0
"""How long the end of a process and of its stderr may take on a busy machine; the process may also
live on, or a child of its own hold the pipe."""


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
        """Receive what the agent wrote, which the record already has."""
        if not self._full:
            self._given += len(data)
            self.feed_data(data)

    def ended(self) -> None:
        """Note that the agent has closed stderr."""
        self._catch_up()
        self.feed_eof()

    def fill(self) -> None:
        """Note that the reader has stopped: further bytes go only to the record."""
        self._full = True

    def resume(self) -> None:
        """Note that the reader has caught up: continue with the latest bytes."""
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


Message = dict[str, Any]
STOP_REASONS = [*acp.STOP_REASONS]
"""A list: what an agent sends in its place may not be hashable."""


class Transport(Protocol):
    """The SDK's public seam: decoded messages; `None` is the end."""

    async def send(self, message: Message) -> None: ...
    async def receive(self) -> Message | None: ...
    async def close(self) -> None: ...


class TypedTransport:
    """Another transport, with the two translations on the way in."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._prompts: set[object] = set()

    async def send(self, message: Message) -> None:
        """Pass a message on to the agent; note which are prompts."""
        if message.get("method") == acp.PROMPT:
            self._prompts.add(message.get("id"))
        await self._inner.send(message)

    async def receive(self) -> Message | None:
        """Return the next message for the SDK."""
        while True:
            message: object = await self._inner.receive()
            if message is None:
                return None
            # The SDK's own loop would end for good on a line that is not an object.
            if isinstance(message, dict):
                return self._translated(message)

    async def close(self) -> None:
        """Close the connection."""
        await self._inner.close()

    def _translated(self, message: Message) -> Message:
        """Return a message that the SDK would misread or drop in a shape that it accepts."""
        if message.get("method") == acp.UPDATE:
            # Every SDK delivers this kind; the content is in `_meta`.
            params = object_of(message.get("params"))
            update = object_of(params.get("update"))
            kind = kind_of(update)
            if kind in acp.AGENT_ERROR_KINDS:
                error = read_error(update)
                meta: Message = {"agent_error": typed_payload(error) if error else {}}
            elif kind in acp.AGENT_RETRY_KINDS:
                meta = {"agent_retry": update}
            else:
                return message
            carrier = {"sessionUpdate": "session_info_update", "_meta": meta}
            return message | {"params": params | {"update": carrier}}
        if "method" in message:
            return message
        request_id = message.get("id")
        if not isinstance(request_id, int | str) or request_id not in self._prompts:
            return message
        self._prompts.discard(request_id)
        reported, result = message.get("error"), message.get("result")
        if isinstance(reported, dict):
            # Next to a result, the SDK ignores an error; its exception has the code and the words.
            code, text = reported.get("code", 0), reported.get("message", "")
            is_plain = isinstance(code, int) and isinstance(text, str)
            if is_plain and "result" not in message:
                return message
            error = read_error({"error": reported})
        else:
            # An error that is not an object ends the SDK's loop, like a line that is not one.
            error = read_error(message if reported else result)
            if error is None and object_of(result).get("stopReason") not in STOP_REASONS:
                failure = own_failure(ErrorType.PROTOCOL_ERROR, "no_stop_reason")
                error = reading.compose(failure)
        if error is None:
            return message
        data = {"agent_error": typed_payload(error)}
        error_object = {"code": acp.INTERNAL_ERROR, "message": error.message, "data": data}
        return {"jsonrpc": "2.0", "id": request_id, "error": error_object}


class StreamTransport:
    """Lines of JSON on a pair of asyncio streams, as the SDK itself sends them."""

    def __init__(
        self,
        writer: asyncio.StreamWriter,
        reader: asyncio.StreamReader,
        receive_timeout: float | None = None,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._receive_timeout = receive_timeout

    async def send(self, message: Message) -> None:
        """Write one line."""
        self._writer.write(jsonrpc.dumps(message) + b"\n")
        await self._writer.drain()

    async def receive(self) -> Message | None:
        """Return the next line that is a JSON object, or `None` at the end of the stream."""
        while line := await asyncio.wait_for(self._line(), self._receive_timeout):
            message = jsonrpc.loads(line)
            if isinstance(message, dict):
                return message
        return None

    async def close(self) -> None:
        """Do nothing: as with the SDK's transport, whoever opened the streams closes them."""

    async def _line(self) -> bytes:
        """Return a line of any length, whatever the reader's limit; empty at the end."""
        parts = []
        while True:
            try:
                parts.append(await self._reader.readuntil(b"\n"))
            except asyncio.LimitOverrunError as over:
                parts.append(await self._reader.readexactly(over.consumed))
                continue
            except asyncio.IncompleteReadError as end:
                parts.append(end.partial)
            return b"".join(parts)
