"""Spans and measurements from rows of the record, as plain values.

Owns the spans of a turn, a tool call and a failure. It imports no library of OpenTelemetry:
`otel.telemetry` makes the calls. The values contain no text from any party.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lastword.core.protocol import acp
from lastword.core.timeline.entry import Kind, ended_by_cancel
from lastword.otel import conventions as names
from lastword.otel import gateway_spans
from lastword.otel.gateway_spans import attributes_of
from lastword.record import turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.record.run import Row, Run

Attributes: TypeAlias = dict[str, str | int | float | bool]

MAX_EVENTS = 64
"""The most events of one turn's span; the record itself keeps more."""

MAX_TURNS = 256
"""The limit of open turns; beyond it, the oldest is reported unfinished."""

UNKNOWN_TOOL = "other"

EVENTS: dict[Kind, tuple[str, ...]] = {
    Kind.FIRST_OUTPUT: (),
    Kind.ASKED: ("what",),
    Kind.USER_ANSWERED: ("outcome",),
    Kind.QUESTION_REMINDED: ("what", "waited_seconds"),
    Kind.QUESTION_EXPIRED: ("what", "outcome", "waited_seconds"),
    Kind.RETRY: ("attempt", "max_attempts", "wait_seconds", "type"),
    Kind.LIMIT_WAIT: ("type", "wait_seconds"),
    Kind.MODEL_SWITCH: ("outcome", "from_model", "to_model"),
    Kind.CONTINUED: ("what",),
    Kind.COST: ("amount", "currency", "model"),
    Kind.MODEL_REQUEST: (
        "host",
        "status",
        "type",
        "attempt",
        "first_byte_seconds",
        "total_seconds",
    ),
    Kind.SPEND_LIMIT: ("what", "spent", "limit", "currency", "scope"),
    Kind.SILENCE: ("silent_seconds",),
    Kind.CANCEL: ("by", "reason"),
    Kind.FRAME_DROPPED: ("side", "reason"),
    Kind.QUARANTINED: (),
}
"""The kinds that become events of a turn's span, each with its facts."""

COUNTED: dict[Kind, tuple[str, tuple[str, ...], Mapping[str, str]]] = gateway_spans.COUNTED | {
    Kind.ERROR: (names.ERRORS, ("type", "origin", "phase", "reason"), {}),
    Kind.AGENT_RESTARTED: (names.RESTARTS, (), {}),
    Kind.RETRY: (names.RETRIES, ("type",), {}),
    Kind.SILENCE: (names.SILENCES, (), {}),
    Kind.FRAME_DROPPED: (names.DROPPED, ("side", "reason"), {}),
}
"""The counter of each kind, the facts that become its attributes, and constant attributes."""

_OMISSIBLE = (Kind.FRAME_DROPPED, Kind.RETRY, Kind.SILENCE)
"""Kinds that are counted even if the record has only their number."""

_END_FACTS = ("reason", "phase", "origin", "retryable", "retry_safety", "incident_id", "by", "rule")


class SpanEvent(msgspec.Struct, frozen=True):
    """A moment within a span; times are seconds since 1970 UTC."""

    name: str
    at_seconds: float
    attributes: Attributes


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """An operation with a duration; times are seconds since 1970 UTC.

    Attributes:
        name: its name.
        started_seconds: when it began.
        ended_seconds: when it ended.
        attributes: its attributes.
        failed: whether it failed.
        events: the events during it.
        children: the operations within it.
        traceparent: the client's span to which it belongs, in W3C's form.
    """

    name: str
    started_seconds: float
    ended_seconds: float
    attributes: Attributes
    failed: bool = False
    events: tuple[SpanEvent, ...] = ()
    children: tuple[Span, ...] = ()
    traceparent: str | None = None


class Measured(msgspec.Struct, frozen=True):
    """An amount to add to a counter, or to record in a histogram."""

    metric: str
    value: float
    attributes: Attributes


TelemetryItem: TypeAlias = Span | Measured


