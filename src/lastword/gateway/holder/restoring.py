"""Restoring: a session whose agent has ended, in the holder that takes it over.

Owns the order: what was open is ended, then the agent is asked to resume the session, then a turn
that was waiting for the end of a limit goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from lastword.core.protocol.tolerant import object_of
from lastword.core.timeline.entry import Kind
from lastword.gateway.holder.limit_waits import waiting_turn
from lastword.gateway.holder.own_requests import RequestFailedError
from lastword.gateway.holder.session_holder import SessionHolder
from lastword.gateway.viewing import refusals
from lastword.outbox.store import now_ms

if TYPE_CHECKING:
    from lastword.gateway.fleet.ownership import Takeover
    from lastword.gateway.holder.session import HeldSession
    from lastword.outbox.own_reports import OwnReports


class RestoringHolder(SessionHolder, Protocol):
    """What is needed of the holder of a session that is restored."""

    @property
    def reports(self) -> OwnReports:
        """Where failures are reported."""
        ...

    def add(self, session: HeldSession) -> None:
        """Take in a session, and make it known to fronts."""
        ...


async def bring_back(
    holder: RestoringHolder, session: HeldSession, takeover: Takeover | None
) -> None:
    """Take over a session: end what was open, and have the agent resume it.

    Args:
        holder: Its new holder.
        session: The session.
        takeover: How it came from another machine; `None` if it was on this one.
    """
    holder.conversation.begin_after(session.hub.last_number)
    incident = holder.record.incident()
    if takeover is None:
        crash = refusals.agent_lost("Send the prompt again.", incident)
    else:
        crash = refusals.machine_lost(incident, goes_on=takeover.has_files)
    waiting = waiting_turn(session.log) if holder.agent.waits_for_limits else None
    open_turns = session.hub.open_turns - (waiting is not None)
    lost: dict[str, Any] = {"open_turns": open_turns, "incident_id": incident}
    if session.log.reason == "new":
        session.note(Kind.LOG_RESET, reason="lost", first=1)
    if open_turns or not session.was_left:
        session.note(Kind.HOLDER_DIED, **lost)
        holder.reports.add("holder", crash["data"]["agent_error"], session.id)
    number = waiting.number if waiting is not None else 0
    session.carry_out(session.hub.lost_agent(lambda _: crash, now_ms(), but=number))
    holder.add(session)
    if holder.fleet is not None:
        await holder.fleet.opened(session)
    session.is_only_read = takeover is not None and not takeover.has_files
    session.suppressed = True
    history = "none"
    try:
        history = await _resumed(session, holder.initialized, takeover, incident)
    except RequestFailedError as failed:
        session.failed = failed.error
        session.note(Kind.SESSION_NOT_RESTORED, **_why(failed.error))
    else:
        session.note(Kind.SESSION_RESTORED, history=history)
    session.suppressed = False
    if waiting is None:
        return
    if session.failed is None and history == "full":
        session.restore_wait(waiting)
    else:
        session.carry_out(session.hub.lost_agent(lambda _: crash, now_ms()))


async def _resumed(
    session: HeldSession, initialized: dict[str, Any], takeover: Takeover | None, incident: str
) -> str:
    """Have the agent resume a session; return what it knows of the past.

    Raises:
        RequestFailedError: It cannot, or what it worked on is not here.
    """
    if takeover is not None and not takeover.has_files:
        raise RequestFailedError(refusals.context_lost(incident))
    return await session.restore(initialized)


def _why(error: dict[str, Any]) -> dict[str, Any]:
    """Return what a log may hold about an agent's refusal: only lastword's own words."""
    payload = object_of(object_of(error.get("data")).get("agent_error"))
    return {name: payload[name] for name in ("type", "reason", "incident_id") if name in payload}
