"""Members of the `agent_error` payload: one table, in wire order.

Owns their names, their forms, and what the contract says of each. The fields of `AgentError` and of
the public model, the schema, the TypeScript types and the contract's table are generated from it
(`protocol/generate_payload.py`); the reader, the record's facts and a report's follow it at import.
"""

from __future__ import annotations

import re
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


_TABLE = """\
type; WORD; required; convention=error.type
    What went wrong. A reader takes a word it does not know as `unknown`.
message; SENTENCE; required; someone's text; not reported
    One plain sentence for the user, without markup; says what to do.
detail; DETAIL; someone's text; not reported
    Redacted details of at most 4 KiB; `text` has the original words.
retryable; FLAG; required
    Would the same prompt, sent again, have a chance to succeed?
retry_after_seconds; COUNT; unit=seconds
    The least time to wait before a retry, rounded up.
reset_at_epoch_ms; COUNT; unit=milliseconds since 1970 UTC
    When the limit resets, in milliseconds since 1970 UTC.
source; TEXT; convention=gen_ai.provider.name
    Who reported it: a provider, a library or a program.
reason; TEXT; label=More exactly
    A narrower name within `type`; an open set of few values.
origin; WORD
    Whose fault it was.
phase; WORD
    How far the turn had come.
retry_safety; WORD
    Would a retry do harm? Only `auto` may be retried by a machine.
action; WORD
    What the user can do about it.
http_status; WHOLE; convention=http.response.status_code; label=HTTP status
    The HTTP status that the provider answered with.
provider_code; TEXT; label=Provider's error code
    The provider's or agent's own code, as text, unchanged.
request_id; TEXT; not reported; label=Provider's request
    The provider's name for the request, for its support.
attempts; COUNT; unit=tries; label=Attempts
    How often the model was asked before giving up.
exit_code; WHOLE; convention=process.exit.code
    The dead agent's exit status.
exit_signal; TEXT
    The signal that killed the agent, such as `SIGKILL`.
incident_id; TEXT; label=Incident
    Names the record of this failure.
"""
"""For each member, a line with its name, its form and the rest, then the contract's words."""

_CLOSED_SETS: dict[str, type[ErrorType | Origin | Phase | RetrySafety | Action]] = {
    "type": ErrorType,
    "origin": Origin,
    "phase": Phase,
    "retry_safety": RetrySafety,
    "action": Action,
}


def _read_row(row: str) -> PayloadMember:
    head, _, description = row.partition("\n    ")
    name, form, *marks = head.split("; ")
    texts = dict(mark.split("=") for mark in marks if "=" in mark)
    return PayloadMember(
        name,
        ValueForm[form],
        description,
        words=_CLOSED_SETS.get(name),
        required="required" in marks,
        unit=texts.get("unit", ""),
        someones_text="someone's text" in marks,
        reported="not reported" not in marks,
        convention=texts.get("convention", ""),
        label=texts.get("label", ""),
    )


MEMBERS = tuple(_read_row(row) for row in re.findall(r"\S.*\n {4}.*", _TABLE))

BY_NAME = {member.name: member for member in MEMBERS}
