"""Exceptions that a caller may catch.

```
LastwordError
├── ClientError                             the client answered the agent's request with an error
├── NotInTurnError        (RuntimeError)    `current_turn()` was called outside a prompt's handler
├── MisuseError           (ValueError)      an invalid argument; the message says what is wrong
├── MissingExtraError     (ImportError)     an optional package is missing; the message says which
├── TurnFailedError                         raised by `turn.fail()`; ends the turn as it says
├── StreamFailedError                       a model's stream reported a failure as one of its items
├── StreamTruncatedError  (ConnectionError) a model's stream ended without its terminal event
├── StoreError                              the record on disk cannot be used; the message says why
└── PromptFailedError                       a turn failed, as seen by a client; `.error` says how
    ├── TemporaryError                      the provider or the network is out of order: try later
    │   ├── RateLimitError                  `rate_limit`: wait as long as it says
    │   ├── ProviderUnavailableError        `provider_unavailable`: overloaded, or down
    │   ├── ProviderTimeoutError            `timeout`: no answer in time
    │   └── NetworkError                    `network`: the connection to the provider is broken
    ├── BudgetError                         `budget`: add credit, or switch the model
    ├── AuthError                           `auth`: log in, or fix the key
    ├── PromptRejectedError                 shorten or rephrase the prompt
    │   ├── ContextOverflowError            `context_overflow`: the conversation is too long
    │   └── ContentFilterError              `content_filter`: its content was refused
    ├── SetupRejectedError                  choose another model, or fix the configuration
    │   ├── ModelNotFoundError              `model_not_found`: no such model for this account
    │   └── InvalidRequestError             `invalid_request`: the provider rejects such a request
    ├── AgentLostError                      restart the agent
    │   ├── AgentCrashError                 `agent_crash`: its process, or the connection, is gone
    │   ├── AgentStalledError               `agent_stalled`: it made no progress, and was stopped
    │   └── StderrOverflowError             `stderr_overflow`: it flooded its error output
    ├── PromptCancelledError                `cancelled`: the user stopped it; nothing to do
    ├── UnknownError                        `unknown`: the agent's error was not recognised
    ├── ProtocolError                       `protocol_error`: a message broke the protocol
    └── InternalError                       `internal`: a bug in the agent or in lastword
```

The first seven are for authors of agents, `StoreError` is for readers of the record, and those
under `PromptFailedError` are for authors of clients (`lastword.client.raise_for_error`). Each type
in `lastword.ErrorType` has its own class. Clients usually catch the classes between those and
`PromptFailedError`, which say what helps. The class does not say whether to send the prompt
again: see `error.retryable` and `error.retry_safety`.

Owns the exceptions and their messages. `core.classify` decides what each of them is on the wire, as
for every failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import AgentError

__all__ = [
    "AgentCrashError",
    "AgentLostError",
    "AgentStalledError",
    "AuthError",
    "BudgetError",
    "ClientError",
    "ContentFilterError",
    "ContextOverflowError",
    "InternalError",
    "InvalidRequestError",
    "LastwordError",
    "MissingExtraError",
    "MisuseError",
    "ModelNotFoundError",
    "NetworkError",
    "NotInTurnError",
    "PromptCancelledError",
    "PromptFailedError",
    "PromptRejectedError",
    "ProtocolError",
    "ProviderTimeoutError",
    "ProviderUnavailableError",
    "RateLimitError",
    "SetupRejectedError",
    "StderrOverflowError",
    "StoreError",
    "StreamFailedError",
    "StreamTruncatedError",
    "TemporaryError",
    "TurnFailedError",
    "UnknownError",
]


class LastwordError(Exception):
    """Base class of the exceptions that lastword raises."""

    def __init__(self, *args: object) -> None:
        # `inspect.signature` knows nothing of a class without one of its own.
        super().__init__(*args)


class ClientError(LastwordError):
    """The client answered a request made with `client.request` with an error.

    Attributes:
        code: The JSON-RPC code.
        message: What the client said.
        data: Further data from the client, or `None`.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(f"The client answered with error {code}: {message}")
        self.code = code
        self.message = message
        self.data = data


class NotInTurnError(LastwordError, RuntimeError):
    """There is no current turn here."""

    def __init__(self) -> None:
        super().__init__(
            "There is no current turn here. Call this within the handler of session/prompt, in an "
            "agent that lastword.run_agent, lastword.guard or lastword.serve runs, or in a task "
            "that the handler started."
        )


class MisuseError(LastwordError, ValueError):
    """A call got an invalid argument: a mistake in the agent's own code.

    If it leaves a handler, the failure is `internal`, whatever words the message contains.
    """


EXTRAS: dict[str, frozenset[str]] = {
    "acp": frozenset({"acp"}),
    "fleet": frozenset({"nats", "nkeys"}),
    "gateway": frozenset({"starlette", "uvicorn", "websockets"}),
    "otel": frozenset({"opentelemetry"}),
    "yaml": frozenset({"yaml"}),
}
"""The optional packages, as they are imported, by the extra that brings them."""


