"""Events of sessions: one table of what may happen, for the record, the API, metrics and pages.

Owns the kinds' labels, groups and facts, and the check of an entry against them. Code that needs
only a kind's name or level imports `core.timeline.entry`. An unknown fact is absent, so a fact is
never `None`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.members import MEMBERS, ValueForm
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry


class Group(StrEnum):
    """A filter of the pages, by its name, which shows the kinds that name it."""

    FAILURES = "Failures"
    RETRIES = "Failures and retries"
    """Retries and warnings; the filter shows failures too."""
    TURNS = "Turns"
    QUESTIONS = "Tools and questions"
    CONNECTIONS = "Connections"


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


class EventSpec(msgspec.Struct, frozen=True):
    """One kind of event.

    Attributes:
        label: what a page calls it.
        facts: the facts that it may have.
        groups: the filters of the pages that show it.
        in_log: a session's log at a gateway has it, too.
        word: its word in the log, on the wire and in metrics, where that is an older one than the
            kind's.
    """

    label: str
    facts: dict[str, Fact]
    groups: tuple[Group, ...] = ()
    in_log: bool = False
    word: str = ""


_SECONDS = "seconds"

_PEER = {
    "name": Fact(str, "the name that it gives itself, at most 128 characters"),
    "version": Fact(str, "its version, at most 128 characters"),
    "protocol_version": Fact(int, "the version of ACP that it asked for, or chose"),
}

_TYPES = {ValueForm.FLAG: bool, ValueForm.COUNT: int, ValueForm.WHOLE: int, ValueForm.DETAIL: dict}
"""The JSON types of the payload's members; every other form is a text."""

_WAITS = {
    "provider_seconds": Fact(int, "how long it waited in silence for the model provider", _SECONDS),
    "tool_seconds": Fact(
        int, "the same for a program or a server that it had not announced", _SECONDS
    ),
    "agent_seconds": Fact(
        int, "the same while the agent computed, was stopped or waited for a disk", _SECONDS
    ),
}

_FAILURE = {
    member.name: Fact(_TYPES.get(member.form, str), member.description, member.unit)
    for member in MEMBERS
}
"""The members of the payload. Those that are somebody's own text are recorded with --record-text
alone."""

_VIEWER = {"viewer": Fact(str, "the gateway's id of a viewer, over all its sockets")}
_QUESTION = Fact(str, "`permission`, `form`, `file`, `command` or `other`")
_LOST = {
    "open_turns": Fact(int, "turns that ended with it; absent if none was open", "turns"),
    "incident_id": _FAILURE["incident_id"],
}

_METHOD = Fact(str, "the request's, or `other`")

