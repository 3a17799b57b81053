"""A failed turn as an exception, by what a client does about it.

Owns which type of failure is which class; the classes are `lastword.errors`'.
"""

from __future__ import annotations

from typing import TypeVar

from lastword import errors
from lastword.client.reading import read_error
from lastword.core.failure.taxonomy import ErrorType

_Message = TypeVar("_Message")

CLASS_FOR: dict[ErrorType, type[errors.PromptFailed]] = {
    ErrorType.RATE_LIMIT: errors.RateLimited,
    ErrorType.BUDGET: errors.BudgetExhausted,
    ErrorType.PROVIDER_UNAVAILABLE: errors.TemporaryFailure,
    ErrorType.CONTEXT_OVERFLOW: errors.PromptRejected,
    ErrorType.AUTH: errors.AuthRequired,
    ErrorType.UNKNOWN: errors.PromptFailed,
    ErrorType.MODEL_NOT_FOUND: errors.SetupRejected,
    ErrorType.INVALID_REQUEST: errors.SetupRejected,
    ErrorType.CONTENT_FILTER: errors.PromptRejected,
    ErrorType.TIMEOUT: errors.TemporaryFailure,
    ErrorType.NETWORK: errors.TemporaryFailure,
    ErrorType.CANCELLED: errors.PromptCancelled,
    ErrorType.AGENT_CRASH: errors.AgentLost,
    ErrorType.AGENT_STALLED: errors.AgentLost,
    ErrorType.STDERR_OVERFLOW: errors.AgentLost,
    ErrorType.PROTOCOL_ERROR: errors.PromptFailed,
    ErrorType.INTERNAL: errors.PromptFailed,
}


def raise_for_error(message: _Message) -> _Message:
    """Raise if a turn failed; else give back what came.

    Args:
        message: Whatever `read_error` takes. An exception becomes the cause of what is raised;
            one that is no word of the agent's is given back.

    Raises:
        PromptFailed: The turn failed; the class says what to do, `error` what happened.
    """
    if isinstance(message, errors.PromptFailed):
        raise message
    error = read_error(message)
    if error is None:
        return message
    cause = message if isinstance(message, BaseException) else None
    raise CLASS_FOR[error.type](error) from cause