class MissingExtraError(LastwordError, ImportError):
    """An optional package is missing, or too old; the message has the command that installs it.

    ```
    An agent of the official SDK needs the module acp, which the extra acp brings: pip install
    '/home/me/lastword[acp]'
    ```

    The command fits the way in which lastword was installed.

    Attributes:
        extra: The lastword extra that installs it: `acp`, `fleet`, `gateway`, `otel` or `yaml`.
        name: The module that could not be imported, as for every `ImportError`.
    """

    def __init__(self, what: str, extra: str, missing: ImportError) -> None:
        """Build the message from what needs the extra and the import that failed."""
        # The metadata of packages, needed only if one is missing.
        from lastword._installation import command_for  # noqa: PLC0415

        module = missing.name or extra
        package = module.partition(".")[0]
        absent = isinstance(missing, ModuleNotFoundError) and module == package
        which = "the module" if absent else "another version of the module"
        super().__init__(
            f"{what} needs {which} {package}, which the extra {extra} brings: {command_for(extra)}"
        )
        self.extra = extra
        self.name: str | None = module


def missing_extra(what: str, extra: str, error: ImportError) -> ImportError:
    """Return the exception for a failed import: the error itself if no extra would help."""
    package = (error.name or "").partition(".")[0]
    return MissingExtraError(what, extra, error) if package in EXTRAS[extra] else error


class TurnFailedError(LastwordError):
    """The author ended the turn with `turn.fail()`.

    Attributes:
        error: The failure as it is sent to the client.
    """

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error


class StreamFailedError(LastwordError):
    """A model's stream delivered a failure as one of its items.

    Attributes:
        body: The item as a plain object.
    """

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__("The model provider's stream reported a failure.")
        self.body = body


class StreamTruncatedError(LastwordError, ConnectionError):
    """A model's stream ended before the provider said that it was complete.

    Attributes:
        dialect: The provider's dialect, such as `openai`.
        items: How many items had arrived.
    """

    def __init__(self, dialect: str, items: int) -> None:
        came = "1 item" if items == 1 else f"{items} items"
        super().__init__(f"The model's stream ended after {came}, before its terminal event.")
        self.dialect = dialect
        self.items = items


class PromptFailedError(LastwordError):
    """A turn failed, as reported to a client.

    Attributes:
        error: The failure.
    """

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error

    def __reduce__(self) -> tuple[type[PromptFailedError], tuple[AgentError]]:
        # `args` holds the sentence, from which a pickle would be rebuilt.
        return type(self), (self.error,)


class StoreError(LastwordError):
    """The record on disk cannot be used. The message says why, and has no full stop."""


class TemporaryError(PromptFailedError):
    """The provider or the connection to it is out of order: the same prompt may succeed later."""


class RateLimitError(TemporaryError):
    """The model provider is limiting requests; `error.retry_after_seconds` says how long."""


class ProviderUnavailableError(TemporaryError):
    """The model provider is overloaded, or down."""


class ProviderTimeoutError(TemporaryError):
    """The model provider, or something on the way to it, did not answer in time."""


class NetworkError(TemporaryError):
    """The connection to the model provider could not be made, or broke."""


class BudgetError(PromptFailedError):
    """Credit, a spending cap or a long window is used up."""


class AuthError(PromptFailedError):
    """A credential is missing, expired or refused."""


class PromptRejectedError(PromptFailedError):
    """The prompt is too long for the model, or its content was refused."""


class ContextOverflowError(PromptRejectedError):
    """The conversation does not fit into the model's context."""


class ContentFilterError(PromptRejectedError):
    """A policy refused the content of the prompt, or of the answer."""


class SetupRejectedError(PromptFailedError):
    """The model does not exist for this account, or the request is not supported."""


class ModelNotFoundError(SetupRejectedError):
    """There is no such model, or not for this account."""


class InvalidRequestError(SetupRejectedError):
    """The model provider rejects the request that the agent made."""


class AgentLostError(PromptFailedError):
    """The agent's process is gone, or made no progress, or was stopped."""


class AgentCrashError(AgentLostError):
    """The agent's process ended in the middle of the turn, or the connection to it is gone."""


class AgentStalledError(AgentLostError):
    """The agent made no progress for longer than allowed, so the turn was ended."""


class StderrOverflowError(AgentLostError):
    """The agent wrote more to its error output than allowed, and was stopped."""


class PromptCancelledError(PromptFailedError):
    """The user stopped the turn."""


class UnknownError(PromptFailedError):
    """The agent's error was not recognised; `error.detail` has its words."""


class ProtocolError(PromptFailedError):
    """The agent sent something that the protocol does not allow, such as an unreadable line."""


class InternalError(PromptFailedError):
    """A bug in the agent, or in lastword: show `error.detail` to a developer."""


# The names before 0.3, which still work.
AgentCrashed = AgentCrashError
AgentLost = AgentLostError
AgentStalled = AgentStalledError
AuthRequired = AuthError
BudgetExhausted = BudgetError
ContentFiltered = ContentFilterError
ContextOverflow = ContextOverflowError
InternalFailure = InternalError
InvalidRequest = InvalidRequestError
MissingExtra = MissingExtraError
Misused = MisuseError
ModelNotFound = ModelNotFoundError
NetworkFailed = NetworkError
NotInTurn = NotInTurnError
PromptCancelled = PromptCancelledError
PromptFailed = PromptFailedError
PromptRejected = PromptRejectedError
ProtocolFailure = ProtocolError
ProviderUnavailable = ProviderUnavailableError
RateLimited = RateLimitError
SetupRejected = SetupRejectedError
StderrOverflow = StderrOverflowError
StreamFailed = StreamFailedError
StreamTruncated = StreamTruncatedError
TemporaryFailure = TemporaryError
TimedOut = ProviderTimeoutError
TurnFailed = TurnFailedError
UnknownFailure = UnknownError