class SpanBuilder:
    """The spans and measurements of one run, built from its rows."""

    def __init__(self, run: Run, offset_seconds: float) -> None:
        """Create one; `offset_seconds` converts the run's monotonic clock into seconds since 1970.

        The offset is fixed for the whole run, so that spans do not jump when the clock is set.
        """
        self._run = run
        self._agent: Attributes = {}
        self._open: dict[int, _Turn] = {}
        self._offset = offset_seconds
        self._gateway = gateway_spans.GatewaySessions()

    def receive(self, row: Row) -> list[TelemetryItem]:
        """Receive a row; return what to report now."""
        if row.kind == Kind.AGENT_READY:
            members = {names.AGENT_NAME: "name", names.AGENT_VERSION: "version"}
            self._agent = {
                name: row.facts[key] for name, key in members.items() if row.facts.get(key)
            }
        items: list[TelemetryItem] = []
        if row.kind == Kind.OMITTED:
            omitted = row.facts.get("kinds") or {}
            items += [
                self._count(COUNTED[kind][0], omitted[kind.value], {})
                for kind in _OMISSIBLE
                if kind.value in omitted
            ]
        elif row.kind in COUNTED:
            metric, facts, words = COUNTED[Kind(row.kind)]
            constant: Attributes = {names.own(word): value for word, value in words.items()}
            items.append(self._count(metric, 1, attributes_of(row.facts, facts) | constant))
        gateway_span = self._gateway.receive(row)
        if gateway_span is not None:
            items.append(self._holding(gateway_span))
        turn = None if row.turn is None else self._open.get(row.turn)
        if row.kind == Kind.PROMPT and row.turn is not None:
            if len(self._open) >= MAX_TURNS:
                items += self._ended(self._open.pop(next(iter(self._open))), None)
            self._open[row.turn] = _Turn(row, self._offset)
        elif turn is not None and row.kind in (Kind.ANSWER, Kind.ERROR):
            del self._open[turn.prompt.turn or 0]
            items += self._ended(turn, row)
        elif turn is not None:
            if row.kind in (Kind.FIRST_OUTPUT, Kind.ASKED) and not turn.has_output:
                turn.has_output = True
                took = row.at_seconds - turn.prompt.at_seconds
                items.append(self._count(names.FIRST_OUTPUT_SECONDS, took, {}))
            turn.note(row)
        return items

    def rest(self) -> list[TelemetryItem]:
        """Return what to report at the end of the run: turns and sessions without an end."""
        reported = [part for turn in self._open.values() for part in self._ended(turn, None)]
        self._open.clear()
        return reported + [self._holding(gateway_span) for gateway_span in self._gateway.rest()]

    def _holding(self, gateway_span: gateway_spans.GatewaySpan) -> Span:
        """Return the span of a session that a gateway held."""
        return Span(
            name=names.HOLD_SESSION,
            started_seconds=gateway_span.started_seconds + self._offset,
            ended_seconds=gateway_span.ended_seconds + self._offset,
            attributes=gateway_span.attributes | self._common(),
            failed=gateway_span.failed,
            events=tuple(
                SpanEvent(event.name, event.at_seconds + self._offset, event.attributes)
                for event in gateway_span.events
            ),
        )

    def _ended(self, turn: _Turn, end: Row | None) -> list[TelemetryItem]:
        if end is None:
            outcome = turns.OPEN
        elif end.kind == Kind.ERROR:
            outcome = turns.FAILED
        else:
            outcome = turns.CANCELLED if ended_by_cancel(end.facts) else turns.OK
        last = end or turn.last
        span = turn.span(last, self._agent | self._common(), outcome)
        took = last.at_seconds - turn.prompt.at_seconds
        attributes: dict[str, str | None] = {names.OUTCOME: outcome}
        if outcome == turns.FAILED and end is not None:
            attributes[names.ERROR_TYPE] = str(end.facts.get("type"))
        return [
            span,
            self._count(names.TURNS, 1, attributes),
            self._count(names.TURN_SECONDS, took, attributes),
        ]

    def _common(self) -> Attributes:
        return {names.DOOR: self._run.door, names.RUN: self._run.run_id}

    def _count(
        self, metric: str, value: float, words: Mapping[str, str | float | bool | None]
    ) -> Measured:
        attributes: Attributes = {name: word for name, word in words.items() if word is not None}
        agent = self._agent.get(names.AGENT_NAME)
        if agent is not None:
            attributes[names.AGENT_NAME] = agent
        return Measured(metric, value, attributes | {names.DOOR: self._run.door})


