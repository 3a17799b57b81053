"""A replacement for the SDK's transport that passes messages through the core.

Owns the order of what goes to the handlers and to the client, the core's clock on the SDK's event
loop, and the moment at which a handler is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp as protocol
from lastword.core.protocol import jsonrpc
from lastword.inprocess import handling, stdio
from lastword.inprocess.journal import Journal
from lastword.inprocess.link import LAST_ANSWERS_SECONDS, HandlerLink
from lastword.inprocess.loop_watchdog import LoopWatchdog
from lastword.inprocess.request import CURRENT, Request
from lastword.inprocess.transports import ByteTransport, FrameTransport, MessageTransport

if TYPE_CHECKING:
    from lastword.core.link.options import LinkOptions
    from lastword.core.protocol.jsonrpc import Frame


class GuardedTransport:
    """The SDK's transport, with the core between it and the client."""

    def __init__(self, inner: Any, options: LinkOptions, *, own_cancel_seconds: float) -> None:
        self._wire: FrameTransport = (
            inner if isinstance(inner, ByteTransport) else MessageTransport(inner)
        )
        self._stdout = contextlib.ExitStack()
        if _is_on_stdout(inner):
            # The author's own streams are left alone; printed output is kept out of them.
            self._stdout.enter_context(stdio.claimed())
            self._stdout.enter_context(stdio.printing_to_stderr())
        self._own_cancel_seconds = own_cancel_seconds
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._timer: asyncio.TimerHandle | None = None
        self._inbox: asyncio.Queue[tuple[dict[str, Any], Request | None] | BaseException | None]
        self._inbox = asyncio.Queue()
        self._started = False
        self._journal = Journal(options, door="guard")
        self.link: HandlerLink = HandlerLink(
            options,
            to_client=self._to_client,
            to_handler=self._to_handler,
            on_cancel=self._cancel,
            rearm=self._rearm,
            read_ready=self._wire.read_ready,
            note=self._journal.note,
        )
        self._watch = LoopWatchdog(self.link, self._loop.call_soon_threadsafe)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message for the agent; its request becomes its handler's context."""
        if not self._started:
            self._started = True
            self.link.door = asyncio.current_task()
            self._wire.start(self._receive_lines, self._end)
        item = await self._inbox.get()
        if item is None:
            return None
        if isinstance(item, BaseException):
            raise item
        message, request = item
        # The SDK starts the handler's task from here, so the task finds this in its context.
        CURRENT.set(request)
        return message

    async def send(self, message: dict[str, Any]) -> None:
        """Take in a message from the agent: the core decides what of it goes to the client."""
        request = CURRENT.get()
        if "method" not in message:
            self._answer(message, request)
            await self._drain_answer()
            return
        self.link.from_handler(jsonrpc.dumps(message), request)
        await self._wire.drain()
        # As under the SDK, whose writer is a separate task, let the loop run once. A handler that
        # reads a provider's blocking stream gives it no other chance: without this, neither its own
        # cancel nor any other session would be heard until it finishes.
        await asyncio.sleep(0)

    def _answer(self, message: dict[str, Any], request: Request | None) -> None:
        if request is None:
            self.link.from_handler(jsonrpc.dumps(message), None)
        elif not request.settled:
            handling.answer(request, message)
        # The SDK's answer to an exception is not sent: it was answered when it was raised.

    async def close(self) -> None:
        """Close the link; every open request gets an answer."""
        if self.link.client_gone:
            until = time.monotonic() + LAST_ANSWERS_SECONDS
            while time.monotonic() < until and any(  # noqa: ASYNC110  (a poll of 250 ms at most)
                request.method != protocol.PROMPT for request in self.link.open_requests
            ):
                await asyncio.sleep(0.005)
        self.link.handler_left()
        self._journal.close()
        self._watch.close()
        if self._timer is not None:
            self._timer.cancel()
        self._stdout.close()
        await self._wire.aclose()

    async def _drain_answer(self) -> None:
        # The client's departure ends the handlers that still send, but none of those that answer
        # it: the SDK passes such a failure on to whoever closes the connection, as the process's.
        with contextlib.suppress(OSError):
            await self._wire.drain()

    def _receive_lines(self, oversized: bytes | None, lines: list[bytes]) -> None:
        if oversized is not None:
            self.link.oversized(oversized)
        for line in lines:
            self.link.from_client(line)

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self.link.client_left()
        # A failure to read belongs in the SDK's own loop.
        self._inbox.put_nowait(error)

    def _to_client(self, frame: bytes) -> None:
        if self._in_loop():
            self._wire.write(frame)
        else:
            self._wire.write_for_blocked_loop(frame)

    def _to_handler(self, frame: Frame, request: Request | None) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._to_handler, frame, request)
            return
        if request is not None and request.method == protocol.PROMPT:
            self._watch.look()
        self._inbox.put_nowait((jsonrpc.loads(frame.line), request))

    def _in_loop(self) -> bool:
        """Return whether this is the event loop's thread, rather than the watchdog's."""
        return threading.get_ident() == self._thread

    def _cancel(self, requests: list[Request]) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._cancel, requests)
            return
        for request in requests:
            wait = 0.0 if request.waiting else self._own_cancel_seconds
            if request.method != protocol.PROMPT:
                wait = 0.0
            # From the event loop, since a handler may have caused it itself by what it sent.
            self._loop.call_later(wait, request.cancel)

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


def _is_on_stdout(transport: Any) -> bool:
    """Return whether this transport, ours or the SDK's, writes to the process's stdout."""
    # The SDK has no public way to tell, and a later one may have none at all; a test checks this.
    sender = getattr(transport, "_sender", transport)
    return stdio.is_stdout(getattr(sender, "_writer", None))
