"""Members of the `agent_error` payload: one table, in wire order.

Owns their names, their forms, and what the contract says of each. The fields of `AgentError` and of
the public model, the schema, the TypeScript types and the contract's table are generated from it
(`protocol/generate_payload.py`); the reader, the record's facts and a report's follow it at import.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from lastword.core.failure.taxonomy import Action, ErrorType, Origin, Phase, RetrySafety


class ValueForm(Enum):
    """The form of a member's value, and how it is read."""

    SENTENCE = "a sentence"
    DETAIL = "an object"
    FLAG = "`true` or `false`"
    COUNT = "a whole number, not negative"
    WHOLE = "a whole number"
    TEXT = "a text"
    WORD = "a word"
    """One of a closed set."""


class PayloadMember(msgspec.Struct, frozen=True):
    """One member.

    Attributes:
        name: its name on the wire, in the record and in a report.
        form: how its value is written.
        description: what it says, as the contract has it.
        words: the closed set that its value is one of.
        required: whether every payload has it.
        unit: what it counts or measures.
        someones_text: whether it is somebody's own text, which is recorded only with
            `--record-text`.
        reported: whether a report to a collector has it.
        convention: its name in OpenTelemetry, where the semantic conventions have one.
        label: what a summary calls it, where it quotes the value as it stands.
    """

    name: str
    form: ValueForm
    description: str
    words: type[ErrorType | Origin | Phase | RetrySafety | Action] | None = None
    required: bool = False
    unit: str = ""
    someones_text: bool = False
    reported: bool = True
    convention: str = ""
    label: str = ""


MEMBERS = (
    PayloadMember(
        "type",
        ValueForm.WORD,
        "What went wrong. A reader takes a word it does not know as `unknown`.",
        words=ErrorType,
        required=True,
        convention="error.type",
    ),
    PayloadMember(
        "message",
        ValueForm.SENTENCE,
        "One plain sentence for the user, without markup; says what to do.",
        required=True,
        someones_text=True,
        reported=False,
    ),
    PayloadMember(
        "detail",
        ValueForm.DETAIL,
        "Redacted details of at most 4 KiB; `text` has the original words.",
        someones_text=True,
        reported=False,
    ),
    PayloadMember(
        "retryable",
        ValueForm.FLAG,
        "Would the same prompt, sent again, have a chance to succeed?",
        required=True,
    ),
    PayloadMember(
        "retry_after_seconds",
        ValueForm.COUNT,
        "The least time to wait before a retry, rounded up.",
        unit="seconds",
    ),
    PayloadMember(
        "reset_at_epoch_ms",
        ValueForm.COUNT,
        "When the limit resets, in milliseconds since 1970 UTC.",
        unit="milliseconds since 1970 UTC",
    ),
    PayloadMember(
        "source",
        ValueForm.TEXT,
        "Who reported it: a provider, a library or a program.",
        convention="gen_ai.provider.name",
    ),
    PayloadMember(
        "reason",
        ValueForm.TEXT,
        "A narrower name within `type`; an open set of few values.",
        label="More exactly",
    ),
    PayloadMember("origin", ValueForm.WORD, "Whose fault it was.", words=Origin),
    PayloadMember("phase", ValueForm.WORD, "How far the turn had come.", words=Phase),
    PayloadMember(
        "retry_safety",
        ValueForm.WORD,
        "Would a retry do harm? Only `auto` may be retried by a machine.",
        words=RetrySafety,
    ),
    PayloadMember("action", ValueForm.WORD, "What the user can do about it.", words=Action),
    PayloadMember(
        "http_status",
        ValueForm.WHOLE,
        "The HTTP status that the provider answered with.",
        convention="http.response.status_code",
        label="HTTP status",
    ),
    PayloadMember(
        "provider_code",
        ValueForm.TEXT,
        "The provider's or agent's own code, as text, unchanged.",
        label="Provider's error code",
    ),
    PayloadMember(
        "request_id",
        ValueForm.TEXT,
        "The provider's name for the request, for its support.",
        reported=False,
        label="Provider's request",
    ),
    PayloadMember(
        "attempts",
        ValueForm.COUNT,
        "How often the model was asked before giving up.",
        unit="tries",
        label="Attempts",
    ),
    PayloadMember(
        "exit_code",
        ValueForm.WHOLE,
        "The dead agent's exit status.",
        convention="process.exit.code",
    ),
    PayloadMember(
        "exit_signal", ValueForm.TEXT, "The signal that killed the agent, such as `SIGKILL`."
    ),
    PayloadMember(
        "incident_id", ValueForm.TEXT, "Names the record of this failure.", label="Incident"
    ),
)

BY_NAME = {member.name: member for member in MEMBERS}
