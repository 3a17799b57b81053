"""What lastword itself wrote: is each frame of its own sound, within its bound, and without secret?

Owns cheap structural checks by the protocol's text. Who may get which frame when, is the referee's.
"""

from __future__ import annotations

import json
from typing import Any

from tests.kit.simulation.frames import SECRETS, members
from tests.kit.simulation.ledger import BrokenPromiseError

MAX_FRAME = 60 * 1024
MAX_MESSAGE = 500
MAX_DETAIL = 4096

TYPES = frozenset(
    {
        *("rate_limit", "budget", "provider_unavailable", "context_overflow", "auth", "unknown"),
        *("model_not_found", "invalid_request", "content_filter", "timeout", "network"),
        *("cancelled", "agent_crash", "agent_stalled", "stderr_overflow", "protocol_error"),
        "internal",
    }
)
CLOSED = {
    "origin": "provider network agent process client lastword",
    "phase": "startup before_request before_output mid_output tool_running after_tool",
    "retry_safety": "auto offer_continue ask never",
    "action": "wait retry continue confirm_retry login top_up switch_model shorten rephrase "
    "fix_configuration restart report",
}
_CLOSED = {key: frozenset(words.split()) for key, words in CLOSED.items()}
_WHOLE = ("retry_after_seconds", "reset_at_epoch_ms", "http_status", "attempts", "exit_code")
_NEVER_SAID = (
    "session not found",
    "unknown session",
    "user aborted",
    "this operation was aborted",
    "empty response text",
)
_NEVER_USED = frozenset({-32002, -32602})


def _must(rule: str, held: object, why: str) -> None:
    if not held:
        raise BrokenPromiseError(rule, why)


def within_bounds(frame: bytes) -> None:
    _must("G6", len(frame) < MAX_FRAME, f"a frame of {len(frame)} bytes")
    for secret in SECRETS:
        _must("G5", secret not in frame, "a secret in a frame of ours")


def payload(error: Any) -> None:
    _must("payload", isinstance(error, dict), "the payload is no object")
    message = error.get("message")
    _must("payload", error.get("type") in TYPES, f"type {error.get('type')!r}")
    _must("payload", isinstance(error.get("retryable"), bool), "retryable is no boolean")
    _must("payload", isinstance(message, str) and message.strip(), "no message")
    _must("G6", len(message) <= MAX_MESSAGE, f"a message of {len(message)} characters")
    _must("payload", "[" not in message, f"markup in a message: {message!r}")
    _must("payload", not any(word in message.lower() for word in _NEVER_SAID), message)
    _must("payload", None not in error.values(), "a null in the payload")
    _must("payload", error["type"] != "cancelled", "a failure called cancelled")
    for key, words in _CLOSED.items():
        _must("payload", error.get(key) is None or error[key] in words, f"{key}: {error.get(key)}")
    for key in _WHOLE:
        value = error.get(key, 0)
        _must("payload", isinstance(value, int) and not isinstance(value, bool), key)
    detail = error.get("detail", {})
    _must("payload", isinstance(detail, dict), "detail is no object")
    size = len(json.dumps(detail, separators=(",", ":"), ensure_ascii=False).encode())
    _must("G6", size <= MAX_DETAIL, f"a detail of {size} bytes")


def error_object(error: Any, *, sent: bool = False, bare: bool = False) -> None:
    """Check an error of ours; `sent`: the agent's own is in it; `bare`: `data` is shown raw."""
    _must("frame", isinstance(error, dict), "the error is no object")
    code, message, data = error.get("code"), error.get("message"), error.get("data")
    _must("frame", isinstance(code, int) and not isinstance(code, bool), f"code {code!r}")
    _must("frame", isinstance(message, str) and message, "no message")
    _must("G6", len(message) <= MAX_MESSAGE, f"a message of {len(message)} characters")
    if code in {-32800, -32700, -32600}:
        return
    if bare and data is None:
        return
    _must("frame", isinstance(data, dict), "data is no object")
    _must("frame", isinstance(data.get("details"), str) and data["details"], "no details")
    if bare:
        _must("G3", set(data) == {"details"}, f"data of {sorted(data)}")
        _must("G3", code == -32603, f"data beside {code}")
        return
    _must("G3", "agent_error" in data, "no payload in an error")
    _must("frame", data.get("errorKind"), "no errorKind")
    _must("frame", sent or code not in _NEVER_USED, f"code {code}")
    typed = data["agent_error"]
    if not sent:
        payload(typed)
        _must("frame", typed.get("stopReason") == "error", "no stopReason beside the payload")


def mended(error: Any) -> None:
    """Check an error of the agent's on a request that is no prompt, whose shape was mended."""
    _must("frame", isinstance(error, dict), "the error is no object")
    _must("frame", isinstance(error.get("code"), int), "no code")
    _must("frame", error.get("message") and isinstance(error["message"], str), "no message")


def update(frame: bytes) -> dict[str, Any]:
    whole = members(frame)
    told: dict[str, Any] = whole["params"]["update"]
    kind = told.get("sessionUpdate")
    _must("frame", whole.get("jsonrpc") == "2.0" and "id" not in whole, "no notification")
    if kind in {"agent_error", "_agent_error", "agent_retry", "_agent_retry"}:
        payload(told["error"])
    elif kind == "session_info_update":
        _must("frame", set(told) == {"sessionUpdate", "_meta"}, f"members {sorted(told)}")
        payload(told["_meta"]["agent_error"])
    elif kind == "notice":
        _must("G6", len(told["title"]) <= MAX_MESSAGE, "a long notice")
    elif kind == "agent_message_chunk":
        _must("frame", told["content"]["text"], "an empty text")
    elif kind == "tool_call_update":
        _must("frame", told["status"] == "failed", "a tool closed otherwise than failed")
    elif kind == "agent_thought_chunk":
        text = told["content"]["text"]
        waits = " tries again" in text or "when the limit ends" in text or "Continuing with" in text
        of_question = text.startswith(("The agent is waiting for your answer", "Nobody answered"))
        _must("frame", waits or of_question, "a thought about neither a retry nor a question")
    elif kind == "config_option_update":
        _must("frame", isinstance(told["configOptions"], list), "no options")
    elif kind == "current_mode_update":
        _must("frame", isinstance(told["currentModeId"], str), "no mode")
    else:
        _must("frame", kind == "state_update" and told["state"] == "idle", f"the kind {kind}")
        if told["stopReason"] == "error":
            error_object(told["error"], sent=True)
    return told
