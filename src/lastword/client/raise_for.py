"""A failed turn as an exception, one class for each thing that a client can do about it.

Owns the mapping from failure types to the classes of `lastword.errors`.
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
    ErrorType.PROVIDER_UNAVAILABLE: errors.ProviderUnavailable,
    ErrorType.CONTEXT_OVERFLOW: errors.ContextOverflow,
    ErrorType.AUTH: errors.AuthRequired,
    ErrorType.UNKNOWN: errors.UnknownFailure,
    ErrorType.MODEL_NOT_FOUND: errors.ModelNotFound,
    ErrorType.INVALID_REQUEST: errors.InvalidRequest,
    ErrorType.CONTENT_FILTER: errors.ContentFiltered,
    ErrorType.TIMEOUT: errors.TimedOut,
    ErrorType.NETWORK: errors.NetworkFailed,
    ErrorType.CANCELLED: errors.PromptCancelled,
    ErrorType.AGENT_CRASH: errors.AgentCrashed,
    ErrorType.AGENT_STALLED: errors.AgentStalled,
    ErrorType.STDERR_OVERFLOW: errors.StderrOverflow,
    ErrorType.PROTOCOL_ERROR: errors.ProtocolFailure,
    ErrorType.INTERNAL: errors.InternalFailure,
}


def raise_for_error(message: _Message) -> _Message:
    """Raise if a turn failed; otherwise return the message.

    ```python
    try:
        client.raise_for_error(answer)
    except errors.RateLimited as failed:
        wait(failed.error.retry_after_seconds)
    except errors.PromptFailed as failed:
        show(client.describe(failed.error))
    ```

    Args:
        message: Whatever `read_error` takes. An exception becomes the cause of the one raised; an
            exception that did not come from the agent is returned.

    Returns:
        The message.

    Raises:
        PromptFailed: The turn failed. The class says what to do, and `error` what happened.
    """
    if isinstance(message, errors.PromptFailed):
        raise message
    error = read_error(message)
    if error is None:
        return message
    cause = message if isinstance(message, BaseException) else None
    raise CLASS_FOR[error.type](error) from cause
