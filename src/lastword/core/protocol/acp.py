"""The Agent Client Protocol's vocabulary, and tolerant reading of members that a peer wrote.

The only module that knows protocol versions. Version 1 is the specification; version 2 is the draft
in the schema of the official TypeScript SDK, where a turn is a session's foreground work and ends
with an idle `state_update`. A member of an unexpected type is read as an empty value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from collections.abc import Mapping


INITIALIZE = "initialize"
PROMPT = "session/prompt"
CANCEL = "session/cancel"
CLOSE = "session/close"
UPDATE = "session/update"
CANCEL_REQUEST = "$/cancel_request"
PERMISSION = "session/request_permission"
ELICITATION = "elicitation/create"
WRITE_FILE = "fs/write_text_file"
TERMINAL_CREATE = "terminal/create"
TERMINAL_RELEASE = "terminal/release"
TERMINAL_KILL = "terminal/kill"

MCP_MESSAGE = "mcp/message"
"""A message to an MCP server at the client's side; its own method is in the params."""

LOAD = "session/load"
RESUME = "session/resume"
FORK = "session/fork"
OPENS_SESSION = frozenset({"session/new", LOAD, RESUME, FORK})
BRINGS_BACK = frozenset({LOAD, RESUME})
ENDS_SESSION = frozenset({CLOSE, "session/delete"})
SET_MODE = "session/set_mode"
SET_MODEL = "session/set_model"
SET_OPTION = "session/set_config_option"
SETTINGS = frozenset({SET_MODE, SET_MODEL, SET_OPTION})
"""Requests that decide how a session works; they are made again for a new process."""

MAX_WAITING = 1000
"""Requests that wait for a session to be restored, or for the agent to finish an ended turn."""

MAX_WAITING_BYTES = 16 * 1024 * 1024
"""The most bytes of such requests. A single one may be larger, since lines have their own limit."""

USER_REQUESTS = frozenset({PERMISSION, ELICITATION})
"""Requests that wait for the user; while one is open, timeouts are suspended."""

HAS_SIDE_EFFECTS = frozenset({WRITE_FILE, TERMINAL_CREATE})
"""Requests by which an agent changes something through the client."""

HARMLESS_METHODS = USER_REQUESTS | {
    "fs/read_text_file",
    "terminal/output",
    "terminal/wait_for_exit",
    "elicitation/complete",
    CANCEL_REQUEST,
    *(
        f"{MCP_MESSAGE} {method}"
        for method in ("initialize", "ping", "tools/list", "resources/list", "prompts/list")
    ),
}
"""An agent's requests and notifications that are known to change nothing, in the form of
`purpose_of`. Every other one, and an unknown one, may stand for something that happened."""

LOGIN = frozenset({"authenticate", "auth/login"})
"""Requests that a person completes; they never time out."""

TO_AGENT_ONLY = frozenset({INITIALIZE, "session/new", "session/load", PROMPT})
"""Requests that only a client makes. One that comes back from the agent is an echo."""

STOP_REASONS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})
CANCELLED = "cancelled"
END_TURN = "end_turn"
REFUSAL = "refusal"
STOP_ERROR = "error"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800
JSONRPC_CODES = frozenset(
    {PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR}
)
"""JSON-RPC's own codes, which no agent or provider defines."""
DO_NOT_RESEND = -31050
"""Ours: a failure that a client must not answer by resending. Outside every reserved range."""

READ_ONLY_TOOLS = frozenset({"read", "search", "think", "fetch"})
"""Tool kinds without side effects; every other kind, and an unknown one, may have some."""

TOOL_KIND_NAMES = READ_ONLY_TOOLS | {"edit", "delete", "move", "execute", "switch_mode", "other"}
TOOL_ENDS = frozenset({"completed", "failed", "cancelled"})
OPEN_TOOL = frozenset({"pending", "in_progress", "paused"})
NOT_STARTED_TOOL = frozenset({None, "pending"})

TEXT_KINDS = frozenset({"agent_message_chunk", "agent_message"})
THOUGHT_KINDS = frozenset({"agent_thought_chunk", "agent_thought"})
TOOL_KINDS = frozenset({"tool_call", "tool_call_update"})
SHOWN_KINDS = (
    TEXT_KINDS
    | THOUGHT_KINDS
    | TOOL_KINDS
    | {
        "plan",
        "plan_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "tool_call_content_chunk",
        "terminal_update",
        "terminal_output_chunk",
        "subagent_update",
        "session_message",
        "session_message_chunk",
    }
)
"""Kinds that show something to a person. A turn without any was silent."""