_RUN = {
    Kind.CLIENT_ATTACHED: EventSpec(
        "The client connected",
        _PEER | {"reads": Fact(list, "what it can receive: `typed`, `retry`, `notices`, `air`")},
        groups=(Group.CONNECTIONS,),
    ),
    Kind.CLIENT_DETACHED: EventSpec("The client disconnected", {}, groups=(Group.CONNECTIONS,)),
    Kind.CLIENT_GONE: EventSpec(
        "The client disappeared", {}, groups=(Group.FAILURES, Group.CONNECTIONS)
    ),
    Kind.SHUTDOWN: EventSpec(
        "lastword was told to stop",
        {"signal": Fact(str, "the signal that stopped lastword, by name")},
    ),
    Kind.AGENT_STARTED: EventSpec(
        "The agent's process started",
        {"program": Fact(str, "the agent's program, its base name alone")},
    ),
    Kind.AGENT_READY: EventSpec("The agent is ready", _PEER),
    Kind.AGENT_EXITED: EventSpec(
        "The agent's process ended",
        {
            "exit_code": _FAILURE["exit_code"],
            "exit_signal": _FAILURE["exit_signal"],
            "reason": _FAILURE["reason"],
            "open_turns": Fact(int, "turns that were open then; absent if none was", "turns"),
        },
        groups=(Group.FAILURES,),
    ),
    Kind.AGENT_RESTARTED: EventSpec(
        "The agent was restarted",
        {"attempt": Fact(int, "the number of the new process, from 2")},
        groups=(Group.RETRIES,),
    ),
    Kind.SESSION_CREATED: EventSpec(
        "The session started",
        {"how": Fact(str, "the method's last part: `new`, `load`, `resume`, …")},
    ),
    Kind.SESSION_RESUMED: EventSpec("The session was restored", {}),
    Kind.CONTEXT_LOST: EventSpec(
        "The session could not be restored",
        {
            "why": Fact(str, "`agent_cannot`, `refused`, `timeout` or `id_taken`"),
            "said": Fact(str, "the agent's own words, redacted; only with --record-text"),
        },
        groups=(Group.FAILURES,),
    ),
    Kind.PROMPT: EventSpec(
        "Prompt",
        {
            "traceparent": Fact(str, "the client's span, in W3C's form, at most 128 characters"),
        },
        groups=(Group.TURNS,),
        in_log=True,
    ),
    Kind.FIRST_PROGRESS: EventSpec("First sign of work", {}),
    Kind.FIRST_OUTPUT: EventSpec("First output", {}),
    Kind.TOOL_STARTED: EventSpec(
        "Tool starts",
        {
            "call": Fact(str, "the tool call's id, at most 128 characters"),
            "tool": Fact(str, "its kind, as ACP names it; absent for any other"),
            "side_effects": Fact(
                bool, "may it change something? As its handler in this process declares"
            ),
        },
        groups=(Group.QUESTIONS,),
        in_log=True,
    ),
    Kind.TOOL_ENDED: EventSpec(
        "Tool ends",
        {
            "call": Fact(str, "the tool call's id, at most 128 characters"),
            "status": Fact(str, "how it ended, as ACP names it, or `other`"),
        },
        groups=(Group.QUESTIONS,),
        in_log=True,
    ),
    Kind.DELEGATED: EventSpec(
        "The agent asks the client to act",
        {"what": Fact(str, "`file` or `command`")},
        groups=(Group.QUESTIONS,),
        in_log=True,
    ),
    Kind.ASKED: EventSpec(
        "The agent asks",
        {"what": Fact(str, "`permission` or `form`")},
        groups=(Group.QUESTIONS,),
        in_log=True,
    ),
    Kind.USER_ANSWERED: EventSpec(
        "Answer to a question",
        {
            "outcome": Fact(str, "the kind of the chosen option, never its text"),
        },
        groups=(Group.QUESTIONS,),
    ),
    Kind.QUESTION_REMINDED: EventSpec(
        "Question still open",
        {
            "what": Fact(str, "`permission` or `form`"),
            "waited_seconds": Fact(int, "how long it has been open", _SECONDS),
        },
        groups=(Group.QUESTIONS,),
    ),
    Kind.QUESTION_EXPIRED: EventSpec(
        "Question timed out",
        {
            "what": Fact(str, "`permission` or `form`"),
            "outcome": Fact(
                str, "how: `reject_once` or `cancelled`; of a form, `decline` or `cancel`"
            ),
            "waited_seconds": Fact(int, "how long it had been open", _SECONDS),
        },
        groups=(Group.QUESTIONS,),
    ),
    Kind.MODEL_REQUEST: EventSpec(
        "Request to the model provider",
        {
            "host": Fact(str, "where it was sent, at most 128 characters"),
            "status": Fact(int, "the answer's; absent if none came"),
            "type": Fact(str, "why it failed: `ErrorType`; absent if it did not"),
            "attempt": Fact(int, "its number among the attempts at the same call, from 1"),
            "first_byte_seconds": Fact(float, "the time until the answer began", _SECONDS),
            "total_seconds": Fact(float, "the time until it was over", _SECONDS),
        },
        groups=(Group.TURNS,),
    ),
    Kind.RETRY: EventSpec(
        "The agent tries again",
        {
            "type": Fact(str, "why the last attempt failed: `ErrorType`"),
            "attempt": Fact(float, "the number of the next attempt; the first was 1"),
            "max_attempts": Fact(float, "the most attempts that there will be", "attempts"),
            "wait_seconds": Fact(float, "the wait until then", _SECONDS),
            "source": Fact(
                str,
                "where it was seen: `wire`, `stderr`, `log`, `events`, `journal` or `observer`",
            ),
        },
        groups=(Group.RETRIES,),
        in_log=True,
    ),
    Kind.LIMIT_WAIT: EventSpec(
        "Waits for a limit",
        {
            "type": Fact(str, "what the turn failed of: `ErrorType`"),
            "wait_seconds": Fact(float, "the wait until then", _SECONDS),
            "until_epoch_ms": Fact(
                int, "the moment at which it ends, in milliseconds since 1970 UTC"
            ),
        },
        groups=(Group.RETRIES,),
        in_log=True,
    ),
    Kind.MODEL_SWITCH: EventSpec(
        "Another model",
        {
            "from_model": Fact(str, "the model before, at most 128 characters"),
            "to_model": Fact(str, "the model that was asked for, at most 128 characters"),
            "outcome": Fact(
                str,
                "`switched`, `refused`, `restored` or `not_restored`; at a session's start "
                "`not_offered` or `no_models`",
            ),
        },
        groups=(Group.RETRIES,),
        in_log=True,
    ),
    Kind.CONTINUED: EventSpec(
        "Goes on",
        {"what": Fact(str, "with what: `same_prompt`, `new_prompt` or `same_call`")},
        groups=(Group.RETRIES,),
        in_log=True,
    ),
    Kind.COST: EventSpec(
        "Cost",
        {
            "amount": Fact(float, "what the turn has cost since its last such entry"),
            "currency": Fact(str, "its currency, as an ISO 4217 code"),
            "model": Fact(
                str, "the session's model, if the agent says which, at most 128 characters"
            ),
        },
        groups=(Group.TURNS,),
    ),
    Kind.SPEND_LIMIT: EventSpec(
        "Spending limit",
        {
            "what": Fact(str, "`near`, `reached`, `other_currency` or `no_cost`"),
            "spent": Fact(float, "what was spent of it"),
            "limit": Fact(float, "the amount of --spend-limit"),
            "currency": Fact(str, "its currency, as an ISO 4217 code"),
            "scope": Fact(str, "`turn`, `session` or `day`"),
        },
        groups=(Group.RETRIES,),
    ),
    Kind.SILENCE: EventSpec(
        "Silence",
        {
            "silent_seconds": Fact(int, "the time since the last message", _SECONDS),
            "cause": Fact(str, "why, if it was seen: `core.link.facts.Cause`"),
            "cause_seconds": Fact(int, "how long that had lasted", _SECONDS),
            "program": Fact(str, "the name of the program that runs, without its arguments"),
            "call": Fact(str, "the call that has been running longest, by its id"),
            "tool": Fact(str, "its kind, as ACP names it; absent for any other"),
            "tries": Fact(int, "how often the request had been sent", "requests"),
        },
        groups=(Group.RETRIES,),
    ),
    Kind.STDERR: EventSpec(
        "The agent's stderr",
        {
            "bytes": Fact(int, "what came since the last entry", "bytes"),
            "tail": Fact(str, "the end of it, redacted; only with --record-text"),
        },
    ),
    Kind.CANCEL: EventSpec(
        "Cancel",
        {
            "by": Fact(str, "who wanted it: `core.timeline.entry.By`"),
            "type": Fact(str, "what the watchdog detected: `ErrorType`"),
            "reason": Fact(str, "which limit, as a word of low cardinality"),
        },
        groups=(Group.TURNS,),
        in_log=True,
    ),
    Kind.ANSWER: EventSpec(
        "The turn ends",
        {
            "stop_reason": Fact(str, "as the client received it; absent if the agent gave none"),
            "by": Fact(str, "who answered: `agent` or `lastword`"),
            "cancelled": Fact(
                bool, "the user had cancelled, though the stop reason says otherwise"
            ),
        }
        | _WAITS,
        groups=(Group.TURNS,),
        in_log=True,
    ),
    Kind.ERROR: EventSpec(
        "Failure",
        _FAILURE
        | {
            "by": Fact(str, "`agent`, if it reported the failure itself"),
            "method": Fact(str, "of a request other than a prompt, at most 128 characters"),
            "rule": Fact(str, "which row of the classifier decided"),
            "retry_refused": Fact(bool, "the retries of this process were used up"),
            "redactions": Fact(dict, "how often each rule removed something, by the rule's name"),
        }
        | _WAITS,
        groups=(Group.FAILURES, Group.TURNS),
        in_log=True,
    ),
    Kind.FRAME_DROPPED: EventSpec(
        "A message was withheld",
        {
            "side": Fact(str, "who sent it: `client` or `agent`"),
            "reason": Fact(str, "why it was withheld, as a word of low cardinality"),
        },
    ),
    Kind.FRAME_REPAIRED: EventSpec(
        "A message was repaired", {"reason": Fact(str, "what was wrong with it")}
    ),
    Kind.QUARANTINED: EventSpec("The agent is still working on an ended turn", {}),
    Kind.RELEASED: EventSpec("The agent has finished the ended turn", {}),
    Kind.OMITTED: EventSpec(
        "Entries omitted",
        {
            "count": Fact(int, "how many entries are missing", "entries"),
            "kinds": Fact(dict, "how many of each kind"),
        },
    ),
}
"""The kinds that `lastword run` or a guard records."""

