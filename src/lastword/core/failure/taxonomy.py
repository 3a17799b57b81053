"""The vocabulary of failures: closed sets of names, and a failure as a plain frozen value.

Owns the words (`protocol/README.md`, section "Vocabulary"), the defaults of each type, what
evidence may do by how certain it is that it is about this turn's model call, and what the facts of
a turn mean for a retry. Does not decide which words fit a failure (`core.classify`), and knows
nothing of frames (`core.failure.ladder`).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import msgspec


class ErrorType(StrEnum):
    """The type of a failure. The first six are the names of opencode's `agent_error` proposal."""

    RATE_LIMIT = "rate_limit"
    BUDGET = "budget"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    CONTEXT_OVERFLOW = "context_overflow"
    AUTH = "auth"
    UNKNOWN = "unknown"
    MODEL_NOT_FOUND = "model_not_found"
    INVALID_REQUEST = "invalid_request"
    CONTENT_FILTER = "content_filter"
    TIMEOUT = "timeout"
    NETWORK = "network"
    CANCELLED = "cancelled"
    AGENT_CRASH = "agent_crash"
    AGENT_STALLED = "agent_stalled"
    STDERR_OVERFLOW = "stderr_overflow"
    PROTOCOL_ERROR = "protocol_error"
    INTERNAL = "internal"


class Origin(StrEnum):
    """Who or what was at fault."""

    PROVIDER = "provider"
    NETWORK = "network"
    AGENT = "agent"
    PROCESS = "process"
    CLIENT = "client"
    LASTWORD = "lastword"


class Phase(StrEnum):
    """The progress of a turn when it failed."""

    STARTUP = "startup"
    BEFORE_REQUEST = "before_request"
    BEFORE_OUTPUT = "before_output"
    MID_OUTPUT = "mid_output"
    TOOL_RUNNING = "tool_running"
    AFTER_TOOL = "after_tool"


class Action(StrEnum):
    """The user's possible action after a failure."""

    WAIT = "wait"
    RETRY = "retry"
    CONTINUE = "continue"
    CONFIRM_RETRY = "confirm_retry"
    LOGIN = "login"
    TOP_UP = "top_up"
    SWITCH_MODEL = "switch_model"
    SHORTEN = "shorten"
    REPHRASE = "rephrase"
    FIX_CONFIGURATION = "fix_configuration"
    RESTART = "restart"
    REPORT = "report"


class RetrySafety(StrEnum):
    """Whether sending the same prompt again would do harm, apart from whether it would help."""

    AUTO = "auto"
    OFFER_CONTINUE = "offer_continue"
    ASK = "ask"
    NEVER = "never"


MAX_MESSAGE_CHARS = 500
MAX_TEXT_CHARS = 500
"""The longest that any other text of a payload may be."""
MAX_DETAIL_BYTES = 4096

LIMITS = frozenset({ErrorType.RATE_LIMIT, ErrorType.BUDGET})
"""The types that may have a known end: a throttle, and a used-up budget."""

PLAN_WINDOW = "usage_window"
"""The reason of a failure for which a window of the account's plan is used up."""

MAX_AUTO_WAIT_SECONDS = 300
"""A longer wait is shown, but never retried by a machine (`retryable` becomes false)."""


class TypeDefaults(msgspec.Struct, frozen=True):
    """The defaults of an error type."""

    action: Action
    origin: Origin
    retryable: bool


DEFAULTS: dict[ErrorType, TypeDefaults] = {
    ErrorType.RATE_LIMIT: TypeDefaults(Action.WAIT, Origin.PROVIDER, retryable=True),
    ErrorType.BUDGET: TypeDefaults(Action.TOP_UP, Origin.PROVIDER, retryable=False),
    ErrorType.PROVIDER_UNAVAILABLE: TypeDefaults(Action.WAIT, Origin.PROVIDER, retryable=True),
    ErrorType.CONTEXT_OVERFLOW: TypeDefaults(Action.SHORTEN, Origin.PROVIDER, retryable=False),
    ErrorType.AUTH: TypeDefaults(Action.LOGIN, Origin.PROVIDER, retryable=False),
    ErrorType.UNKNOWN: TypeDefaults(Action.REPORT, Origin.AGENT, retryable=False),
    ErrorType.MODEL_NOT_FOUND: TypeDefaults(Action.SWITCH_MODEL, Origin.PROVIDER, retryable=False),
    ErrorType.INVALID_REQUEST: TypeDefaults(
        Action.FIX_CONFIGURATION, Origin.PROVIDER, retryable=False
    ),
    ErrorType.CONTENT_FILTER: TypeDefaults(Action.REPHRASE, Origin.PROVIDER, retryable=False),
    ErrorType.TIMEOUT: TypeDefaults(Action.RETRY, Origin.PROVIDER, retryable=True),
    ErrorType.NETWORK: TypeDefaults(Action.RETRY, Origin.NETWORK, retryable=True),
    ErrorType.CANCELLED: TypeDefaults(Action.RETRY, Origin.CLIENT, retryable=False),
    ErrorType.AGENT_CRASH: TypeDefaults(Action.RESTART, Origin.PROCESS, retryable=True),
    ErrorType.AGENT_STALLED: TypeDefaults(Action.RESTART, Origin.AGENT, retryable=True),
    ErrorType.STDERR_OVERFLOW: TypeDefaults(Action.RESTART, Origin.AGENT, retryable=True),
    ErrorType.PROTOCOL_ERROR: TypeDefaults(Action.REPORT, Origin.AGENT, retryable=False),
    ErrorType.INTERNAL: TypeDefaults(Action.REPORT, Origin.AGENT, retryable=False),
}


