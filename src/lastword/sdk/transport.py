"""The SDK's transport, exchanged for one that passes the core.

Owns the order of what goes to the handlers and to the client, the core's clock on the SDK's event
loop, and the moment at which a handler is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import acp

from lastword.core import acp as protocol
from lastword.core import jsonrpc
from lastword.inprocess import mistakes
from lastword.inprocess.calls import CURRENT, Call
from lastword.inprocess.journal import Journal
from lastword.inprocess.link import LAST_ANSWERS_SECONDS, Link
from lastword.inprocess.stalls import LoopWatch
from lastword.inprocess.wires import MessageWire, StreamWire, Wire

if TYPE_CHECKING:
    from lastword.core.connection import Options
    from lastword.core.jsonrpc import Frame


class GuardedTransport:
    """The SDK's transport, with the core between it and the client."""

    def __init__(self, inner: Any, options: Options, *, own_cancel_seconds: float) -> None:
        self._wire: Wire = inner if isinstance(inner, StreamWire) else MessageWire(inner)
        self._own_cancel_seconds = own_cancel_seconds
        self._secrets = options.secrets
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._timer: asyncio.TimerHandle | None = None
        self._inbox: asyncio.Queue[tuple[dict[str, Any], Call | None] | BaseException | None]
        self._inbox = asyncio.Queue()
        self._started = False
        self._journal = Journal(options, door="guard")
        self.link = Link(
            options,
            to_client=self._to_client,
            to_handler=self._to_handler,
            on_cancel=self._cancel,
            rearm=self._rearm,
            note=self._journal.note,
        )
        self._watch = LoopWatch(self.link, self._loop.call_soon_threadsafe)

    async def receive(self) -> dict[str, Any] | None:
        """The next message for the agent; its call becomes the context of its handler."""
        if not self._started:
            self._started = True
            self._wire.start(self._take, self._end)
        item = await self._inbox.get()
        if item is None:
            return None
        if isinstance(item, BaseException):
            raise item
        message, call = item
        # The SDK starts the handler's task from here, so the task finds this in its context.
        CURRENT.set(call)
        return message

    async def send(self, message: dict[str, Any]) -> None:
        """Take a message of the agent's: the core decides what of it goes to the client."""
        call = CURRENT.get()
        mine = call is not None and "method" not in message and not call.over
        raised = call.failure if call is not None and mine and "error" in message else None
        if call is not None and raised is not None:
            if self._failed(call, raised, message["error"]):
                await self._drain_answer()
                return
            message = message | {"error": self._redacted(message["error"])}
        try:
            line = jsonrpc.dumps(message)
        except (TypeError, ValueError, RecursionError) as error:
            if call is None or not mine:
                raise
            mistakes.unusable(call, error)
            if not self._failed(call, error, None):
                # The core is out of order: a plain answer, since there is no other.
                plain = {"code": protocol.INTERNAL_ERROR, "message": "Internal error"}
                self.link.from_handler(jsonrpc.error(call.request_id, plain), call)
        else:
            self.link.from_handler(line, call)
        if "method" not in message:
            await self._drain_answer()
            return
        await self._wire.drain()
        # As under the SDK, whose writer is a task of its own, the loop runs once. A handler on a
        # provider's blocking stream has no other moment: neither its cancel nor any other session
        # would be heard before it is done.
        await asyncio.sleep(0)

    async def close(self) -> None:
        """Close the link; whoever still waits for an answer gets one."""
        if self.link.client_gone:
            until = time.monotonic() + LAST_ANSWERS_SECONDS
            while time.monotonic() < until and any(  # noqa: ASYNC110  (a poll of 250 ms at most)
                call.method != protocol.PROMPT for call in self.link.open_calls
            ):
                await asyncio.sleep(0.005)
        self.link.handler_left()
        self._journal.close()
        self._watch.close()
        if self._timer is not None:
            self._timer.cancel()
        await self._wire.aclose()

    async def _drain_answer(self) -> None:
        # That the client is gone ends the handlers which still send, and none of those which answer
        # it: the SDK hands such a failure on to whoever closes the connection, as the process's.
        with contextlib.suppress(OSError):
            await self._wire.drain()

    def _failed(self, call: Call, error: BaseException, sent: object) -> bool:
        # Loaded when a handler raises: no part of a healthy turn.
        from lastword.inprocess.failing import word_for  # noqa: PLC0415

        own = sent if isinstance(error, acp.RequestError) else None
        if own is not None and call.method != protocol.PROMPT:
            return False  # the author's own answer to a request that is no prompt stays
        return self.link.failed(call, word_for(call, error, own))

    def _redacted(self, error: object) -> object:
        from lastword.core.redact import Redactor  # noqa: PLC0415  (as above)

        return Redactor(self._secrets).json(error)

    def _take(self, oversized: bytes | None, lines: list[bytes]) -> None:
        if oversized is not None:
            self.link.oversized(oversized)
        for line in lines:
            self.link.from_client(line)

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self.link.client_left()
        # The SDK's own loop is where a failure to read belongs.
        self._inbox.put_nowait(error)

    def _to_client(self, frame: bytes) -> None:
        if self._in_loop():
            self._wire.write(frame)
        else:
            self._wire.write_for_blocked_loop(frame)

    def _to_handler(self, frame: Frame, call: Call | None) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._to_handler, frame, call)
            return
        if call is not None and call.method == protocol.PROMPT:
            self._watch.look()
        self._inbox.put_nowait((jsonrpc.loads(frame.line), call))

    def _in_loop(self) -> bool:
        """Is this the event loop's thread, rather than the one that stands in for it?"""
        return threading.get_ident() == self._thread

    def _cancel(self, calls: list[Call]) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._cancel, calls)
            return
        for call in calls:
            wait = 0.0 if call.waiting else self._own_cancel_seconds
            if call.method != protocol.PROMPT:
                wait = 0.0
            # From the event loop, since a handler may have caused it itself by what it sent.
            self._loop.call_later(wait, call.cancel)

    def _rearm(self) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._rearm)
            return
        due = self.link.next_timeout()
        if due is None:
            return
        when = self._loop.time() + max(0.0, due - time.monotonic())
        if self._timer is None or when < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(when, self._ring, due)

    def _ring(self, due: float) -> None:
        self._timer = None
        self.link.ring(due)
