"""Exceptions that a caller may catch.

```
LastwordError
├── ClientError                           the client answered a request of the agent's with an error
├── NotInTurn          (RuntimeError)     `current_turn()` outside of a prompt's handler
├── TurnFailed                            what `turn.fail()` raises; ends the turn as it says
├── StreamFailed                          a model's stream told of a failure as one of its items
└── StreamTruncated    (ConnectionError)  a model's stream ended without its terminal event
```

Owns the exceptions and their sentences. What each of them is on the wire is decided where every
failure is (`core.classify`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastword.core.taxonomy import AgentError

__all__ = [
    "ClientError",
    "LastwordError",
    "NotInTurn",
    "StreamFailed",
    "StreamTruncated",
    "TurnFailed",
]


class LastwordError(Exception):
    """What lastword itself raises."""


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
