"""`lastword.classify` for authors of agents: an error and the facts of the turn, as one value.

Owns the entry point: the environment's secrets, and the clock. `core.classify` decides what a
failure is, `core.failure.taxonomy` what follows from the facts, and
`core.failure.wording` words it. Imports no provider's package and raises for no error, however odd.
"""

from __future__ import annotations

import os
from collections.abc import Callable  # noqa: TC003 - of a public signature

from lastword.core import classify as classifier
from lastword.core.failure import wording
from lastword.core.failure.taxonomy import (
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
    TurnFacts,
)
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.redactor import Redactor
from lastword.platform.identity import local_time

__all__ = [
    "Action",
    "AgentError",
    "ErrorType",
    "Origin",
    "Phase",
    "RetrySafety",
    "TurnFacts",
    "classify",
]


def classify(
    error: object,
    *,
    facts: TurnFacts | None = None,
    redactor: Callable[[str], str] | None = None,
) -> AgentError:
    """Return what a failure is, whether a retry would help, and whether it would do harm.

    ```python
    error = lastword.classify(exception, facts=lastword.TurnFacts())
    error.type, error.retry_after_seconds  # (ErrorType.RATE_LIMIT, 20)
    ```

    Pass the exception itself rather than its text: a status, a body and a class say far more.
    This function does not raise, whatever it is given.

    Args:
        error: An exception, an HTTP response, a decoded body, a JSON-RPC error, or text.
        facts: What had happened in the turn. Without them `retry_safety` is `ask`, or `never` if a
            retry would not help.
        redactor: Called on every text after lastword's own redaction. If it raises, the text is
            dropped.

    Returns:
        The failure, redacted, in words that can be shown.
    """
    return wording.compose_from_facts(
        classifier.classify(error),
        facts,
        redact=Redactor(secrets_of(os.environ), hook=redactor),
        now=local_time(),
    )
