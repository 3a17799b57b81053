"""Entry kinds: the facts that an entry of each kind may carry, and what each of them means.

Owns the table, and the check of an entry against it. Tests hold every writer and reader of a fact
to it; no session imports it. A fact that is not known is left out, so a fact is never `None`. The
members of an entry other than its facts are described in `core.timeline.entry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry


class Fact(msgspec.Struct, frozen=True):
    """One fact.

    Attributes:
        of: the JSON type of its value.
        meaning: what it says.
        unit: what it counts or measures.
    """

    of: type
    meaning: str
    unit: str = ""


_SECONDS = "seconds"

_PEER = {
    "name": Fact(str, "its name for itself, at most 128 characters"),
    "version": Fact(str, "its version, at most 128 characters"),
    "protocol_version": Fact(int, "the version of ACP that it asked for, or chose"),
}

_FAILURE = {
    "type": Fact(str, "what went wrong: `core.failure.taxonomy.ErrorType`"),
    "message": Fact(str, "the agent's own sentence for the user; with --record-text alone"),
    "detail": Fact(dict, "what the provider or the process said, redacted; with --record-text"),
    "retryable": Fact(bool, "would the same request help later?"),
    "retry_after_seconds": Fact(int, "how long to wait, rounded up", _SECONDS),
    "reset_at_epoch_ms": Fact(int, "when a limit is reset", "milliseconds since 1970 UTC"),
    "source": Fact(str, "the provider"),
    "reason": Fact(str, "what exactly, as a word of low cardinality"),
    "origin": Fact(str, "whose fault: `Origin`"),
    "phase": Fact(str, "where in the turn: `Phase`"),
    "retry_safety": Fact(str, "would sending the prompt again do harm? `RetrySafety`"),
    "action": Fact(str, "what the user can do: `Action`"),
    "http_status": Fact(int, "the provider's HTTP status"),
    "provider_code": Fact(str, "the provider's own word for it"),
    "request_id": Fact(str, "the provider's id of the model call"),
    "attempts": Fact(int, "how often the model call was tried", "tries"),
    "exit_code": Fact(int, "the agent's exit status"),
    "exit_signal": Fact(str, "the signal that ended the agent, by name"),
    "incident_id": Fact(str, "what a user can quote; begins with the run's id"),
}
"""The members of the payload (`core.failure.taxonomy.AgentError`)."""

_VIEWER = {"viewer": Fact(str, "the gateway's id of a viewer, over all its sockets")}
_QUESTION = Fact(str, "`permission`, `form`, `file`, `command` or `other`")
_LOST = {
    "open_turns": Fact(int, "turns that ended with it; left out where none was open", "turns"),
    "incident_id": _FAILURE["incident_id"],
}

FACTS: dict[Kind, dict[str, Fact]] = {
    Kind.CLIENT_ATTACHED: _PEER
    | {"reads": Fact(list, "what it can be told by: `typed`, `retry`, `notices`, `air`")},
    Kind.CLIENT_DETACHED: {},
    Kind.CLIENT_GONE: {},
    Kind.SHUTDOWN: {"signal": Fact(str, "the signal that told us to stop, by name")},
    Kind.AGENT_STARTED: {"program": Fact(str, "the agent's program, its base name alone")},
    Kind.AGENT_READY: _PEER,
    Kind.AGENT_EXITED: {
        "exit_code": _FAILURE["exit_code"],
        "exit_signal": _FAILURE["exit_signal"],
        "reason": _FAILURE["reason"],
        "open_turns": Fact(int, "turns that were open then; left out where none was", "turns"),
    },
    Kind.AGENT_RESTARTED: {"attempt": Fact(int, "which life of the agent's begins, from 2")},
    Kind.SESSION_CREATED: {"how": Fact(str, "the method's last part: `new`, `load`, `resume`, …")},
    Kind.SESSION_RESUMED: {},
    Kind.CONTEXT_LOST: {
        "why": Fact(str, "`agent_cannot`, `refused`, `timeout` or `id_taken`"),
        "said": Fact(str, "what the agent said to that, redacted; with --record-text alone"),
    },
    Kind.PROMPT: {
        "traceparent": Fact(str, "the client's span, in W3C's form, at most 128 characters"),
    },
    Kind.FIRST_PROGRESS: {},
    Kind.FIRST_OUTPUT: {},
    Kind.TOOL_STARTED: {
        "call": Fact(str, "the tool call's id, at most 128 characters"),
        "tool": Fact(str, "its kind, as ACP names it; left out where it has none of those"),
        "side_effects": Fact(bool, "may it change something? As a handler in this process says"),
    },
    Kind.TOOL_ENDED: {
        "call": Fact(str, "the tool call's id, at most 128 characters"),
        "status": Fact(str, "how it ended, as ACP names it, or `other`"),
    },
    Kind.DELEGATED: {"what": Fact(str, "`file` or `command`")},
    Kind.ASKED: {"what": Fact(str, "`permission` or `form`")},
    Kind.USER_ANSWERED: {
        "outcome": Fact(str, "the kind of the option that was chosen, never its words"),
    },
    Kind.RETRY: {
        "type": Fact(str, "what the last try failed of: `ErrorType`"),
        "attempt": Fact(float, "the number of the try that comes next; the first was 1"),
        "max_attempts": Fact(float, "how many there will be at most", "tries"),
        "wait_seconds": Fact(float, "how long from now", _SECONDS),
        "source": Fact(str, "where that was seen: `wire`, `stderr`, `log`, `events` or `journal`"),
    },
    Kind.SILENCE: {"silent_seconds": Fact(int, "since when nothing has been seen", _SECONDS)},
    Kind.STDERR: {
        "bytes": Fact(int, "what came since it was last told of", "bytes"),
        "tail": Fact(str, "the end of it, redacted; with --record-text alone"),
    },
    Kind.CANCEL: {
        "by": Fact(str, "whose wish: `core.timeline.entry.By`"),
        "type": Fact(str, "what the watchdog found: `ErrorType`"),
        "reason": Fact(str, "which limit, as a word of low cardinality"),
    },
    Kind.ANSWER: {
        "stop_reason": Fact(str, "as the client was told; left out where the agent gave none"),
        "by": Fact(str, "who answered: `agent` or `lastword`"),
        "cancelled": Fact(bool, "the user had cancelled, though the stop reason says otherwise"),
    },
    Kind.ERROR: _FAILURE
    | {
        "by": Fact(str, "`agent`, where it told the client so itself"),
        "method": Fact(str, "of a request that is no prompt, at most 128 characters"),
        "rule": Fact(str, "which row of the classifier decided"),
        "redactions": Fact(dict, "how often each rule took something out, by the rule's name"),
    },
    Kind.FRAME_DROPPED: {
        "side": Fact(str, "whose frame it was: `client` or `agent`"),
        "reason": Fact(str, "why it was kept back, as a word of low cardinality"),
    },
    Kind.FRAME_REPAIRED: {"reason": Fact(str, "what was wrong with it")},
    Kind.QUARANTINED: {},
    Kind.RELEASED: {},
    Kind.OMITTED: {
        "count": Fact(int, "how many entries are missing", "entries"),
        "kinds": Fact(dict, "how many of each kind"),
    },
    Kind.SESSION_HELD: {
        "name": Fact(str, "the gateway's id of it, where that is not the agent's"),
    },
    Kind.VIEWER_CAME: _VIEWER
    | {
        "role": Fact(str, "`controller` or `observer`"),
        "client": Fact(str, "its name for itself, at most 128 characters"),
        "back": Fact(bool, "it goes on where it was"),
    },
    Kind.VIEWER_LEFT: _VIEWER
    | {
        "code": Fact(int, "the close code of its socket"),
        "cause": Fact(str, "what ended it, as a word of low cardinality"),
    },
    Kind.VIEWER_LAGS: _VIEWER
    | {
        "entries": Fact(int, "how many it has not taken", "entries"),
        "bytes": Fact(int, "how large they are", "bytes"),
    },
    Kind.VIEWER_CAUGHT_UP: _VIEWER,
    Kind.GAP_TOLD: _VIEWER
    | {
        "first": Fact(int, "the number of the first entry that is no more"),
        "last": Fact(int, "the number of the last"),
        "reason": Fact(str, "`trimmed`"),
    },
    Kind.QUESTION_HELD: {"what": _QUESTION},
    Kind.QUESTION_DECIDED: _VIEWER
    | {
        "what": _QUESTION,
        "how": Fact(
            str,
            "`answered`, `expired` or `rejected` for want of anybody, `withdrawn` by the agent, "
            "`lost` with it",
        ),
    },
    Kind.HOLDER_DIED: _LOST,
    Kind.SESSION_RESTORED: {
        "history": Fact(str, "what the agent knows of the past: `full` or `none`"),
    },
    Kind.SESSION_NOT_RESTORED: {name: _FAILURE[name] for name in ("type", "reason", "incident_id")},
    Kind.SUPERVISOR_EXITED: _LOST | {name: _FAILURE[name] for name in ("exit_code", "exit_signal")},
    Kind.LOG_RESET: {
        "reason": Fact(str, "`damaged`, `restored`, `rebooted` or `disk`"),
    },
    Kind.SESSION_ENDED: {
        "cause": Fact(str, "`closed`, `left`, `idle` or `stopped`"),
    },
}


def problems_of(entry: Entry) -> list[str]:
    """Return what this entry says that no entry of its kind may say."""
    known = FACTS[entry.kind]
    found = []
    for name, value in entry.facts.items():
        fact = known.get(name)
        if fact is None:
            found.append(f"{entry.kind.value} has no fact {name!r}")
        elif not _is_a(value, fact.of):
            found.append(f"{entry.kind.value}: {name} is {value!r}, and no {fact.of.__name__}")
    return found


def _is_a(value: object, of: type) -> bool:
    if isinstance(value, bool):
        return of is bool
    # Whole numbers are numbers.
    return isinstance(value, (int, float) if of is float else of)
