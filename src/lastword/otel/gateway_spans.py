"""Spans and measurements from a gateway holder's rows, as plain values.

Owns how OpenTelemetry sees a session behind a gateway: one span for as long as a process holds it,
with events for the session and its viewers, and a counter for each kind of event. Turns are
reported by the `lastword run` of the same run (`otel.spans`).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lastword.core.timeline.entry import Kind, Level
from lastword.core.timeline.session_events import GATEWAY
from lastword.otel import conventions as names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.record.run import Row

Attributes: TypeAlias = dict[str, str | int | float | bool]

MAX_EVENTS = 64
"""The most events of one session's span: the latest. The record itself keeps more."""

MAX_SESSIONS = 256
"""The most spans of one holder, which has one except for forks. The rest are only counted."""

COUNTED: dict[Kind, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    Kind.VIEWER_CAME: (names.VIEWERS_CAME, ("role", "back"), {}),
    Kind.VIEWER_LEFT: (names.VIEWERS_LEFT, ("code", "cause"), {}),
    Kind.VIEWER_LAGS: (names.LAGS, (), {}),
    Kind.GAP_TOLD: (names.GAPS, ("reason",), {}),
    Kind.QUESTION_HELD: (names.QUESTIONS_PENDING, ("what",), {}),
    Kind.QUESTION_DECIDED: (names.QUESTIONS, ("what", "how"), {}),
    Kind.HOLDER_DIED: (names.LOST, (), {"process": "holder"}),
    Kind.SESSION_FENCED: (names.LOST, (), {"process": "ownership"}),
    Kind.SUPERVISOR_EXITED: (names.LOST, ("exit_code", "exit_signal"), {"process": "run"}),
    Kind.SESSION_RESTORED: (names.RESTORED, ("history",), {}),
    Kind.SESSION_NOT_RESTORED: (names.RESTORED, ("reason",), {"history": "failed"}),
    Kind.LOG_RESET: (names.LOG_RESETS, ("reason",), {}),
    Kind.SESSION_ENDED: (names.SESSIONS_ENDED, ("cause",), {}),
}
"""The counter of each kind, the facts that become its attributes, and constant attributes."""

_CRASHED = "agent_crash"
"""The type that viewers receive for a turn that ended with its process."""


class GatewayEvent(msgspec.Struct, frozen=True):
    """An event of a session; its time is in the run's monotonic seconds."""

    name: str
    at_seconds: float
    attributes: Attributes


class GatewaySpan(msgspec.Struct, frozen=True, kw_only=True):
    """The time in which one process held a session, in the run's monotonic seconds."""

    started_seconds: float
    ended_seconds: float
    attributes: Attributes
    failed: bool
    events: tuple[GatewayEvent, ...]


class GatewaySessions:
    """Sessions of one holder, read from its rows."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenSession] = {}

    def receive(self, row: Row) -> GatewaySpan | None:
        """Receive a row; return the span that it completes, if any."""
        if row.kind not in GATEWAY or row.session_id is None:
            return None
        if row.kind == Kind.SESSION_HELD and len(self._open) < MAX_SESSIONS:
            self._open[row.session_id] = _OpenSession(row)
        session = self._open.get(row.session_id)
        if session is None:
            return None
        session.note(row)
        if row.kind != Kind.SESSION_ENDED:
            return None
        return self._open.pop(row.session_id).span()

    def rest(self) -> list[GatewaySpan]:
        """Return the sessions without an end, at the end of the run."""
        spans = [session.span() for session in self._open.values()]
        self._open.clear()
        return spans


class _OpenSession:
    """A session that has not ended."""

    def __init__(self, began: Row) -> None:
        self._began = self._last = began
        self._events: deque[GatewayEvent] = deque(maxlen=MAX_EVENTS)
        self._attributes: Attributes = {}

    def note(self, row: Row) -> None:
        self._last = row
        shown = attributes_of(row.facts, tuple(row.facts))
        if row.level == Level.ERROR:
            failed = {names.own("incident_id"): row.facts.get("incident_id")}
            failed[names.ERROR_TYPE] = row.facts.get("type", _CRASHED)
            self._attributes |= {name: value for name, value in failed.items() if value}
        if row.kind == Kind.SESSION_HELD:
            self._attributes |= shown
        else:
            self._events.append(GatewayEvent(names.own(row.kind), row.at_seconds, shown))

    def span(self) -> GatewaySpan:
        return GatewaySpan(
            started_seconds=self._began.at_seconds,
            ended_seconds=self._last.at_seconds,
            attributes={
                names.OPERATION: names.HOLD_SESSION,
                names.CONVERSATION: self._began.session_id or "",
                **self._attributes,
            },
            failed=names.ERROR_TYPE in self._attributes,
            events=tuple(self._events),
        )


def attributes_of(facts: Mapping[str, Any], names_of_facts: tuple[str, ...]) -> Attributes:
    """Return the facts that are plain values as attributes."""
    attributes: Attributes = {}
    for fact in names_of_facts:
        value = facts.get(fact)
        if isinstance(value, str | int | float | bool):
            attributes[names.ERROR_TYPE if fact == "type" else names.own(fact)] = value
    return attributes