_HOLDER = {
    Kind.SESSION_HELD: EventSpec(
        "The gateway holds the session",
        {
            "name": Fact(str, "the gateway's id of it, if it differs from the agent's"),
        },
    ),
    Kind.SESSION_FENCED: EventSpec(
        "Another machine took the session over",
        {
            "term": Fact(int, "the number of the ownership that ended"),
            "entries": Fact(
                int, "how many entries of its end nobody was shown, and were set aside", "entries"
            ),
        },
        groups=(Group.FAILURES, Group.CONNECTIONS),
    ),
    Kind.QUESTION_DECIDED: EventSpec(
        "A question was settled",
        _VIEWER
        | {
            "what": _QUESTION,
            "how": Fact(
                str,
                "`answered`, `expired` or `rejected` because no viewer was there, `timed_out` "
                "because none answered in time, `withdrawn` by the agent, `lost` with it",
            ),
        },
        groups=(Group.QUESTIONS,),
        in_log=True,
    ),
}
"""The kinds that a holder records of its sessions, besides `life`."""

_LIFE = {
    Kind.VIEWER_CAME: EventSpec(
        "A viewer connected",
        _VIEWER
        | {
            "role": Fact(str, "`controller` or `observer`"),
            "client": Fact(str, "the name that it gives itself, at most 128 characters"),
            "back": Fact(bool, "it continues where it was"),
        },
        groups=(Group.CONNECTIONS,),
    ),
    Kind.VIEWER_LEFT: EventSpec(
        "A viewer disconnected",
        _VIEWER
        | {
            "code": Fact(int, "the close code of its socket"),
            "cause": Fact(str, "what ended it, as a word of low cardinality"),
        },
        groups=(Group.CONNECTIONS,),
    ),
    Kind.VIEWER_LAGS: EventSpec(
        "A viewer is behind",
        _VIEWER
        | {
            "entries": Fact(int, "how many it has not received", "entries"),
            "bytes": Fact(int, "how large they are", "bytes"),
        },
        groups=(Group.CONNECTIONS,),
    ),
    Kind.VIEWER_CAUGHT_UP: EventSpec(
        "A viewer has caught up", _VIEWER, groups=(Group.CONNECTIONS,)
    ),
    Kind.GAP_TOLD: EventSpec(
        "A viewer missed entries",
        _VIEWER
        | {
            "first": Fact(int, "the number of the first entry that is no longer kept"),
            "last": Fact(int, "the number of the last"),
            "reason": Fact(str, "`trimmed`"),
        },
        groups=(Group.CONNECTIONS,),
    ),
    Kind.QUESTION_HELD: EventSpec(
        "A question is waiting for a viewer",
        {"what": _QUESTION},
        groups=(Group.QUESTIONS,),
    ),
    Kind.HOLDER_DIED: EventSpec(
        "The session's process died",
        _LOST,
        groups=(Group.FAILURES, Group.CONNECTIONS),
    ),
    Kind.SESSION_RESTORED: EventSpec(
        "The session was restored",
        {
            "history": Fact(str, "what the agent remembers: `full` or `none`"),
        },
        groups=(Group.CONNECTIONS,),
        word="restored",
    ),
    Kind.SESSION_NOT_RESTORED: EventSpec(
        "The session could not be restored",
        {name: _FAILURE[name] for name in ("type", "reason", "incident_id")},
        groups=(Group.FAILURES,),
        word="not_restored",
    ),
    Kind.SUPERVISOR_EXITED: EventSpec(
        "The agent's process ended",
        _LOST | {name: _FAILURE[name] for name in ("exit_code", "exit_signal")},
        groups=(Group.FAILURES,),
        word="agent_ended",
    ),
    Kind.LOG_RESET: EventSpec(
        "The log was started again",
        {
            "reason": Fact(str, "`damaged`, `restored`, `rebooted`, `disk`, `fleet` or `lost`"),
        },
        groups=(Group.FAILURES,),
    ),
    Kind.SESSION_ENDED: EventSpec(
        "The session ended",
        {
            "cause": Fact(str, "`closed`, `left`, `idle` or `stopped`"),
        },
    ),
}
"""The events that a holder records and writes into a session's log as `life`."""

