"""The words of failures: names of types, reasons, actions, phases and origins.

Owns the reading of `data/failures.txt`, and the sentence of a failure that came without one of its
own. Needs no redactor: `wording` composes what quotes somebody else.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.failure import data
from lastword.core.failure.phrases import plain_duration, plain_moment, short_duration
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    Action,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.quirks import failure_groups

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Row(NamedTuple):
    """The words for a reason: what happened, what to do and the action, each possibly empty."""

    sentence: str
    advice: str = ""
    action: str = ""


_TABLES = data.read_words(data.__path__[0], "failures")
_OF_TYPE = {kind: _TABLES[f"type {kind.value}"] for kind in ErrorType}
_ACTIONS = {action: _TABLES["actions"][action].split(" | ") for action in Action}

TYPES: dict[str, str] = {kind: rows.pop("label") for kind, rows in _OF_TYPE.items()}
"""Each at most 20 characters, which is a column of a list."""

TITLES: dict[ErrorType, str] = {kind: rows.pop("title") for kind, rows in _OF_TYPE.items()}
WHAT: dict[ErrorType, str] = {kind: rows.pop("sentence") for kind, rows in _OF_TYPE.items()}
"""What happened, by type."""

_REASONS = {
    kind: {reason: _Row(*row.split(" | ")) for reason, row in rows.items()}
    for kind, rows in _OF_TYPE.items()
}
WHAT_BY_REASON: dict[ErrorType, dict[str, str]] = {
    kind: {reason: row.sentence for reason, row in rows.items() if row.sentence}
    for kind, rows in _REASONS.items()
}
"""What happened, if the reason is more precise than the type."""

WHAT_OF_CLIENT = _TABLES["client"]
"""What happened, if the client caused it."""

ADVICE: dict[Action, str] = {action: row[0] for action, row in _ACTIONS.items()}
"""What to do, as the last sentence."""

BUTTONS: dict[Action, str] = {action: row[1] for action, row in _ACTIONS.items()}
"""The label of the button that leads to the action."""

ADVICE_OF_UNKNOWN = {
    reason: row.advice for reason, row in _REASONS[ErrorType.UNKNOWN].items() if row.advice
}
"""What to do, if only the reason is known."""

_ROWS = [pair for rows in _REASONS.values() for pair in rows.items()]
ADVICE_BY_REASON = {
    reason: row.advice for reason, row in _ROWS if row.advice and reason not in ADVICE_OF_UNKNOWN
}
"""What to do, if the reason is more precise than the action."""

ACTION_BY_REASON = {reason: Action(row.action) for reason, row in _ROWS if row.action}
RESTARTED_ADVICE = _TABLES["restarted"]
"""What else to do if a crashed agent is started again."""

PHASES: dict[str, str] = _TABLES["phases"]
ORIGINS: dict[str, str] = _TABLES["origins"]
"""Whose fault it was."""

CANCELLED_BY = _TABLES["ended by"]
"""Who ended a turn early."""

MISREAD = _TABLES["misread"]
"""Measured: some client drops, resends or swallows a failure whose text holds one of these."""

SAFETY: dict[str, str] = _TABLES["sending again"]
"""What sending the prompt again would do."""

STALL_FAULTS = _TABLES["faults of a stall"]
RULES = _TABLES["rules"]
"""What decided, by the first part of the classifier's rule."""

BASES = _TABLES["bases"]
"""The same as a sentence, where no rule of the classifier did."""

_TOOL_PHASES = (Phase.AFTER_TOOL, Phase.TOOL_RUNNING)


def type_of(facts: Mapping[str, Any]) -> ErrorType:
    """Return the type in a failure's facts; `unknown` for any other word."""
    word = str(facts.get("type"))
    return ErrorType(word) if word in TYPES else ErrorType.UNKNOWN


def what_of(error_type: ErrorType, reason: str | None, origin: str | None = None) -> str:
    """Return what happened: the reason's own sentence, or the type's."""
    by_client = WHAT_OF_CLIENT.get(reason or "") if origin == Origin.CLIENT else None
    return by_client or WHAT_BY_REASON[error_type].get(reason or "") or WHAT[error_type]


def _by_reason(error_type: ErrorType, reason: str | None) -> str | None:
    table = ADVICE_BY_REASON
    if error_type is ErrorType.UNKNOWN:
        table = ADVICE_BY_REASON | ADVICE_OF_UNKNOWN
    return table.get(reason or "")


