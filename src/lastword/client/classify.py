"""The error value for a failure without a payload, from an agent without the extension.

Owns what only a reader knows: our own codes and words inside such an error, and that nothing is
known of the turn. `core.classify` decides what the failure is, and `core.failure.wording` words it.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from lastword.client.shapes import object_of
from lastword.core.classify import classify_rpc_error, own_failure
from lastword.core.failure import sentences, wording
from lastword.core.failure.taxonomy import UNDECIDED, AgentError, ErrorType
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from lastword.core.classify import Verdict

_OURS_ALONE = frozenset(
    {
        ErrorType.AGENT_CRASH,
        ErrorType.AGENT_STALLED,
        ErrorType.STDERR_OVERFLOW,
        ErrorType.PROTOCOL_ERROR,
    }
)
"""As an `errorKind` no measured agent uses these words."""


def of_rpc_error(error: object) -> AgentError:
    """Classify a JSON-RPC error without a payload."""
    verdict = classify_rpc_error(error)
    members = object_of(error)
    own = _own_word(members)
    if own is not None and (own in _OURS_ALONE or verdict.type in UNDECIDED):
        verdict = msgspec.structs.replace(own_failure(own), detail=verdict.detail)
    if members.get("code") == acp.DO_NOT_RESEND:
        verdict = msgspec.structs.replace(verdict, retryable=False)
    return compose(verdict)


def _own_word(members: dict[str, object]) -> ErrorType | None:
    """Return the type named next to the sentence, or implied by the sentence itself."""
    data = object_of(members.get("data"))
    kind, details = data.get("errorKind"), data.get("details")
    if isinstance(kind, str):
        return next((word for word in ErrorType if word.value == kind), None)
    own = type_of_sentence(details) if isinstance(details, str) else None
    return own and own[0]


def type_of_sentence(text: str) -> tuple[ErrorType, str | None] | None:
    """Return type and reason whose own sentence begins this text: our notices and bare errors."""
    return next((what for sentence, what in _own_sentences() if text.startswith(sentence)), None)


@cache
def _own_sentences() -> tuple[tuple[str, tuple[ErrorType, str | None]], ...]:
    general = [(text, (word, None)) for word, text in sentences.WHAT.items()]
    narrow = sentences.WHAT_BY_REASON.items()
    narrower = [(text, (word, reason)) for word, by in narrow for reason, text in by.items()]
    return (*general, *narrower)


def connection_lost() -> AgentError:
    """Return the failure that a client sees for itself: the agent's connection is gone."""
    return compose(own_failure(ErrorType.AGENT_CRASH, "connection_lost"))


def compose(verdict: Verdict) -> AgentError:
    """Return the error for a verdict. The turn is unknown, so a retry is never safe by itself."""
    return wording.compose_from_facts(verdict, None, now=datetime.now().astimezone())
