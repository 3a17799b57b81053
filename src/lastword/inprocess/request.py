"""A request from the client while a handler works on it, and the cancellation of that handler.

Owns the context in which a handler runs: whatever it calls, and every task that it starts, finds
its own request here, so that two concurrent turns are never confused.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from lastword.core.link.facts import Facts, OpenTools, purpose_of
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from lastword.core.failure.retry_policy import FailedAttempt
    from lastword.core.link.agent_side import HandlerReport
    from lastword.core.protocol.jsonrpc import Envelope, Frame

_Result = TypeVar("_Result")

CANCELLED: dict[str, Any] = {"stopReason": acp.CANCELLED}
"""The result of a prompt whose handler was cancelled."""


MAX_REMEMBERED = 16
"""The number of failures that are kept: the latest, among which is the handler's own."""


class CallAttempt:
    """The facts since a model call began, which decide whether it may be sent again.

    A concurrent call counts the output of its own tasks, and output from elsewhere in the turn, but
    not that of the other calls.
    """

    __slots__ = ("_around", "_tools", "facts", "request")

    def __init__(self, request: Request | None) -> None:
        self.facts: Facts = Facts()
        self.request: Request | None = request
        """The request of its turn; `None` if the turn is unknown."""
        self._tools = OpenTools()
        self._around: tuple[CallAttempt, ...] = ()

    def enter(self) -> None:
        """Begin the call in this context."""
        if self.request is not None:
            self.request.attempts.append(self)
        self._around = _ENTERED.get()
        _ENTERED.set((*self._around, self))

    def leave(self) -> None:
        """End the call."""
        if self.request is not None:
            self.request.attempts.remove(self)
        _ENTERED.set(self._around)

    @property
    def concerned(self) -> bool:
        """Return whether the call causes what happens in this context, as far as is known."""
        if self.request is None:
            return self in _ENTERED.get()
        here = [attempt for attempt in _ENTERED.get() if attempt in self.request.attempts]
        return self in here or not here

    def note(self, message: Envelope) -> None:
        """Receive an update, a request or another notification that went to the client."""
        update = message.update
        if not self.concerned:
            return
        if update is None:
            self.facts.note_message(purpose_of(message))
        else:
            kind = self._tools.note(update) if update.session_update in acp.TOOL_KINDS else ""
            self.facts.note(update, kind)


_ENTERED: ContextVar[tuple[CallAttempt, ...]] = ContextVar("lastword_attempts", default=())
"""The attempts within which this code runs, the innermost last."""


def note_outside_of_turns(message: Envelope) -> None:
    """Receive a message to the client, for model calls in this context whose turn is unknown."""
    for attempt in _ENTERED.get():
        if attempt.request is None:
            attempt.note(message)


class RequestLink(Protocol):
    """The link that delivered a request, as its handler needs it."""

    @property
    def closing(self) -> bool:
        """Whether the connection is ending, so that no handler answers any more."""
        ...

    @property
    def door(self) -> asyncio.Task[Any] | None:
        """The task that delivers the client's messages; `None` on trio and before the first."""
        ...

    def from_handler(self, line: bytes, request: Request | None) -> None:
        """Receive one frame from the handler."""
        ...

    def say(self, request: Request, report: HandlerReport) -> None:
        """Receive a handler's report about its turn."""
        ...

    def failed(self, request: Request, report: HandlerReport) -> bool:
        """Note that a handler raised; return `False` if the core cannot answer its request."""
        ...

    def read_ready(self, request: Request) -> None:
        """Receive what the client has sent by now, before the end of a prompt's handler."""
        ...

    def handler_left(self) -> None:
        """Note that no handler will answer any more."""
        ...

    def refused_by_client(self, error: object) -> bool:
        """Return whether this error object is the client's answer to a handler's request."""
        ...

    def redacted(self, value: dict[str, Any]) -> dict[str, Any]:
        """Remove the secrets from what goes to the client without passing through the core."""
        ...


