"""Agents that say they are retrying: told to clients that can show it.

Owns the four signals that real agents send (a notification of Mistral's vibe, JetBrains AIR's
warning, codex's and opencode's members of `_meta`). The signal itself always passes as it came;
reading one costs something only where a client asked for `agent_retry` or shows notices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lastword.core import ending, fallback, jsonrpc
from lastword.core.effects import Effect, Send, Side
from lastword.core.taxonomy import RetrySafety
from lastword.core.timeline import Kind

if TYPE_CHECKING:
    from lastword.core.jsonrpc import Frame
    from lastword.core.session import Link, Session

VIBE_RETRYING = "_session/retrying"


def told(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """What follows from a frame that may say that the model call is being retried."""
    wanted = link.client.retry or _shows_notices(link)
    if session is None or not session.turns or not wanted:
        return []
    signal = _signal(frame)
    if signal is None:
        return []
    turn = session.turns[-1]
    turn.retries += 1
    # Loaded at the first retry that is told of: no part of a healthy turn.
    from lastword.core import classify, sentences  # noqa: PLC0415

    verdict = classify.classify_rpc_error(signal, agent=link.agent.name)
    entry = ending.record(link, Kind.WARNING, session, retry=turn.retries, type=verdict.type.value)
    if not link.client.retry:
        title = f"{sentences.WHAT[verdict.type]} The agent is trying again."
        frame_ = fallback.notice(session.session_id, severity="warning", title=title)
        return [Send(Side.CLIENT, frame_), entry]
    error = ending.compose(
        link,
        verdict,
        phase=turn.facts.phase(tool_running=session.tools.running),
        retry_safety=RetrySafety.AUTO,
    )
    update = {
        "sessionUpdate": link.dialect.retry_kind,
        "attempt": _whole(signal.get("attempt")) or turn.retries + 1,
        "max_attempts": _whole(signal.get("max_attempts")),
        "wait_seconds": _whole(signal.get("wait_seconds")) or verdict.retry_after_seconds,
        "error": error.payload(),
    }
    known = {key: value for key, value in update.items() if value is not None}
    return [Send(Side.CLIENT, fallback.session_update(session.session_id, known)), entry]


def _shows_notices(link: Link) -> bool:
    return link.client.notices or not link.dialect.notice_needs_capability


def _signal(frame: Frame) -> dict[str, Any] | None:
    """The failure that a retry signal tells of, in the shape of a JSON-RPC error."""
    params = _object(_object(jsonrpc.loads(frame.line)).get("params"))
    if frame.message.method == VIBE_RETRYING:
        return {"message": params.get("detail"), "data": params}
    meta = _object(_object(params.get("update")).get("_meta"))
    air = _object(_object(_object(meta.get("jetbrains")).get("air")).get("sessionFailure"))
    if air.get("severity") == "warning":
        return {"message": air.get("title"), "data": air}
    codex = _object(_object(meta.get("codex")).get("error"))
    if codex.get("willRetry") is True:
        return {"message": codex.get("message"), "data": codex}
    opencode = _object(meta.get("opencode/retry"))
    if opencode:
        return opencode | {"data": opencode}
    return None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.ceil(value) if value >= 0 else None
