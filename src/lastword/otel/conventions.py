"""Every name that OpenTelemetry gets, and what a gateway measures, as plain values.

The names are those of attributes, events, metrics and units, except that a gateway's metrics are
in `gateway.quality.metrics`, together with their Prometheus names.

Standard names are from the semantic conventions 1.44.0, and those with `gen_ai` from the GenAI
conventions 0.1.0, which have had their own releases since 1.41; none of their breaking changes
concerns a name used here. `gen_ai`, `rpc` and `jsonrpc` are still in development; their changes
affect only this file.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class InstrumentKind(StrEnum):
    """A source of an instrument's values."""

    COUNTER = "counter"
    """A value that is read, and never decreases."""
    GAUGE = "gauge"
    """A value that is read."""
    HISTOGRAM = "histogram"
    """Values that are recorded as they come."""


class Instrument(msgspec.Struct, frozen=True, kw_only=True):
    """One instrument.

    Attributes:
        name: the name of the metric.
        kind: how it gets its values.
        unit: in UCUM.
        description: what it measures.
        bounds: for a histogram, the upper end of each bucket but the last.
    """

    name: str
    kind: InstrumentKind
    unit: str
    description: str
    bounds: tuple[float, ...] = ()


class InstrumentReading(NamedTuple):
    """A value with its attributes."""

    value: float
    attributes: dict[str, str]


class Instruments(NamedTuple):
    """The instruments, and a function that reads the observable ones by name, from any thread."""

    instruments: tuple[Instrument, ...]
    read: Callable[[str], Iterable[InstrumentReading]]


SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
SCOPE = "lastword"

ERROR_TYPE = "error.type"

RPC_SYSTEM = "rpc.system.name"
RPC_METHOD = "rpc.method"
JSONRPC_VERSION = "jsonrpc.protocol.version"
JSONRPC_REQUEST_ID = "jsonrpc.request.id"

OPERATION = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
CONVERSATION = "gen_ai.conversation.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"

INVOKE_AGENT = "invoke_agent"
EXECUTE_TOOL = "execute_tool"
HOLD_SESSION = "hold_session"
"""No convention has a name for it."""

DOOR = "lastword.door"
RUN = "lastword.run_id"
TURN = "lastword.turn"
OUTCOME = "lastword.outcome"


def own(fact: str) -> str:
    """Return lastword's name of a fact that no convention names."""
    return f"lastword.{fact}"


TURNS = "lastword.turns"
TURN_SECONDS = "lastword.turn.duration"
FIRST_OUTPUT_SECONDS = "lastword.turn.time_to_first_output"
ERRORS = "lastword.errors"
RETRIES = "lastword.retries"
RESTARTS = "lastword.agent.restarts"
SILENCES = "lastword.silences"
DROPPED = "lastword.frames.dropped"

VIEWERS_CAME = "lastword.gateway.viewers.came"
VIEWERS_LEFT = "lastword.gateway.viewers.left"
LAGS = "lastword.gateway.lags"
GAPS = "lastword.gateway.gaps"
QUESTIONS_PENDING = "lastword.gateway.questions.held"
QUESTIONS = "lastword.gateway.questions"
LOST = "lastword.gateway.processes.lost"
RESTORED = "lastword.gateway.sessions.restored"
LOG_RESETS = "lastword.gateway.log.resets"
SESSIONS_ENDED = "lastword.gateway.sessions.ended"

COUNTERS = {
    TURNS: ("{turn}", "Ended turns, by outcome."),
    ERRORS: ("{error}", "Failures, of turns and of other requests."),
    RETRIES: ("{retry}", "Retries of model calls."),
    RESTARTS: ("{restart}", "Agents that were started again."),
    SILENCES: ("{silence}", "Silences within a turn that the watchdog reported."),
    DROPPED: ("{frame}", "Frames that were kept back."),
    VIEWERS_CAME: ("{viewer}", "Viewers that came to a session behind a gateway, or came back."),
    VIEWERS_LEFT: ("{viewer}", "Viewers that left one, by close code and cause."),
    LAGS: ("{lag}", "Viewers that fell far behind."),
    GAPS: ("{gap}", "Gaps in a log that viewers were shown."),
    QUESTIONS_PENDING: ("{question}", "Agents' questions that came while nobody was connected."),
    QUESTIONS: ("{question}", "Settled questions of agents, by outcome."),
    LOST: ("{process}", "Processes behind a gateway that died, or ended."),
    RESTORED: ("{session}", "Attempts to restore a session, by outcome."),
    LOG_RESETS: ("{reset}", "Logs of sessions whose numbers began anew."),
    SESSIONS_ENDED: ("{session}", "Sessions behind a gateway that ended, by why."),
}
HISTOGRAMS = {
    TURN_SECONDS: ("s", "From a prompt to the end of its turn."),
    FIRST_OUTPUT_SECONDS: (
        "s",
        "From a prompt to the first text, tool call or question to the user.",
    ),
}
