"""Running one handler for one request, and its answer, however it ends.

Owns the one place where an author's handlers run, for every entry point: what they return and what
they raise. A failure is answered where it is raised, before any log or library sees it, and then
continues to the author's own log, through a filter that redacts its traceback: an exception of a
provider's package holds what the provider said, and some providers echo the key. The core decides
what it means.

Owns the watchdog, too, the one thread in an agent's process that is ours. While a turn is open, it
asks the loop for a sign of life; a handler that blocks the loop for long is named in the log, and
if a limit passes in the meantime, the thread does what is due in the loop's place. Its waits also
show that the whole process stood still, which a blocked loop cannot tell.
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
    from collections.abc import Awaitable, Callable, Iterator

    from lastword.inprocess.link import HandlerLink
    from lastword.inprocess.request import Request, RequestLink

    SentError: TypeAlias = Callable[[BaseException], dict[str, Any] | None]
    """The JSON-RPC error object that an exception stands for by its author's will."""


LOOK_SECONDS = 1.0
"""How often an open turn's loop is asked."""

BLOCKED_SECONDS = 5.0
"""The silence of a loop after which its author is warned: a person notices a tenth of it."""

POLL_SECONDS = 0.25
_FRAMES_SHOWN = 4


class LoopWatchdog:
    """Watches the event loop of the thread that makes it."""

    def __init__(
        self, link: HandlerLink, call_soon: Callable[[Callable[[], object]], object]
    ) -> None:
        """Watch a loop.

        Args:
            link: The link whose turns are at stake; it is called from the watching thread.
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
        """Whether the process stood still in the last wait."""

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
                self._wait(self._closed, self._beat_seconds())
            elif not self._closed.is_set() and not self._stood_still:
                self._stand_in(alive)

    def _beat_seconds(self) -> float:
        due = self._link.next_timeout()
        left = LOOK_SECONDS if due is None else due - time.monotonic()
        return min(LOOK_SECONDS, max(beat_seconds(left), LAST_BEAT_SECONDS))

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

    def _stand_in(self, alive: threading.Event) -> None:
        """Do what is due until the loop runs again."""
        since = time.monotonic() - BLOCKED_SECONDS
        logger.error(
            "The event loop has been blocked for %g seconds, here:\n%sNeither a cancel nor a limit "
            "can reach the handler: await slow work, or run it with asyncio.to_thread.",
            BLOCKED_SECONDS,
            self._where(),
        )
        while not self._wait(alive, POLL_SECONDS) and not self._closed.is_set():
            due = self._link.next_timeout()
            if due is not None and due <= time.monotonic():
                self._link.handle_timeout()
        blocked = time.monotonic() - since
        logger.warning("The event loop runs again after %.0f seconds.", blocked)

    def _where(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  (its documented name)
        stack = traceback.extract_stack(frame) if frame else []
        return "".join(traceback.format_list(stack[-_FRAMES_SHOWN:]))


_FAILED: ContextVar[tuple[BaseException, RequestLink] | None] = ContextVar("failed", default=None)
"""What the handler of this context raised, and the link that knows the secrets."""

# --- tracebacks

_FORMATTER = logging.Formatter()
_WHOLE_CHARS = 8192
"""The longest text that the redactor takes without a cut."""


class _WithoutSecrets(logging.Filter):
    """Redacts the traceback of what left a handler, and leaves every other record alone."""

    def filter(self, record: logging.LogRecord) -> bool:
        failed = _FAILED.get()
        if failed is None or not record.exc_info or record.exc_info[1] is not failed[0]:
            return True
        text = _FORMATTER.formatException(record.exc_info)
        # Redaction cuts a long text: a long traceback goes through it by the line.
        parts = [text] if len(text) <= _WHOLE_CHARS else text.split("\n")
        redacted = "\n".join(failed[1].redacted({"text": part})["text"] for part in parts)
        # Without a secret the author's own formatter has its way.
        if redacted != text:
            record.exc_text = redacted
        return True


_FILTER = _WithoutSecrets()


def readable(error: BaseException) -> BaseException:
    """Return the exception, or one of its name where it, a cause or a member cannot be looked at.

    A `__getattribute__` that raises does so wherever somebody asks for the exception's class.
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

    One whose methods raise `SystemExit`, or a cancellation, would end whatever prints it: the SDK,
    or the event loop.
    """
    try:
        for text_of in (str, repr):
            with contextlib.suppress(Exception):  # which logs are prepared for
                text_of(error)
        traceback.format_exception(error)
    except BaseException:  # noqa: BLE001 - foreign code
        return False
    return True


def redact(error: BaseException, link: RequestLink) -> None:
    """Have the log record of what a handler raised redacted, in the context of its request.

    The official SDK logs it on the root logger, `lastword.serve` on the logger `lastword`.
    """
    _FAILED.set((error, link))
    for name in (None, "lastword"):
        logging.getLogger(name).addFilter(_FILTER)


# --- handlers

PLAIN_ERROR: dict[str, Any] = {"code": acp.INTERNAL_ERROR, "message": "Internal error"}
"""What answers a failure when the core is out of order: without the exception's text."""


_PROCESS_STAYS: ContextVar[bool] = ContextVar("lastword_process_stays", default=False)


class HandlerFailedError(Exception):
    """Wraps what a handler raised that is not an `Exception`, which becomes the cause."""


async def run(request: Request, work: Callable[[], Awaitable[Any]], sent_error: SentError) -> Any:
    """Run a request's handler; if it fails, the failure has been answered when this raises.

    Args:
        request: The request.
        work: The handler with its arguments.
        sent_error: Returns the error object that an exception stands for, if its author meant one.

    Returns:
        What the handler returned, for `answer`; for a cancelled handler, what it should have
        returned.

    Raises:
        Exception: What the handler raised, for the author's log.
        HandlerFailedError: It raised something else, and the log has it for its author.
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
            # The process ends now, so whoever waits gets an answer first.
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
        # The author hears of a self-cancellation when the core names it.
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
    # Not where it was caught: what cannot be printed is not to be its context either.
    raise HandlerFailedError(f"{request.method} raised {name}") from cause


def _leave_process(method: str, ending: BaseException) -> NoReturn:
    """Raise what ends the process, or the agent alone in a test, whose process has others."""
    if isinstance(ending, SystemExit) and _PROCESS_STAYS.get():
        raise HandlerFailedError(f"{method} raised SystemExit") from ending
    raise ending from None


@contextlib.contextmanager
def process_stays() -> Iterator[None]:
    """Keep the `SystemExit` of handlers in here from ending the process, which is a test's."""
    token = _PROCESS_STAYS.set(True)
    try:
        yield
    finally:
        _PROCESS_STAYS.reset(token)


async def _result(request: Request, work: Callable[[], Awaitable[Any]]) -> Any:
    result = await request.run(work)
    if request.failure is not None:  # `turn.fail()`, and somebody caught it
        raise request.failure
    return result


async def run_notification(link: RequestLink, work: Callable[[], Awaitable[Any]]) -> None:
    """Run a notification's handler, whose failure only its author learns of.

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
    """Pass the answer that a handler returned to the core, as a JSON-RPC message."""
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
        Whether the exception could be asked for the error object that it stands for.
    """
    # Imported when a handler raises: no part of a healthy turn.
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
