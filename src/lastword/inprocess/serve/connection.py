"""One client and an author's handlers, with the core between them, until the client leaves.

Owns the order in which handlers are started, the moment at which one is cancelled, and the task
that calls the core when something is due. `inprocess.handling` decides what a handler's end means.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.errors import TurnFailedError
from lastword.inprocess import handling
from lastword.inprocess.journal import Journal
from lastword.inprocess.link import LAST_ANSWERS_SECONDS, OWN_CANCEL_SECONDS, HandlerLink
from lastword.inprocess.loop_watchdog import LoopWatchdog
from lastword.inprocess.request import CURRENT, Request, asyncio_task, process_ending
from lastword.inprocess.serve.client import Client
from lastword.inprocess.settings import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType

    from anyio.abc import TaskGroup, TaskStatus

    from lastword.core.link.options import LinkOptions
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.inprocess.serve.transport import Waker
    from lastword.inprocess.transports import Block


class Clock:
    """Rings when the link says that it is due."""

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._earlier = anyio.Event()
        self._rings_at: float | None = None

    async def keep(self, link: HandlerLink) -> None:
        """Sleep and ring; runs until it is cancelled."""
        while True:
            due = self._rings_at = link.next_timeout()
            self._earlier = anyio.Event()
            with anyio.move_on_after(None if due is None else max(0.0, due - time.monotonic())):
                await self._earlier.wait()
                continue
            if due is not None:
                link.ring(due)

    def rearm(self, link: HandlerLink) -> None:
        """Note that the link may be due earlier now; from any thread."""
        if not self._waker.is_here:
            # Whoever hears it asks again.
            self._waker.ring()
            return
        due = link.next_timeout()
        if due is not None and (self._rings_at is None or due < self._rings_at):
            self._earlier.set()


class Router(Protocol):
    """Finds the handler for a message."""

    def route(self, frame: Frame, client: Client) -> Callable[[], Awaitable[Any]] | dict[str, Any]:
        """Return what to run, or a JSON-RPC error object if there is nothing to run."""
        ...

    def sent_error(self, error: BaseException) -> dict[str, Any] | None:
        """Return the JSON-RPC error object that an author meant by an exception, if any."""
        ...


class ServedTransport(Protocol):
    """Lines in, frames out; see `DescriptorTransport` for each method."""

    @property
    def broken(self) -> bool: ...
    def blocks(self) -> AsyncIterator[Block]: ...
    def read_ready(self) -> Block: ...
    def write(self, frame: bytes) -> None: ...
    def go_on(self) -> None: ...
    async def drain(self) -> None: ...
    async def write_on(self) -> None: ...
    async def last_frames(self) -> None: ...


class ServedConnection:
    """What `serve` runs."""

    def __init__(
        self, transport: ServedTransport, waker: Waker, router: Router, options: LinkOptions
    ) -> None:
        self._transport = transport
        self._waker = waker
        self._router = router
        self._inbox: deque[tuple[Frame, Request | None] | list[Request]] = deque()
        self._lines: deque[bytes] = deque()
        """What has been read, and not been taken in."""
        self._delivering = anyio.Lock()
        self._reading = anyio.CancelScope()
        self._clock = Clock(waker)
        self._at_work = 0
        self._all_done = anyio.Event()
        self._own_cancel: anyio.Event | None = None
        self._exit: BaseException | None = None
        self._tasks: TaskGroup
        self._journal = Journal(options, door="serve")
        self._link = HandlerLink(
            options,
            to_client=transport.write,
            to_handler=lambda frame, request: self._post((frame, request)),
            # Through the inbox, since a handler may have caused it itself by what it sent.
            on_cancel=self._post,
            rearm=lambda: self._clock.rearm(self._link),
            read_ready=self._read_ready,
            note=self._journal.note,
        )
        self._watch = LoopWatchdog(self._link, waker.call_soon)
        self._client = Client(self._link.from_handler, transport.drain)

    async def run(self) -> None:
        """Serve until the client leaves.

        Raises:
            SystemExit: A handler raised it; every open request has been answered.
            KeyboardInterrupt: The same.
        """
        self._link.door = asyncio_task()
        try:
            async with anyio.create_task_group() as self._tasks:
                for work in (self._waker.listen, self._attend, self._transport.write_on):
                    self._tasks.start_soon(work)
                self._tasks.start_soon(self._clock.keep, self._link)
                with self._reading:
                    await self._read()
                await self._leave()
                self._tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            self._exit = self._exit or process_ending(group)
            if self._exit is None:
                raise
        finally:
            self._watch.close()
            self._link.handler_left()
            self._journal.close()
            await self._transport.last_frames()
        if self._exit is not None:
            raise self._exit

    async def _read(self) -> None:
        async for oversized, lines in self._transport.blocks():
            if oversized is not None:
                self._link.oversized(oversized)
            self._lines.extend(lines)
            while self._lines:
                self._link.from_client(self._lines.popleft())
                await self._deliver()

    def _read_ready(self) -> None:
        """Receive all that has arrived by now; its handlers start when the loop runs again."""
        while self._lines:
            self._link.from_client(self._lines.popleft())
        oversized, lines = self._transport.read_ready()
        if oversized is not None:
            self._link.oversized(oversized)
        for line in lines:
            self._link.from_client(line)

    async def _leave(self) -> None:
        """Cancel prompts after the client left, and give other handlers a moment."""
        self._link.client_left()
        for request in self._link.open_requests:
            if request.method == acp.PROMPT:
                request.request_cancel()
                request.cancel()
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            while self._at_work:
                await self._all_done.wait()

    def _post(self, item: tuple[Frame, Request | None] | list[Request]) -> None:
        self._inbox.append(item)
        self._waker.ring()

    async def _attend(self) -> None:
        """Handle events from outside the reader: a clock, a handler, a thread."""
        while True:
            await self._waker.wait()
            await self._deliver()
            self._clock.rearm(self._link)
            self._transport.go_on()
            if self._transport.broken:
                self._reading.cancel()

    async def _deliver(self) -> None:
        """Start the handlers of incoming messages, one after the other."""
        async with self._delivering:
            while self._inbox:
                item = self._inbox.popleft()
                if isinstance(item, list):
                    self._cancel(item)
                else:
                    await self._start(*item)

    async def _start(self, frame: Frame, request: Request | None) -> None:
        method = frame.message.method
        if method is None:
            self._client.answered(frame)
            return
        if method == acp.PROMPT:
            self._watch.look()
        if method == acp.INITIALIZE:
            self._client.introduced(frame)
        routed = self._router.route(frame, self._client)
        done = anyio.Event()
        if method == acp.CANCEL and request is None:
            self._own_cancel = None if isinstance(routed, dict) else done
        if not isinstance(routed, dict):
            await self._tasks.start(self._handle, request, routed, done)
        elif request is not None:
            self._link.from_handler(jsonrpc.error(request.request_id, routed), request)
        else:
            logger.debug("The notification %s is ignored: %s", method, routed["message"])

    async def _handle(
        self,
        request: Request | None,
        work: Callable[[], Awaitable[Any]],
        done: anyio.Event,
        *,
        task_status: TaskStatus[None],
    ) -> None:
        self._at_work += 1
        try:
            async with anyio.create_task_group() as own:
                own.start_soon(self._run_handler, request, work, task_status)
        except Exception:  # noqa: BLE001 - it is logged
            # The handler's task ended with a scope or a group still open, as happens when a
            # generator holds one. The event loop may complain of that, in this task alone.
            logger.exception("A handler left a cancel scope or a task group open.")
        finally:
            done.set()
            self._at_work -= 1
            self._all_done.set()
            self._all_done = anyio.Event()

    async def _run_handler(
        self,
        request: Request | None,
        work: Callable[[], Awaitable[Any]],
        task_status: TaskStatus[None],
    ) -> None:
        # The handler runs to its first wait before the next message is looked at.
        task_status.started()
        CURRENT.set(request)
        try:
            if request is None:
                await handling.run_notification(self._link, work)
            else:
                result = await handling.run(request, work, self._router.sent_error)
                handling.answer(request, _response(request, result))
        except (SystemExit, KeyboardInterrupt) as ending:
            self._exit = ending
            self._tasks.cancel_scope.cancel()
        except handling.HandlerFailedError:
            pass  # it has been logged
        except Exception as error:  # noqa: BLE001 - whatever the author's code raises
            if request is not None:
                self._log(request, error)

    def _log(self, request: Request, error: Exception) -> None:
        """Log the exception itself for the author; the client has got what it means."""
        if isinstance(error, TurnFailedError) or self._router.sent_error(error) is not None:
            return  # in the author's own words already
        logger.error(
            "The handler of %s raised %s.",
            request.method,
            type(error).__name__,
            exc_info=(type(error), error, _own_frames(error)),
        )

    def _cancel(self, requests: list[Request]) -> None:
        own, self._own_cancel = self._own_cancel, None
        for request in requests:
            if own is None or request.waiting or request.method != acp.PROMPT:
                request.cancel()
            else:
                self._tasks.start_soon(_cancel_after, request, own)


def _response(request: Request, result: object) -> dict[str, Any]:
    """Return what a handler returned, as the answer to its request."""
    if result is None and request.method != acp.PROMPT:
        result = {}
    return {"jsonrpc": "2.0", "id": Raw(request.request_id), "result": result}


def _own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback starting at the author's own code."""
    frames = error.__traceback__
    while frames and str(frames.tb_frame.f_globals.get("__name__")).startswith("lastword."):
        frames = frames.tb_next
    return frames or error.__traceback__


async def _cancel_after(request: Request, own: anyio.Event) -> None:
    with anyio.move_on_after(OWN_CANCEL_SECONDS):
        await own.wait()
    request.cancel()