class Request:
    """One request, from its delivery to its answer."""

    __slots__ = (
        "_cancel",
        "attempts",
        "cancel_requested",
        "cancel_sent",
        "failed",
        "failure",
        "frame",
        "link",
        "method",
        "over",
        "request_id",
        "session_id",
        "settled",
        "started",
        "tools",
        "tried",
        "waits",
        "warned",
    )

    def __init__(self, link: RequestLink, frame: Frame) -> None:
        message = frame.message
        self.link: RequestLink = link
        self.frame: Frame = frame
        self.request_id: bytes = message.request_id or jsonrpc.NULL_ID
        self.method: str = message.method or ""
        self.session_id: str | None = message.session_id
        self.started: bool = False
        """Whether the handler has been entered."""
        self.over: bool = False
        """Whether the client has its answer."""
        self.failed: bool = False
        """Whether that was a failure or lastword's own."""
        self.failure: BaseException | None = None
        """The exception that the handler raised."""
        self.settled: bool = False
        """Whether the failure has been answered; any other answer is dropped."""
        self.attempts: list[CallAttempt] = []
        """Open model calls, which may be tried again."""
        self.tried: list[tuple[BaseException, tuple[FailedAttempt, ...]]] = []
        """The final failures of model calls, with their attempts."""
        self.tools: dict[str, int] = {}
        """The number of open tools that the handler reported, by name."""
        self.waits: int = 0
        """The number of model calls that wait before they are tried again."""
        self.warned: bool = False
        self.cancel_requested: bool = False
        self.cancel_sent: bool = False
        self._cancel: Callable[[], object] | None = None

    @property
    def waiting(self) -> bool:
        """Whether the handler only waits before it tries again."""
        return self.waits > 0 and not self.attempts

    @property
    def left_behind(self) -> bool:
        """Whether turn and handler are over: code that still runs here works for another turn."""
        return self.over and self._cancel is None

    def raised(self, error: BaseException) -> None:
        """Note what the handler raised; an earlier `turn.fail()` takes precedence."""
        self.failure = self.failure or error

    def overrule(self, failure: BaseException) -> None:
        """Set the failure of the handler, whatever it raises."""
        self.failure = failure

    def settle(self) -> None:
        """Note that its failure has been answered."""
        self.settled = True

    def end(self, *, failed: bool) -> None:
        """Note that the client has its answer."""
        self.over, self.failed = True, failed

    def warn_once(self) -> bool:
        """Return whether to warn the author about a late message: `True` once."""
        first, self.warned = not self.warned, True
        return first

    @contextlib.contextmanager
    def wait(self) -> Iterator[None]:
        """Count a wait before a model call is tried again."""
        self.waits += 1
        try:
            yield
        finally:
            self.waits -= 1

    def remember(self, error: BaseException, tried: tuple[FailedAttempt, ...]) -> None:
        """Keep the failures of a model call so far, in case it fails the turn."""
        self.tried = [*self.tried[1 - MAX_REMEMBERED :], (error, tried)]

    def request_cancel(self) -> None:
        """Note that the handler should stop; `cancel` follows if it does not."""
        self.cancel_requested = True

    def cancel(self) -> None:
        """Cancel the handler if it is still running. Never call this from within it."""
        if self._cancel is not None and not self.cancel_sent:
            self.cancel_sent = True
            self._cancel()

    async def run(self, work: Callable[[], Awaitable[_Result]]) -> _Result | dict[str, Any]:
        """Run the handler; return its result, or `CANCELLED` if the client cancelled it.

        On asyncio it is cancelled once, like a task, so that it can await while cleaning up; on
        trio by a cancel scope, as usual there. The author's own cancellation, by a timer or by the
        task's `cancel()`, ends only the handler.

        Raises:
            BaseException: What the handler raised. A cancellation is the author's, unless
                `is_the_doors` says that it is the connection's.
        """
        self.started = True
        if self.cancel_requested:
            return CANCELLED
        task = asyncio_task()
        if task is None:
            try:
                with anyio.CancelScope() as scope:
                    self._cancel = scope.cancel
                    return await work()
            finally:
                self._cancel = None
            return CANCELLED
        self._cancel = task.cancel
        try:
            return await contained(work, self.link, task)
        except asyncio.CancelledError as error:
            if self.cancel_requested and not is_the_doors(error, self.link):
                return CANCELLED
            raise
        finally:
            self._cancel = None


async def contained(
    work: Callable[[], Awaitable[_Result]], link: RequestLink, task: asyncio.Task[Any] | None
) -> _Result:
    """Run a handler, and then undo the author's cancellations of its task.

    That includes a cancellation that was not delivered because the handler finished before its next
    wait: it would end whatever runs the handler.
    """
    if task is None:
        return await work()
    before = task.cancelling()
    try:
        return await work()
    finally:
        if task.cancelling() > before and not _door_closes(link):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            while task.cancelling() > before:
                task.uncancel()


def is_the_doors(error: BaseException, link: RequestLink) -> bool:
    """Return whether this cancellation comes from a connection that is ending.

    Any other cancellation is the author's: it ends one handler, and must not end what runs it.
    """
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    # On trio, only a scope around the handler can raise it.
    return not isinstance(error, asyncio.CancelledError) or _door_closes(link)


def _door_closes(link: RequestLink) -> bool:
    if link.closing or anyio.current_effective_deadline() == -math.inf:
        return True
    # If a task raises `SystemExit`, the event loop ends, and all of its tasks are cancelled in any
    # order: perhaps the handler before the connection's own task.
    return link.door is not None and link.door.cancelling() > 0


def asyncio_task() -> asyncio.Task[Any] | None:
    """Return the task that runs this, or `None` on trio."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


CURRENT: ContextVar[Request | None] = ContextVar("lastword_request", default=None)


def process_ending(error: BaseException) -> BaseException | None:
    """Return the exception with which a handler wants to end the process, alone or in a group."""
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (SystemExit, KeyboardInterrupt)):
            return each
        if isinstance(each, BaseExceptionGroup):
            waiting += reversed(each.exceptions)
    return None
