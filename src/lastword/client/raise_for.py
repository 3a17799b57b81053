"""A failed turn as an exception, one class for each thing that a client can do about it.

Owns the mapping from failure types to the classes of `lastword.errors`.
"""

from __future__ import annotations

from typing import TypeVar

from lastword import errors
from lastword.client.reading import read_error
from lastword.core.failure.taxonomy import ErrorType

_Message = TypeVar("_Message")

CLASS_FOR: dict[ErrorType, type[errors.PromptFailedError]] = {
    ErrorType.RATE_LIMIT: errors.RateLimitError,
    ErrorType.BUDGET: errors.BudgetError,
    ErrorType.PROVIDER_UNAVAILABLE: errors.ProviderUnavailableError,
    ErrorType.CONTEXT_OVERFLOW: errors.ContextOverflowError,
    ErrorType.AUTH: errors.AuthError,
    ErrorType.UNKNOWN: errors.UnknownError,
    ErrorType.MODEL_NOT_FOUND: errors.ModelNotFoundError,
    ErrorType.INVALID_REQUEST: errors.InvalidRequestError,
    ErrorType.CONTENT_FILTER: errors.ContentFilterError,
    ErrorType.TIMEOUT: errors.ProviderTimeoutError,
    ErrorType.NETWORK: errors.NetworkError,
    ErrorType.CANCELLED: errors.PromptCancelledError,
    ErrorType.AGENT_CRASH: errors.AgentCrashError,
    ErrorType.AGENT_STALLED: errors.AgentStalledError,
    ErrorType.STDERR_OVERFLOW: errors.StderrOverflowError,
    ErrorType.PROTOCOL_ERROR: errors.ProtocolError,
    ErrorType.INTERNAL: errors.InternalError,
}


def raise_for_error(message: _Message) -> _Message:
    """Raise if a turn failed; otherwise return the message.

    ```python
    try:
        client.raise_for_error(answer)
    except errors.RateLimitError as failed:
        wait(failed.error.retry_after_seconds)
    except errors.PromptFailedError as failed:
        show(client.describe(failed.error))
    ```

    Args:
        message: Whatever `read_error` takes. An exception becomes the cause of the one raised; an
            exception that did not come from the agent is returned.

    Returns:
        The message.

    Raises:
        PromptFailedError: The turn failed. The class says what to do, and `error` what happened.
    """
    if isinstance(message, errors.PromptFailedError):
        raise message
    error = read_error(message)
    if error is None:
        return message
    cause = message if isinstance(message, BaseException) else None
    raise CLASS_FOR[error.type](error) from cause