_LOG = {
    Kind.UPDATE: EventSpec(
        "Update from the agent",
        {
            "update": Fact(str, "its kind, or its method, as ACP names it, or `other`"),
            "bytes": Fact(int, "how large its frame is", "bytes"),
        },
    ),
    Kind.REQUEST: EventSpec("Request", {"method": _METHOD}),
    Kind.RESULT: EventSpec("Answer to a request", {"method": _METHOD}),
    Kind.WAITS: EventSpec(
        "A wait was announced",
        {"text": Fact(str, "the line, in lastword's words")},
        groups=(Group.RETRIES,),
    ),
    Kind.ACTIVITY: EventSpec(
        "Work without a turn",
        {"what": Fact(str, "`active`, or `quiet` after 10 s without an update")},
        groups=(Group.TURNS,),
    ),
    Kind.CLIENT_ERROR: EventSpec(
        "A viewer reports an error",
        {
            "source": Fact(str, "the program that reports: `page` or `connect`"),
            "word": Fact(str, "what failed, as a word of low cardinality"),
            "code": Fact(int, "a close code"),
            "status": Fact(int, "an HTTP status"),
            "tries": Fact(int, "how often it tried", "tries"),
            "lasted_ms": Fact(int, "how long that lasted", "milliseconds"),
        },
        groups=(Group.FAILURES, Group.CONNECTIONS),
    ),
    Kind.LIFE: EventSpec("News", {"word": Fact(str, "what happened, as a word")}),
}
"""The events that only a gateway's log has."""

