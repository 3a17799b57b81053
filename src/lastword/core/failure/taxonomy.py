"""The vocabulary of failures: closed sets of names, and a failure as a plain frozen value.

Owns the words (`protocol/README.md`, section "Vocabulary") and the defaults of each type. Does not
decide which words fit a failure (`core.classify`), and knows nothing of frames
(`core.failure.ladder`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

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
"""The types of which the end may be known: a throttle, and what is used up."""

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