SESSION_STATE_KINDS = frozenset(
    {
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
    }
)
"""Kinds about the session rather than a turn: they pass even while a session is in quarantine."""

MODE_UPDATE = "current_mode_update"
OPTION_UPDATE = "config_option_update"
MODEL_UPDATE = "current_model_update"
CHOICE_KINDS = frozenset({MODE_UPDATE, OPTION_UPDATE, MODEL_UPDATE})
"""Kinds by which a session reports other settings than those that the client chose."""

AGENT_ERROR_KINDS = frozenset({"agent_error", "_agent_error"})
AGENT_RETRY_KINDS = frozenset({"agent_retry", "_agent_retry"})
STATE_UPDATE = "state_update"
IDLE = "idle"

HARMLESS_KINDS = (
    TEXT_KINDS
    | THOUGHT_KINDS
    | SESSION_STATE_KINDS
    | CHOICE_KINDS
    | AGENT_ERROR_KINDS
    | AGENT_RETRY_KINDS
    | {
        "plan",
        "plan_update",
        "plan_removed",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "user_message",
        "user_message_chunk",
        STATE_UPDATE,
    }
)
"""Kinds that are known to report no action. Tool calls have their own rules; every other kind, and
an unknown one, may report something that happened."""


class Dialect(msgspec.Struct, frozen=True):
    """The places of the members that we read and write in one protocol version.

    Attributes:
        version: the protocol version.
        client_capabilities: member of `initialize` params with the client's capabilities.
        client_info: member of `initialize` params that names the client.
        agent_capabilities: member of the `initialize` result with the agent's capabilities.
        agent_info: member of the `initialize` result that names the agent.
        error_kind: our update kind for a failure; version 2 requires a leading `_`.
        retry_kind: our update kind for a retry.
        turn_ends_by_state: a turn ends with an idle `state_update`, not with the prompt's answer.
        always_resumes: every agent can restore a session with `session/resume`.
        notice_needs_capability: a `notice` may be sent only to clients that advertise it.
    """

    version: int
    client_capabilities: str
    client_info: str
    agent_capabilities: str
    agent_info: str
    error_kind: str
    retry_kind: str
    turn_ends_by_state: bool
    always_resumes: bool
    notice_needs_capability: bool


V1 = Dialect(
    version=1,
    client_capabilities="clientCapabilities",
    client_info="clientInfo",
    agent_capabilities="agentCapabilities",
    agent_info="agentInfo",
    error_kind="agent_error",
    retry_kind="agent_retry",
    turn_ends_by_state=False,
    always_resumes=False,
    notice_needs_capability=True,
)
V2 = Dialect(
    version=2,
    client_capabilities="capabilities",
    client_info="info",
    agent_capabilities="capabilities",
    agent_info="info",
    error_kind="_agent_error",
    retry_kind="_agent_retry",
    turn_ends_by_state=True,
    always_resumes=True,
    notice_needs_capability=False,
)


def dialect(version: object) -> Dialect:
    """Return the dialect of a `protocolVersion`; anything below 2, or unreadable, is version 1."""
    if isinstance(version, int) and not isinstance(version, bool) and version >= V2.version:
        return V2
    return V1


INITIALIZE_LIMIT_SECONDS = 120.0
SESSION_REQUEST_LIMIT_SECONDS = 300.0


def request_limit_seconds(method: str) -> float | None:
    """Return how long the agent may take to answer a request except a prompt; `None`: no limit."""
    if method == INITIALIZE:
        return INITIALIZE_LIMIT_SECONDS
    if method.startswith("session/") and method != PROMPT:
        return SESSION_REQUEST_LIMIT_SECONDS
    return None


def object_of(value: object) -> dict[str, Any]:
    """Return a decoded value if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


def raw_members(raw: Raw | None) -> dict[str, Raw]:
    """Return an object's members with their values undecoded, or no members for null or nothing.

    Raises:
        msgspec.MsgspecError: The value is not an object.
    """
    if raw is None or bytes(raw) == b"null":
        return {}
    members: dict[str, Raw] = msgspec.json.decode(raw, type=dict[str, Raw])
    return members


def number_of(value: object) -> float:
    """Return a value if it is a number, or else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value)


def has_version(extension: Mapping[str, Any]) -> bool:
    """Return whether an extension is advertised, with an integer `version` of at least 1."""
    version = extension.get("version")
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1
