"""Running one handler for one request, and answering the request, however the handler ends.

Owns the one place where an author's handlers run, for every entry point: what they return and what
they raise. A failure is answered where it is raised, before any log or library sees it. It then
continues to the author's own log, through a filter that redacts its traceback: an exception of a
provider's package contains the provider's answer, and some providers echo the key. The core decides
what the failure means.

Owns the watchdog, too, our only thread in an agent's process. While a turn is open, it checks that
the loop runs. If a handler blocks the loop for long, the log shows where, and the thread handles
timers in the loop's place. Its waits also show that the whole process stood still, which a blocked
loop cannot detect.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from lastword.core.protocol import acp, jsonrpc
from lastword.inprocess import settings, stdio
from lastword.inprocess.request import asyncio_task, contained, is_the_doors, process_ending
from lastword.inprocess.settings import logger
from lastword.platform.standstill import LAST_BEAT_SECONDS, Standstill, beat_seconds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.inprocess.link import HandlerLink
    from lastword.inprocess.request import Request, RequestLink

    SentError: TypeAlias = Callable[[BaseException], dict[str, Any] | None]
    """Returns the JSON-RPC error object that an author meant by an exception, if any."""


LOOK_SECONDS = 1.0
"""How often the loop of an open turn is checked."""

BLOCKED_SECONDS = 5.0
"""How long a loop is blocked before its author is warned: a person notices a tenth of it."""

POLL_SECONDS = 0.25
_FRAMES_SHOWN = 4


class LoopWatchdog:
    """Watches the event loop of the thread that makes it."""

    def __init__(
        self, link: HandlerLink, call_soon: Callable[[Callable[[], object]], object]
    ) -> None:
        """Watch a loop.

        Args:
            link: The link of the turns; the watchdog's thread calls it.
            call_soon: Schedules a call in the loop, from any thread; raises RuntimeError once the
                loop is closed.
        """
        self._link = link
        self._call_soon = call_soon
        self._loop_thread = threading.get_ident()
        self._turn_begun = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._standstill = Standstill()
        self._stood_still = False
        """Whether the process stood still during the last wait."""

    def look(self) -> None:
        """Note that a turn begins."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lastword.watch", daemon=True)
            self._thread.start()
        self._turn_begun.set()

    def close(self) -> None:
        self._closed.set()
        self._turn_begun.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._turn_begun.wait()
            if not self._link.in_turn:
                self._turn_begun.clear()
                # A turn that began in between has set it before it was cleared.
                if not self._link.in_turn:
                    continue
            alive = threading.Event()
            try:
                self._call_soon(alive.set)
            except RuntimeError:
                return
            if self._wait(alive, BLOCKED_SECONDS):
                due = self._link.next_timeout()
                left = LOOK_SECONDS if due is None else due - time.monotonic()
                beat = min(LOOK_SECONDS, max(beat_seconds(left), LAST_BEAT_SECONDS))
                self._wait(self._closed, beat)
                continue
            if self._closed.is_set() or self._stood_still:
                continue
            # The loop is blocked: handle timers in its place until it runs again.
            since = time.monotonic() - BLOCKED_SECONDS
            frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  (documented)
            stack = traceback.extract_stack(frame) if frame else []
            del frame  # this one stays, and would keep what the handler holds
            logger.error(
                "The event loop has been blocked for %g seconds, here:\n%sThe client gets its "
                "answer after a cancel or at a limit, but the handler cannot be stopped: await "
                "slow work, or run it with asyncio.to_thread.",
                BLOCKED_SECONDS,
                "".join(traceback.format_list(stack[-_FRAMES_SHOWN:])),
            )
            while not self._wait(alive, POLL_SECONDS) and not self._closed.is_set():
                due = self._link.next_timeout()
                if due is not None and due <= time.monotonic():
                    self._link.handle_timeout()
            blocked = time.monotonic() - since
            logger.warning("The event loop runs again after %.0f seconds.", blocked)

    def _wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event; if the process stood still meanwhile, so did the link's clocks."""
        began = time.monotonic()
        self._standstill.begin(began)
        happened = event.wait(seconds)
        stood = self._standstill.seconds(time.monotonic() - began - seconds)
        self._stood_still = stood > 0
        if stood > 0:
            self._link.stand_still(stood)
        return happened