def own_sentence(error_type: ErrorType, action: Action | None, reason: str | None = None) -> str:
    """Return the sentences for a failure that came without words of its own."""
    advice = _by_reason(error_type, reason) or ADVICE[action or DEFAULTS[error_type].action]
    return f"{what_of(error_type, reason)} {advice}"


def sentence_of(facts: Mapping[str, Any]) -> str:
    """Return what failed and what to do, in lastword's own words, from a failure's facts."""
    word, reason = str(facts.get("action")), str(facts.get("reason") or "")
    return own_sentence(type_of(facts), Action(word) if word in ADVICE else None, reason)


def _earliest(facts: Mapping[str, Any]) -> str:
    """Return the earliest moment at which a retry may help; empty if that is unknown."""
    wait, reset = facts.get("retry_after_seconds"), facts.get("reset_at_epoch_ms")
    if isinstance(wait, int) and wait > 0:
        return f"{plain_duration(wait)} after the failure"
    return plain_moment(reset).removeprefix("after ") if isinstance(reset, int) else ""


def advice_of(facts: Mapping[str, Any]) -> str:
    """Return what to do about a recorded failure, however old the record is."""
    action, earliest = str(facts.get("action")), _earliest(facts)
    if earliest and (facts.get("retryable") is True or action == Action.WAIT):
        return f"Try again no sooner than {earliest}."
    by_reason = _by_reason(type_of(facts), str(facts.get("reason")))
    return by_reason or (ADVICE[Action(action)] if action in ADVICE else "")


def whose_fault(facts: Mapping[str, Any]) -> str:
    """Return whose fault a failure was; empty if its origin is unknown."""
    origin = str(facts.get("origin"))
    whose = ORIGINS.get(origin, "")
    # What does not pass by itself may lie in what the provider was asked for.
    is_lasting = origin == Origin.PROVIDER and not DEFAULTS[type_of(facts)].retryable
    return f"{whose}, or the request's" if is_lasting else whose


def as_phrase(sentence: str) -> str:
    """Return a sentence of ours for the middle of a line."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def retry_words(facts: Mapping[str, Any]) -> str:
    """Return whether the prompt may be sent again after a failure; empty if that is unknown."""
    safety = str(facts.get("retry_safety"))
    if safety == RetrySafety.AUTO:
        wait = facts.get("retry_after_seconds")
        if isinstance(wait, int) and wait > 0:
            return f"yes, after {short_duration(wait)}"
        return "yes, it is safe"
    if safety == RetrySafety.OFFER_CONTINUE:
        return "it would repeat what was shown, so ask the agent to continue"
    if safety == RetrySafety.ASK:
        ran = "had run" if facts.get("phase") in _TOOL_PHASES else "may have run"
        return f"only if the user agrees, because a tool {ran}"
    if safety != RetrySafety.NEVER:
        return ""
    if _earliest(facts):
        return "not by itself, and not before the wait is over"
    if type_of(facts) is ErrorType.UNKNOWN:
        return "not by itself: whether it would help is not known"
    return "no, the same prompt would fail again"


# --- exit statuses --------------------------------------------------------------------------------

_MASK = 0xFFFFFFFF
_LARGE = 0x10000


@cache
def _windows_statuses() -> dict[int, str]:
    """Return the names of Windows' statuses."""
    [group] = [one for one in failure_groups("process") if one.tier == "windows_status"]
    return {row["match"]: row["name"] for row in group.rows}


def exit_status_words(code: int) -> str:
    """Return an exit status as a person says it: `exit status 0xC0000005 (access violation)`."""
    status = code & _MASK
    if status >= _LARGE and (name := _windows_statuses().get(status)):
        return f"exit status 0x{status:08X} ({name})"
    return f"exit status 0x{code:08X}" if code >= _LARGE else f"exit status {code}"


def exit_words(facts: Mapping[str, Any]) -> str:
    """Return the signal or else the exit status that ended a process; empty if none is known."""
    if facts.get("exit_signal"):
        return str(facts["exit_signal"])
    code = facts.get("exit_code")
    if code is None:
        return ""
    return exit_status_words(code) if isinstance(code, int) else f"exit status {code}"
