"""A turn as its handler sees it, and running the handler.

The turn that a handler is working on, from its author's point of view. Owns what only the handler
knows and can say: tools that are not on the wire, output that the user saw elsewhere, what went
wrong in its own words. The core has the rules for it.

Running one handler for one request, and its answer, however it ends. Owns the one place where an
author's handlers run, for every entry point: what they return and what they raise. A failure is
answered where it is raised, before any log or library sees it, and then continues to the author's
own log, through a filter that redacts its traceback: an exception of a provider's package holds
what the provider said, and some providers echo the key. The core decides what it means.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from lastword.core.link.agent_side import Note
from lastword.core.protocol import acp, jsonrpc
from lastword.errors import NotInTurnError
from lastword.inprocess import forked, settings, streams
from lastword.inprocess.request import (
    CURRENT,
    Request,
    asyncio_task,
    contained,
    is_the_doors,
    process_ending,
)
from lastword.inprocess.settings import logger

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
    )

    from lastword.core.failure.taxonomy import Action, ErrorType
    from lastword.core.link.facts import Facts
    from lastword.inprocess.request import RequestLink
    from lastword.inprocess.retry import Attempt, Retry

    SentError: TypeAlias = Callable[[BaseException], dict[str, Any] | None]
    """The JSON-RPC error object that an exception stands for by its author's will."""


Item = TypeVar("Item")


