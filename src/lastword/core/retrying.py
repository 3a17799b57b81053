"""Agents that say they are retrying: told to clients that can show it.

Owns what such a signal becomes; which signals there are is `core.classify.agents`'s. The signal
itself always passes as it came, and reading one costs something only where a client asked for
`agent_retry` or shows notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core import ending, fallback, jsonrpc
from lastword.core.effects import Effect, Send, Side
from lastword.core.taxonomy import RetrySafety
from lastword.core.timeline import Kind

if TYPE_CHECKING:
    from lastword.core.classify.agents import Sign
    from lastword.core.jsonrpc import Frame
    from lastword.core.session import Link, Session

RETRYING_METHOD = "_session/retrying"


def told(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """What follows from a frame that may say that the model call is being retried."""
    wanted = link.client.retry or _shows_notices(link)
    if session is None or not session.turns or not wanted:
        return []
    sign = _sign(link, frame)
    if sign is None or not sign.will_retry:
        return []
    # Loaded at the first retry that is told of: no part of a healthy turn.
    from lastword.core import sentences  # noqa: PLC0415

    turn, verdict = session.turns[-1], sign.verdict
    turn.retries += 1
    entry = ending.record(link, Kind.WARNING, session, retry=turn.retries, type=verdict.type.value)
    if not link.client.retry:
        title = f"{sentences.WHAT[verdict.type]} The agent is trying again."
        notice = fallback.notice(session.session_id, severity="warning", title=title)
        return [Send(Side.CLIENT, notice), entry]
    error = ending.compose(
        link,
        verdict,
        phase=turn.facts.phase(tool_running=session.tools.running),
        retry_safety=RetrySafety.AUTO,
    )
    update = {
        "sessionUpdate": link.dialect.retry_kind,
        "attempt": sign.attempt or turn.retries + 1,
        "max_attempts": sign.max_attempts,
        "wait_seconds": sign.wait_seconds or verdict.retry_after_seconds,
        "error": error.payload(),
    }
    known = {key: value for key, value in update.items() if value is not None}
    return [Send(Side.CLIENT, fallback.session_update(session.session_id, known)), entry]


def _shows_notices(link: Link) -> bool:
    return link.client.notices or not link.dialect.notice_needs_capability


def _sign(link: Link, frame: Frame) -> Sign | None:
    from lastword.core.classify import agents  # noqa: PLC0415  (as in `told`)

    params = jsonrpc.params_of(frame)
    if frame.message.method == RETRYING_METHOD:
        return agents.read_notification(RETRYING_METHOD, params)
    return agents.read_update(params.get("update"), agent=link.agent.name)
