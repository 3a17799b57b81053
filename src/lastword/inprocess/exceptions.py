"""Reports to the core on the exceptions that handlers raise.

Owns the one boundary where an exception becomes the failure of a turn. Imported at the first such
exception.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lastword.core import classify
from lastword.core.classify import Verdict
from lastword.core.failure import wording
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    MAX_AUTO_WAIT_SECONDS,
    MAX_MESSAGE_CHARS,
    Action,
    AgentError,
    ErrorType,
    Origin,
)
from lastword.core.link.agent_side import HandlerFailure
from lastword.errors import ClientError, MisuseError, TurnFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.failure.retry_policy import FailedAttempt
    from lastword.inprocess.request import Request

AUTHOR_RULE = "author"
"""The name of the rule for a failure that the author reported."""

_MAX_STEPS = 8

Word = TypeVar("Word", ErrorType, Action)


class AuthorReport(msgspec.Struct, frozen=True, kw_only=True):
    """An author's report of a failure, apart from its type and message."""

    retryable: bool | None = None
    retry_after_seconds: float | None = None
    reset_at_epoch_ms: int | None = None
    reason: str | None = None
    detail: str | None = None
    action: Action | str | None = None


class AuthorError(TurnFailedError):
    """A `TurnFailedError` with its report for the core."""

    def __init__(self, error: AgentError, word: HandlerFailure) -> None:
        super().__init__(error)
        self.word = word


def author_error(
    request: Request, error_type: ErrorType | str, message: str | None, report: AuthorReport
) -> AuthorError:
    """Return the failure that `turn.fail()` raises; the request keeps it, whoever catches it."""
    kind = _word_of(ErrorType, "type", error_type)
    wait = report.retry_after_seconds
    if wait is not None and not (isinstance(wait, int | float) and 0 <= wait < math.inf):
        raise MisuseError(f"retry_after_seconds is a number of seconds from 0 up, not {wait!r}")
    default = DEFAULTS[kind].retryable and (wait or 0) <= MAX_AUTO_WAIT_SECONDS
    verdict = Verdict(
        type=kind,
        rule=AUTHOR_RULE,
        retryable=default if report.retryable is None else report.retryable,
        reason=report.reason,
        origin=DEFAULTS[kind].origin,
        retry_after_seconds=None if wait is None else math.ceil(wait),
        reset_at_epoch_ms=report.reset_at_epoch_ms,
        detail=report.detail,
        action=None if report.action is None else _word_of(Action, "action", report.action),
    )
    shown = wording.compose(verdict, phase=None, retry_safety=None)
    if message:
        shown = msgspec.structs.replace(shown, message=message[:MAX_MESSAGE_CHARS])
    failure = AuthorError(shown, HandlerFailure(verdict=verdict, message=message))
    if not isinstance(request.failure, TurnFailedError):
        request.overrule(failure)
    return failure


def _word_of(words: type[Word], what: str, name: str) -> Word:
    try:
        return words(name)
    except ValueError:
        listed = ", ".join(word.value for word in words)
        raise MisuseError(f"there is no {what} {name!r}; it is one of {listed}") from None


def report_for(request: Request, error: BaseException, sent: object = None) -> HandlerFailure:
    """Return the report to the core on an exception.

    Args:
        request: The request whose handler it left.
        error: The exception itself. Its methods are foreign code, which may raise anything.
        sent: The JSON-RPC error object that its author meant, if it is an SDK's own error.
    """
    try:
        if isinstance(request.failure, AuthorError):
            return request.failure.word
        if isinstance(error, ClientError) or (
            sent is not None and request.link.refused_by_client(sent)
        ):
            # The client refused the handler's request, and the handler did not expect that.
            try:
                detail = str(error)
            except BaseException:  # noqa: BLE001 - foreign code
                detail = type(error).__name__
            refused = Verdict(
                type=ErrorType.INTERNAL,
                rule="client_error",
                retryable=False,
                reason="client_error",
                origin=Origin.CLIENT,
                detail=detail,
            )
            return HandlerFailure(verdict=refused)
        return HandlerFailure(
            verdict=verdict_of(error, sent), sent=sent, tried=tried_before(request, error)
        )
    except BaseException:  # noqa: BLE001 - even if it cannot be read, its turn is answered
        name = type(error).__name__
        return HandlerFailure(verdict=classify.own_failure(ErrorType.INTERNAL, detail=name))


def tried_before(request: Request, error: BaseException) -> tuple[FailedAttempt, ...]:
    """Return the attempts of the model call that ended with this; the outermost if they nest."""
    tried: tuple[FailedAttempt, ...] = ()
    for cause in causes(error):
        for failed_of, attempts in request.tried:
            if cause is failed_of:
                tried = attempts
    return tried


def verdict_of(error: BaseException, sent: object = None) -> Verdict:
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return classify.own_failure(ErrorType.AGENT_CRASH, "premature_exit")
    if sent is None:
        return classify.classify(error)
    # The cause of an SDK's own error is more specific than the error.
    for cause in causes(error):
        if cause is not error:
            verdict = classify.classify(cause)
            if verdict.type not in {ErrorType.UNKNOWN, ErrorType.INTERNAL}:
                return verdict
    return classify.classify_rpc_error(sent)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, its causes, and the members of groups."""
    waiting, count = [error], 0
    while waiting and count < _MAX_STEPS:
        cause = waiting.pop(0)
        count += 1
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
        if cause.__cause__ is not None:
            waiting.append(cause.__cause__)
