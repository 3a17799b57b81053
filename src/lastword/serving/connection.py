"""One client and an author's handlers, with the core between them, until the client leaves.

Owns the order in which handlers are started, and the moment at which one is cancelled. What a
handler's end means is `serving.outcome`'s.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from lastword.core import acp, jsonrpc
from lastword.inprocess.calls import CURRENT, Call, process_ending
from lastword.inprocess.journal import Journal
from lastword.inprocess.link import LAST_ANSWERS_SECONDS, OWN_CANCEL_SECONDS, Link
from lastword.inprocess.stalls import LoopWatch
from lastword.serving import outcome
from lastword.serving.clock import Clock
from lastword.serving.peer import Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup, TaskStatus

    from lastword.core.connection import Options
    from lastword.core.jsonrpc import Frame
    from lastword.serving.bell import Bell
    from lastword.serving.pipes import Pipes

logger = logging.getLogger("lastword")


class Router(Protocol):
    """From a message to the handler that it is for."""

    def route(self, frame: Frame, client: Client) -> Callable[[], Awaitable[Any]] | dict[str, Any]:
        """What is to be run, or the JSON-RPC error object where nothing is."""
        ...

    def sent_error(self, error: BaseException) -> dict[str, Any] | None:
        """The JSON-RPC error object that an exception stands for by its author's will."""
        ...


class Connection:
    """What `serve` runs; see there."""

    def __init__(self, pipes: Pipes, bell: Bell, router: Router, options: Options) -> None:
        self._pipes = pipes
        self._bell = bell
        self._router = router
        self._secrets = options.secrets
        self._inbox: deque[tuple[Frame, Call | None] | list[Call]] = deque()
        self._delivering = anyio.Lock()
        self._reading = anyio.CancelScope()
        self._clock = Clock(bell)
        self._at_work = 0
        self._all_done = anyio.Event()
        self._own_cancel: anyio.Event | None = None
        self._exit: BaseException | None = None
        self._tasks: TaskGroup
        self._journal = Journal(options, door="serve")
        self._link = Link(
            options,
            to_client=pipes.write,
            to_handler=lambda frame, call: self._post((frame, call)),
            # By the inbox, since a handler may have caused it itself by what it sent.
            on_cancel=self._post,
            rearm=lambda: self._clock.rearm(self._link),
            note=self._journal.note,
        )
        self._watch = LoopWatch(self._link, bell.call_soon)
        self._client = Client(self._link.from_handler, pipes.drain)

    async def run(self) -> None:
        """Serve until the client leaves.

        Raises:
            SystemExit: A handler raised it; every open request has been answered.
            KeyboardInterrupt: The same.
        """
        try:
            async with anyio.create_task_group() as self._tasks:
                for work in (self._bell.listen, self._attend, self._pipes.write_on):
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
            await self._pipes.last_frames()
        if self._exit is not None:
            raise self._exit

    async def _read(self) -> None:
        async for oversized, lines in self._pipes.blocks():
            if oversized is not None:
                self._link.oversized(oversized)
            for line in lines:
                self._link.from_client(line)
                await self._deliver()

    async def _leave(self) -> None:
        """The client is gone: prompts are cancelled, and what else is at work gets a moment."""
        self._link.client_left()
        for call in self._link.open_calls:
            if call.method == acp.PROMPT:
                call.cancel_asked = True
                call.cancel()
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            while self._at_work:
                await self._all_done.wait()

    def _post(self, item: tuple[Frame, Call | None] | list[Call]) -> None:
        self._inbox.append(item)
        self._bell.ring()

    async def _attend(self) -> None:
        """See to what happened outside of the reader: a clock, a handler, a thread."""
        while True:
            await self._bell.wait()
            await self._deliver()
            self._clock.rearm(self._link)
            self._pipes.go_on()
            if self._pipes.broken:
                self._reading.cancel()

    async def _deliver(self) -> None:
        """Start the handlers of what came, one after the other."""
        async with self._delivering:
            while self._inbox:
                item = self._inbox.popleft()
                if isinstance(item, list):
                    self._cancel(item)
                else:
                    await self._start(*item)

    async def _start(self, frame: Frame, call: Call | None) -> None:
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
        if method == acp.CANCEL and call is None:
            self._own_cancel = None if isinstance(routed, dict) else done
        if not isinstance(routed, dict):
            await self._tasks.start(self._handle, call, routed, done)
        elif call is not None:
            self._link.from_handler(jsonrpc.error(call.request_id, routed), call)
        else:
            logger.debug("The notification %s is left alone: %s", method, routed["message"])

    async def _handle(
        self,
        call: Call | None,
        work: Callable[[], Awaitable[Any]],
        done: anyio.Event,
        *,
        task_status: TaskStatus[None],
    ) -> None:
        self._at_work += 1
        # The handler goes on to its first wait before the next message is looked at.
        task_status.started()
        CURRENT.set(call)
        try:
            if call is None:
                ending = await outcome.of_notification(work)
            else:
                ending = await outcome.of_request(self._link, call, work, self._sent_error)
            if ending is not None:
                self._exit = ending
                # The process ends now: whoever waits is told before.
                self._link.handler_left()
                self._tasks.cancel_scope.cancel()
        finally:
            done.set()
            self._at_work -= 1
            self._all_done.set()
            self._all_done = anyio.Event()

    def _sent_error(self, error: BaseException) -> dict[str, Any] | None:
        sent = self._router.sent_error(error)
        if sent is None:
            return None
        # Loaded when a handler raises: no part of a healthy turn.
        from lastword.core.redact import Redactor  # noqa: PLC0415

        redacted: dict[str, Any] = Redactor(self._secrets).json(sent)
        return redacted

    def _cancel(self, calls: list[Call]) -> None:
        own, self._own_cancel = self._own_cancel, None
        for call in calls:
            if own is None or call.waiting or call.method != acp.PROMPT:
                call.cancel()
            else:
                self._tasks.start_soon(_cancel_after, call, own)


async def _cancel_after(call: Call, own: anyio.Event) -> None:
    with anyio.move_on_after(OWN_CANCEL_SECONDS):
        await own.wait()
    call.cancel()
