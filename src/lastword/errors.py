"""Exceptions that a caller may catch.

```
LastwordError
├── ClientError                           the client answered a request of the agent's with an error
├── NotInTurn          (RuntimeError)     `current_turn()` outside of a prompt's handler
├── Misused            (ValueError)       something was given what it cannot take; the text says it
├── TurnFailed                            what `turn.fail()` raises; ends the turn as it says
├── StreamFailed                          a model's stream told of a failure as one of its items
├── StreamTruncated    (ConnectionError)  a model's stream ended without its terminal event
├── StoreError                            the record on disk cannot be used; the text says why
└── PromptFailed                          what a client raises for a turn that failed; `.error`
    ├── TemporaryFailure                  the provider or the network is out of order: try later
    │   └── RateLimited                   wait as long as it says
    ├── BudgetExhausted                   add credit, or switch the model
    ├── AuthRequired                      log in, or mend the key
    ├── PromptRejected                    shorten or rephrase the prompt
    ├── SetupRejected                     choose another model, or mend the configuration
    ├── AgentLost                         start the agent again
    └── PromptCancelled                   the user stopped it: nothing to do
```

The first six are for authors of agents, `StoreError` is for readers of the record, those under
`PromptFailed` are for authors of clients (`lastword.client.raise_for_error`). What nobody but a
developer can act on (`unknown`, `protocol_error`, `internal`) is a `PromptFailed` itself. Whether
to send the prompt again is not in the class: ask `error.retryable` and `error.retry_safety`.

Owns the exceptions and their sentences. What each of them is on the wire is decided where every
failure is (`core.classify`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import AgentError

__all__ = [
    "AgentLost",
    "AuthRequired",
    "BudgetExhausted",
    "ClientError",
    "LastwordError",
    "Misused",
    "NotInTurn",
    "PromptCancelled",
    "PromptFailed",
    "PromptRejected",
    "RateLimited",
    "SetupRejected",
    "StoreError",
    "StreamFailed",
    "StreamTruncated",
    "TemporaryFailure",
    "TurnFailed",
]


class LastwordError(Exception):
    """What lastword itself raises."""

    def __init__(self, *args: object) -> None:
        # Of a class without one of its own `inspect.signature` knows nothing.
        super().__init__(*args)


class ClientError(LastwordError):
    """The client answered a request of the agent's, made by `client.request`, with an error.

    Attributes:
        code: The JSON-RPC code.
        message: What the client said.
        data: What it added, `None` without it.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(f"The client answered with error {code}: {message}")
        self.code = code
        self.message = message
        self.data = data


class NotInTurn(LastwordError, RuntimeError):  # noqa: N818  (it is no failure of a turn)
    """There is no current turn here."""

    def __init__(self) -> None:
        super().__init__(
            "There is no current turn here. Call this within the handler of session/prompt, in an "
            "agent that lastword.run_agent, lastword.guard or lastword.serve runs, or in a task "
            "that the handler started."
        )


class Misused(LastwordError, ValueError):  # noqa: N818  (as above)
    """A call was given what it cannot take: a mistake in the agent's own code.

    Out of a handler it is `internal`, whatever words the text is made of.
    """


class TurnFailed(LastwordError):  # noqa: N818  (named for what happened)
    """The author ended the turn by `turn.fail()`.

    Attributes:
        error: The failure as it goes to the client.
    """

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error


class StreamFailed(LastwordError):  # noqa: N818  (as above)
    """A model's stream handed on a failure as one of its items.

    Attributes:
        body: The item as a plain object.
    """

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__("The model provider's stream told of a failure.")
        self.body = body


class StreamTruncated(LastwordError, ConnectionError):  # noqa: N818  (as above)
    """A model's stream ended before the provider said that it was complete.

    Attributes:
        dialect: Whose stream it was, such as `openai`.
        items: How many items had come.
    """

    def __init__(self, dialect: str, items: int) -> None:
        super().__init__(
            f"The model's stream ended after {items} items, before its terminal event."
        )
        self.dialect = dialect
        self.items = items


class PromptFailed(LastwordError):  # noqa: N818  (as above)
    """A turn failed, as a client was told.

    Attributes:
        error: The failure.
    """

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error

    def __reduce__(self) -> tuple[type[PromptFailed], tuple[AgentError]]:
        # `args` holds the sentence, and a pickle would be built anew from that.
        return type(self), (self.error,)


class StoreError(LastwordError):
    """The record on disk cannot be used. The text says why and what to do, without a full stop."""


class TemporaryFailure(PromptFailed):
    """The model provider or the way to it is out of order: the same prompt may succeed later."""


class RateLimited(TemporaryFailure):
    """The model provider is limiting requests; `error.retry_after_seconds` says how long."""


class BudgetExhausted(PromptFailed):
    """Credit, a spending cap or a long window is used up."""


class AuthRequired(PromptFailed):
    """A credential is missing, expired or refused."""


class PromptRejected(PromptFailed):
    """The prompt is too long for the model, or its content was refused."""


class SetupRejected(PromptFailed):
    """The model does not exist for this account, or the request is not supported."""


class AgentLost(PromptFailed):
    """The agent's process is gone, or makes no progress, or was stopped."""


class PromptCancelled(PromptFailed):
    """The user stopped the turn."""