class _Turn:
    """A turn that has not ended."""

    __slots__ = ("_events", "_offset", "_open_tools", "_tools", "has_output", "last", "prompt")

    def __init__(self, prompt: Row, offset: float) -> None:
        self.prompt = self.last = prompt
        self.has_output = False
        self._offset = offset
        self._events: list[SpanEvent] = []
        self._open_tools: list[Row] = []
        self._tools: list[Span] = []

    def note(self, row: Row) -> None:
        self.last = row
        kind = Kind(row.kind)
        if kind is Kind.TOOL_STARTED:
            self._open_tools.append(row)
        elif kind is Kind.TOOL_ENDED:
            call = row.facts.get("call")
            for started in reversed(self._open_tools):
                if started.facts.get("call") == call:
                    self._close_tool(started, row, str(row.facts.get("status", "completed")))
                    break
        elif kind in EVENTS and len(self._events) < MAX_EVENTS:
            attributes = attributes_of(row.facts, EVENTS[kind])
            self._events.append(SpanEvent(names.own(kind.value), self._at(row), attributes))

    def span(self, last: Row, common: Attributes, outcome: str) -> Span:
        for started in list(self._open_tools):
            self._close_tool(started, last, "open")
        prompt = self.prompt
        attributes: Attributes = common | {
            names.OPERATION: names.INVOKE_AGENT,
            names.RPC_SYSTEM: "jsonrpc",
            names.RPC_METHOD: acp.PROMPT,
            names.JSONRPC_VERSION: "2.0",
            names.TURN: prompt.turn or 0,
            names.OUTCOME: outcome,
        }
        if prompt.session_id is not None:
            attributes[names.CONVERSATION] = prompt.session_id
        if prompt.request_id not in (None, "null"):
            attributes[names.JSONRPC_REQUEST_ID] = prompt.request_id.strip('"')
        if outcome == turns.FAILED:
            attributes |= attributes_of(last.facts, _END_FACTS)
            attributes[names.ERROR_TYPE] = str(last.facts["type"])
        else:
            attributes |= attributes_of(last.facts, ("stop_reason", "by"))
        agent = common.get(names.AGENT_NAME)
        return Span(
            name=f"{names.INVOKE_AGENT} {agent}" if agent else names.INVOKE_AGENT,
            started_seconds=self._at(prompt),
            ended_seconds=self._at(last),
            attributes=attributes,
            failed=outcome == turns.FAILED,
            events=tuple(self._events),
            children=tuple(self._tools),
            traceparent=prompt.facts.get("traceparent"),
        )

    def _close_tool(self, started: Row, ended: Row, status: str) -> None:
        self._open_tools.remove(started)
        tool = str(started.facts.get("tool") or UNKNOWN_TOOL)
        attributes: Attributes = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: tool}
        if started.facts.get("call"):
            attributes[names.TOOL_CALL] = str(started.facts["call"])
        failed = status == "failed"
        if failed:
            attributes[names.ERROR_TYPE] = "tool_failed"
        span = Span(
            name=f"{names.EXECUTE_TOOL} {tool}",
            started_seconds=self._at(started),
            ended_seconds=self._at(ended),
            attributes=attributes | {names.own("status"): status},
            failed=failed,
        )
        self._tools.append(span)

    def _at(self, row: Row) -> float:
        return row.at_seconds + self._offset