_FAILED: ContextVar[tuple[BaseException, RequestLink] | None] = ContextVar("failed", default=None)
"""The exception that this context's handler raised, and the link that knows the secrets."""

# --- tracebacks

_FORMATTER = logging.Formatter()
_WHOLE_CHARS = 8192
"""The longest text that the redactor does not cut."""


class _WithoutSecrets(logging.Filter):
    """Redacts the traceback of a handler's exception, and passes every other record unchanged.

    Drops it if its author meant it: `turn.fail()` is not an accident.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        failed = _FAILED.get()
        if failed is None or not record.exc_info or record.exc_info[1] is not failed[0]:
            return True
        # A handler has raised, so it is loaded.
        from lastword.inprocess.exceptions import AuthorError  # noqa: PLC0415

        if isinstance(failed[0], AuthorError):
            return False
        text = _FORMATTER.formatException(record.exc_info)
        # Redaction cuts a long text, so a long traceback is redacted line by line.
        parts = [text] if len(text) <= _WHOLE_CHARS else text.split("\n")
        redacted = "\n".join(failed[1].redacted({"text": part})["text"] for part in parts)
        # Without a secret, the author's own formatter applies.
        if redacted != text:
            record.exc_text = redacted
        return True


_FILTER = _WithoutSecrets()


def readable(error: BaseException) -> BaseException:
    """Return the exception, or another with its name if it, a cause or a member cannot be read.

    A `__getattribute__` that raises does so even when the exception's class is requested.
    """
    waiting, looked_at = [error], set[int]()
    try:
        while waiting:
            each = waiting.pop()
            if id(each) in looked_at:
                continue
            looked_at.add(id(each))
            if isinstance(each, BaseExceptionGroup):
                waiting += each.exceptions
            linked = (each.__cause__, each.__context__)
            waiting += [other for other in linked if other is not None]
    except BaseException:  # noqa: BLE001 - foreign code
        return RuntimeError(type(error).__name__)
    return error


def is_printable(error: BaseException) -> bool:
    """Return whether a log can print the exception, with its notes, causes and members.

    If its methods raise `SystemExit` or a cancellation, printing it would end the SDK or the event
    loop.
    """
    try:
        for text_of in (str, repr):
            with contextlib.suppress(Exception):  # logs expect that
                text_of(error)
        traceback.format_exception(error)
    except BaseException:  # noqa: BLE001 - foreign code
        return False
    return True


def redact(error: BaseException, link: RequestLink) -> None:
    """Have the log record of a handler's exception redacted, in the context of its request.

    The official SDK logs it on the root logger, `lastword.serve` on the logger `lastword`.
    """
    _FAILED.set((error, link))
    for name in (None, "lastword"):
        logging.getLogger(name).addFilter(_FILTER)


# --- handlers

PLAIN_ERROR: dict[str, Any] = {"code": acp.INTERNAL_ERROR, "message": "Internal error"}
"""The answer to a failure if the core has failed: without the exception's text."""


class HandlerFailedError(Exception):
    """Wraps a handler's exception that is not an `Exception`, which becomes the cause."""


