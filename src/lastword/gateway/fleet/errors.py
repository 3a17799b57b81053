"""Exceptions of a fleet.

```
FleetError                  the fleet cannot be used as it is; the message is a sentence
├── FencedError             another node has written to the session's stream
├── NotStoredError          the broker has stored nothing of a message
│   └── RefusedError        it has refused the message, or another request; `.code` says why
└── OutcomeUnknownError     no answer came: the message may have been stored
```
"""

from __future__ import annotations

from lastword.errors import LastwordError


class FleetError(LastwordError):
    """The fleet cannot be used as it is; the message is a sentence that says why."""


class FencedError(FleetError):
    """The end of a session's stream is not where the writer expected it; nothing was stored."""


class NotStoredError(FleetError):
    """The broker has refused a message for another reason, such as a stream that is full."""


class OutcomeUnknownError(FleetError):
    """No answer came: the message may have been stored, or may be stored yet."""


class RefusedError(NotStoredError):
    """The broker has refused a request.

    Attributes:
        code: JetStream's error code; 0 if there is none.
    """

    def __init__(self, code: int, description: str) -> None:
        super().__init__(description)
        self.code = code