UNDECIDED = (ErrorType.UNKNOWN, ErrorType.INTERNAL)
"""Types that say no more than that something failed."""


class AgentError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A failure, in the form that every entry point of lastword returns. Fields are in wire order.

    `None` means unknown and is never sent. `retry_after_seconds` is in whole seconds, rounded up;
    `reset_at_epoch_ms` is in milliseconds since 1970 UTC; `attempts` is the number of tries of the
    model call. `detail` is redacted, and its `text` is what the provider or the process itself
    said. `extra` holds, unchanged, what a peer sent besides the members that the contract names.
    """

    # Generated from core/failure/members.py by protocol/generate_payload.py.
    type: ErrorType
    message: str
    detail: dict[str, Any] | None = None
    retryable: bool
    retry_after_seconds: int | None = None
    reset_at_epoch_ms: int | None = None
    source: str | None = None
    reason: str | None = None
    origin: Origin | None = None
    phase: Phase | None = None
    retry_safety: RetrySafety | None = None
    action: Action | None = None
    http_status: int | None = None
    provider_code: str | None = None
    request_id: str | None = None
    attempts: int | None = None
    exit_code: int | None = None
    exit_signal: str | None = None
    incident_id: str | None = None
    # End of what is generated.
    extra: dict[str, Any] | None = None

    def payload(self) -> dict[str, Any]:
        """Return the JSON object that is sent, without unknown fields."""
        payload: dict[str, Any] = msgspec.to_builtins(self)
        extra = payload.pop("extra", {})
        return payload | {key: value for key, value in extra.items() if key not in payload}


# --- how certain evidence is ----------------------------------------------------------------------


class Attribution(IntEnum):
    """How it is known whose failure some evidence is about; greater is more certain."""

    FOREIGN = 0
    """Another program, process, session or turn: a package manager, an MCP server, a title."""
    WEAK = 1
    """The words of a failure, and nothing that says whose it is."""
    STRONG = 2
    """The form of a failed model call, written by this agent's process while no tool ran."""
    PROVEN = 3
    """It names this session, or this process, or came in a frame of the protocol."""


class Effect(NamedTuple):
    """What evidence of one level may do.

    Attributes:
        reports: It is reported while the turn is open.
        at_once: It is reported without waiting for a second sign.
        names_cause: It gives a failed turn its type, and whether a retry can help.
        contradicts_success: Together with a sign of another kind, it makes a turn that claims
            success a failure.
        is_quoted: Where nothing better is known, the failed turn's details quote it.
    """

    reports: bool = False
    at_once: bool = False
    names_cause: bool = False
    contradicts_success: bool = False
    is_quoted: bool = False


EFFECTS: dict[Attribution, Effect] = {
    Attribution.FOREIGN: Effect(),
    Attribution.WEAK: Effect(is_quoted=True),
    Attribution.STRONG: Effect(
        reports=True, names_cause=True, contradicts_success=True, is_quoted=True
    ),
    Attribution.PROVEN: Effect(
        reports=True, at_once=True, names_cause=True, contradicts_success=True, is_quoted=True
    ),
}
"""The one table; `protocol/` has a requirement for each of its rows."""


# --- whether a retry does harm --------------------------------------------------------------------


class TurnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a turn before it failed, as far as they are known.

    The default, `TurnFacts()`, says that the request was sent and nothing came back.

    Attributes:
        request_sent: A request had been sent to the model provider.
        thought: Reasoning had arrived.
        text: Text that the user sees had arrived.
        tool_called: The model had begun to call a tool, which had not run.
        tool_ran: A tool that only reads, searches or fetches had run.
        unsafe_tool: A tool that changes something, or whose effect is unknown, had been started.
        tool_running: A tool was still running.
        provider_tools: The provider runs tools by itself, so it is not known what ran.
    """

    request_sent: bool = True
    thought: bool = False
    text: bool = False
    tool_called: bool = False
    tool_ran: bool = False
    unsafe_tool: bool = False
    tool_running: bool = False
    provider_tools: bool = False

    @property
    def phase(self) -> Phase:
        """Return the progress of the turn."""
        if self.tool_running:
            return Phase.TOOL_RUNNING
        if self.tool_ran or self.unsafe_tool:
            return Phase.AFTER_TOOL
        if self.text or self.tool_called:
            return Phase.MID_OUTPUT
        if self.request_sent or self.thought or self.provider_tools:
            return Phase.BEFORE_OUTPUT
        return Phase.BEFORE_REQUEST

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Return whether sending the prompt again would do harm."""
        if not retryable:
            return RetrySafety.NEVER
        if self.tool_ran or self.unsafe_tool or self.tool_running or self.provider_tools:
            return RetrySafety.ASK
        if self.text or self.thought or self.tool_called:
            return RetrySafety.OFFER_CONTINUE
        return RetrySafety.AUTO


def safety_of(facts: TurnFacts | None, *, retryable: bool) -> RetrySafety:
    """Return whether a retry would do harm; if nothing is known of the turn, it may."""
    if facts is not None:
        return facts.retry_safety(retryable=retryable)
    return RetrySafety.ASK if retryable else RetrySafety.NEVER