async def run(request: Request, work: Callable[[], Awaitable[Any]], sent_error: SentError) -> Any:
    """Run a request's handler; a failure has been answered when this raises.

    Args:
        request: The request.
        work: The handler with its arguments.
        sent_error: Returns the error object that an author meant by an exception, if any.

    Returns:
        The handler's result, for `answer`; for a cancelled handler, what it should have returned.

    Raises:
        Exception: The handler's exception, for the author's log.
        HandlerFailedError: It raised something else, which has been logged.
        SystemExit: It ends the process; every open request has an answer.
        KeyboardInterrupt: The same.
        BaseException: The cancellation that ends the connection itself.
    """
    pid = os.getpid()
    try:
        result = await _result(request, work)
    except BaseException as raised:
        error = readable(raised)
        if os.getpid() != pid:
            stdio.end(error)
        if is_the_doors(error, request.link):
            raise
        request.link.read_ready(request)
        request.raised(error)
        ending = process_ending(error)
        if ending is not None:
            # The process ends now: open requests are answered first.
            request.link.handler_left()
            request.settle()
            if isinstance(ending, SystemExit):
                settings.raised(request.method, error)
            _leave_process(request.method, ending)
        printable = _failed(request, error, sent_error) and is_printable(error)
        printable = printable and error is raised
        if isinstance(error, Exception) and printable:
            redact(error, request.link)
            raise
        # A self-cancellation is reported to the author by the core.
        if not printable:
            settings.unprintable(request.method, raised)
        elif not isinstance(error, asyncio.CancelledError):
            settings.raised(request.method, error)
        name, cause = type(raised).__name__, error if printable else None
    else:
        if os.getpid() != pid:
            stdio.end()
        request.link.read_ready(request)
        return result
    # Raised outside the `except`: an exception that cannot be printed must not be its context.
    raise HandlerFailedError(f"{request.method} raised {name}") from cause


def _leave_process(method: str, ending: BaseException) -> NoReturn:
    """Raise what ends the process or, in a test that must continue, only the agent."""
    if isinstance(ending, SystemExit) and settings.IN_TEST.get():
        raise HandlerFailedError(f"{method} raised SystemExit") from ending
    raise ending from None


async def _result(request: Request, work: Callable[[], Awaitable[Any]]) -> Any:
    result = await request.run(work)
    if request.failure is not None:  # `turn.fail()` was called, and its exception caught
        raise request.failure
    return result


async def run_notification(link: RequestLink, work: Callable[[], Awaitable[Any]]) -> None:
    """Run a notification's handler, whose failure is only logged.

    Raises:
        BaseException: As `run`, except for a failure, which is logged.
    """
    pid = os.getpid()
    try:
        await contained(work, link, asyncio_task())
    except BaseException as raised:
        error = readable(raised)
        if os.getpid() != pid:
            stdio.end(error)
        if is_the_doors(error, link):
            raise
        if error is raised and is_printable(error):
            logger.exception("The handler of a notification failed.")
        else:
            settings.unprintable("a notification", raised)
        ending = process_ending(error)
        if ending is not None:
            link.handler_left()
            _leave_process("a notification", ending)
    if os.getpid() != pid:
        stdio.end()


def answer(request: Request, message: object) -> None:
    """Pass a handler's answer, a JSON-RPC message, to the core."""
    try:
        line = jsonrpc.dumps(message)
    except (TypeError, ValueError, RecursionError) as error:
        settings.unusable(request.method, error)
        _failed(request, error, None)
    else:
        request.link.from_handler(line, request)


def _failed(request: Request, error: BaseException, sent_error: SentError | None) -> bool:
    """Have a failure answered, by the core or in its place.

    Returns:
        Whether `sent_error` could read the exception.
    """
    # Imported when a handler raises: a healthy turn does not need it.
    from lastword.inprocess.exceptions import report_for  # noqa: PLC0415

    request.settle()
    link = request.link
    sent, readable = None, True
    try:
        sent = sent_error(error) if sent_error is not None else None
    except BaseException:  # noqa: BLE001 - foreign code, which may raise anything
        readable = False
    if sent is not None and request.method != acp.PROMPT:
        try:
            line = jsonrpc.error(request.request_id, link.redacted(sent))
        except (TypeError, ValueError, RecursionError) as unusable:
            settings.unusable(request.method, unusable)
        else:  # keep the author's own answer to a request other than a prompt
            link.from_handler(line, request)
            return readable
    if not link.failed(request, report_for(request, error, sent)) and not request.over:
        line = jsonrpc.error(request.request_id, link.redacted(sent) if sent else PLAIN_ERROR)
        link.from_handler(line, request)
    return readable