class CurrentTurn:
    """The current prompt turn, returned by `lastword.current_turn()`.

    What is reported to it changes what the client learns if the turn fails: how far it had come,
    and whether trying again could do harm. After the end of the turn, its methods have no effect.
    """

    __slots__ = ("_request",)

    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def session_id(self) -> str | None:
        """The session of the prompt."""
        return self._request.session_id

    @property
    def cancelled(self) -> bool:
        """Whether the user or a limit wants the turn to end; for work that cannot be cancelled."""
        return self._request.cancel_requested

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context that the client sent with the prompt, at the root of `_meta`."""
        meta = jsonrpc.params_of(self._request.frame).get("_meta")
        value = meta.get("traceparent") if isinstance(meta, dict) else None
        return value if isinstance(value, str) else None

    def progress(self) -> None:
        """Say that the handler is working although it sends nothing; restarts the silence limit."""
        self._say(Note.PROGRESS)

    def output(self) -> None:
        """Say that the user saw output of this turn that did not go through the client."""
        self._say(Note.OUTPUT)

    def tool_started(self, name: str, *, side_effects: bool) -> None:
        """Say that a tool began to run.

        Tools that are reported to the client as tool calls are counted without this; those of the
        kinds `read`, `search`, `think` and `fetch` count as free of side effects.

        Args:
            name: The tool, as `tool_finished` will name it.
            side_effects: Whether it changes anything outside this process. A turn in which such a
                tool was started is never retried without the user's consent.
        """
        tools = self._request.tools
        tools[name] = tools.get(name, 0) + 1
        self._say(Note.UNSAFE_TOOL if side_effects else Note.SAFE_TOOL)

    def tool_finished(self, name: str) -> None:
        """Say that the tool has finished, successfully or not."""
        tools = self._request.tools
        if not tools.get(name):
            logger.warning(
                "tool_finished(%r) without tool_started(%r): nothing is counted.", name, name
            )
            return
        tools[name] -= 1
        self._say(Note.TOOL_FINISHED)

    def fail(  # noqa: PLR0913 - six options is our own limit
        self,
        type: ErrorType | str,  # noqa: A002 - the field's own name
        message: str | None = None,
        *,
        retryable: bool | None = None,
        retry_after_seconds: float | None = None,
        reset_at_epoch_ms: int | None = None,
        reason: str | None = None,
        detail: str | None = None,
        action: Action | str | None = None,
    ) -> NoReturn:
        """End the turn as failed, in the author's own words.

        The turn fails as stated here, even if the exception that this raises is caught on the way.

        Args:
            type: What failed, one of `lastword.ErrorType`.
            message: One plain sentence for the user that ends with what to do; at most 500
                characters. By default, the sentence of the type.
            retryable: Whether trying again may help. By default, the type's own value.
            retry_after_seconds: How long to wait first.
            reset_at_epoch_ms: When a limit ends, in milliseconds since 1970 UTC.
            reason: A short, low-cardinality word of your own.
            detail: What the failing part itself said. It is redacted and cut at 4 KiB.
            action: What the user can do, one of `lastword.Action`: clients have a button for it.
                By default, what usually helps for the type.

        Raises:
            TurnFailedError: Always; let it leave the handler.
            MisuseError: There is no such type or action, or a wait is not a number from 0 up. If
                that leaves the handler, the turn fails as `internal`.
        """
        # Imported at the first failure, like everything that only failures need.
        from lastword.inprocess.exceptions import AuthorReport, author_error  # noqa: PLC0415

        report = AuthorReport(
            retryable=retryable,
            retry_after_seconds=retry_after_seconds,
            reset_at_epoch_ms=reset_at_epoch_ms,
            reason=reason,
            detail=detail,
            action=action,
        )
        raise author_error(self._request, type, message, report)

    def attempts(self, retry: Retry | None = None) -> AsyncIterator[Attempt]:
        """Try a model call until it succeeds, or until another try would not help or could harm.

        ```python
        async for attempt in turn.attempts():
            with attempt:
                answer = await model(...)
        ```

        The call is made within `with attempt:`. A stream or a coroutine that was made before the
        loop serves its first attempt alone, and the failure of that one then ends the turn.

        Only what happened since the loop began counts: a model call after a tool is tried again,
        since it alone is repeated; a call that has itself shown something is not.

        Args:
            retry: How often and how long; `Retry()` by default.

        Returns:
            The attempts. One that cannot be followed by another raises the failure.
        """
        # tenacity costs 4 ms, and an agent that never retries does not need it.
        from lastword.inprocess.retry import Retry, attempts  # noqa: PLC0415

        return attempts(retry or Retry(), self._request)

    def watch(
        self,
        stream: AsyncIterable[Item] | Iterable[Item],
        *,
        finished: Callable[[Item], bool] | None = None,
    ) -> AsyncIterator[Item]:
        """Pass a model's stream on, note its progress, and check that it is complete.

        ```python
        async for chunk in turn.watch(await client.chat.completions.create(..., stream=True)):
            ...
        ```

        Providers' packages raise nothing when the connection ends in the middle of an answer: the
        loop just ends. This method raises. A stream of an unknown kind is passed on unchanged and
        is **not guarded**; the logger `lastword` says so, once for each type. Text and lines are
        such streams: pass the provider's own stream, or say with `finished` which item is the last.

        Args:
            stream: What a provider's package returned: OpenAI, Anthropic, Gemini, Mistral, Ollama,
                Bedrock and compatible ones are recognised by their items. A stream that is not
                asynchronous is read in a thread.
            finished: For any other stream: returns whether an item is the last one.

        Returns:
            The items, unchanged.

        Raises:
            StreamTruncatedError: The stream ended before its terminal event.
            StreamFailedError: An item reported a failure.
            MisuseError: The argument is a generator that has ended, as one that an earlier attempt
                has read.
            TypeError: The argument is not a stream; the message says what to do.
        """
        return streams.watch(stream, on_item=self.progress, finished=finished)

    def _say(self, note: Note) -> None:
        request = self._request
        for attempt in request.attempts:
            if attempt.concerned:
                _NOTED[note](attempt.facts)
        request.link.say(request, note)


_NOTED: dict[Note, Callable[[Facts], None]] = {
    Note.PROGRESS: lambda _: None,
    Note.OUTPUT: lambda facts: facts.note_output(),
    Note.SAFE_TOOL: lambda facts: facts.note_tool(safe=True),
    Note.UNSAFE_TOOL: lambda facts: facts.note_tool(safe=False),
    Note.TOOL_FINISHED: lambda facts: facts.note_tool_finished(),
}


def current_turn() -> CurrentTurn:
    """Return the turn that the calling code is working on.

    ```python
    turn = lastword.current_turn()
    async for attempt in turn.attempts():
        with attempt:
            answer = await model(...)
    ```

    It is found by context: in the handler of `session/prompt`, in every task that it starts, and in
    threads started by `asyncio.to_thread`.

    Raises:
        NotInTurnError: There is none.
    """
    request = CURRENT.get()
    if request is None or request.method != acp.PROMPT:
        raise NotInTurnError
    return CurrentTurn(request)


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
            forked.end(error)
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
            forked.end()
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
            forked.end(error)
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
        forked.end()


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