SESSION_EVENTS: dict[Kind, EventSpec] = _RUN | _HOLDER | _LIFE | _LOG

FACTS = {kind: spec.facts for kind, spec in SESSION_EVENTS.items()}

GATEWAY = frozenset({*_HOLDER, *_LIFE})
"""The kinds that a gateway's holder records, besides those of `lastword run` in the same run."""

RECORDED = GATEWAY | _RUN.keys()

WORDS = {kind: spec.word or kind.value for kind, spec in _LIFE.items()} | {
    kind: kind.value
    for kind in (Kind.LIMIT_WAIT, Kind.CONTINUED, Kind.WAITS, Kind.ACTIVITY, Kind.CLIENT_ERROR)
}
"""Of a `life` entry: its word in the log and on the wire; in metrics, if it is recorded."""

BY_WORD = {word: kind for kind, word in WORDS.items()}
"""The kind of a `life` entry; any other is `Kind.LIFE`."""

LOG_KINDS = tuple(
    kind for kind, spec in SESSION_EVENTS.items() if spec.in_log or kind in _LIFE or kind in _LOG
)
"""The events in a gateway's log, which its API and page show."""


def problems_of(entry: Entry) -> list[str]:
    """Return the facts of this entry that its kind does not allow."""
    allowed = FACTS[entry.kind]
    problems = []
    for name, value in entry.facts.items():
        fact = allowed.get(name)
        if fact is None:
            problems.append(f"{entry.kind.value} has no fact {name!r}")
        elif not _is_a(value, fact.of):
            problems.append(f"{entry.kind.value}: {name} is {value!r}, not a {fact.of.__name__}")
    return problems


def _is_a(value: object, of: type) -> bool:
    if isinstance(value, bool):
        return of is bool
    # Whole numbers are numbers.
    return isinstance(value, (int, float) if of is float else of)
