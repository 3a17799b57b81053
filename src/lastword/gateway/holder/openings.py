"""Sessions that begin: requests that open one, and restoring one with a new agent.

Openings: requests to an agent that do not belong to a session yet, and their outcome. Owns to whom
an answer goes. A viewer whose link was lost sends its `session/new` again; it gets the session that
the first one opened, and no second one is opened.

Restoring: a session whose agent has ended, in the holder that takes it over. Owns the order: what
was open is ended, then viewers may come, whose requests wait; the agent is asked to resume the
session, and a turn that was waiting for the end of a limit continues.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.choices import Choices
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind
from lastword.gateway.holder.agent_process import RequestFailedError
from lastword.gateway.holder.effects import waiting_turn
from lastword.gateway.log.store import LogUnavailableError
from lastword.gateway.viewing import access
from lastword.outbox.store import now_ms

if TYPE_CHECKING:
    from collections.abc import Container

    from lastword.gateway.fleet.ownership import Takeover
    from lastword.gateway.holder.connection import ViewerConnection
    from lastword.gateway.holder.session import HeldSession, SessionHolder
    from lastword.gateway.viewing.reader import Viewer


UNDER_WAY = ""
"""The outcome of a request that already waits for the agent."""


class Opening(msgspec.Struct):
    """One request that waits for the agent's answer.

    Attributes:
        link: the link over which it is answered.
        viewer: who asked.
        request_id: the viewer's own id (JSON text).
        params: the params of a request for a session; empty for other requests.
    """

    link: ViewerConnection
    viewer: str
    request_id: bytes
    params: dict[str, Any]


class Openings:
    """The openings of one agent."""

    def __init__(self) -> None:
        self._waiting: dict[int, Opening] = {}
        self._opened: dict[tuple[str, bytes], str] = {}

    def add(self, number: int, opening: Opening) -> None:
        """Add a request that goes to the agent under this number."""
        self._waiting[number] = opening
        # An id that is used again has the outcome of the later request, even of one that fails.
        self._opened.pop((opening.viewer, opening.request_id), None)

    def pop(self, number: int) -> Opening | None:
        """Remove and return the request that an answer is for."""
        return self._waiting.pop(number, None)

    @property
    def are_waiting(self) -> bool:
        """Return whether a request waits for the agent, which may speak before it answers."""
        return bool(self._waiting)

    def again(
        self, link: ViewerConnection, viewer: Viewer, request_id: bytes, sessions: Container[str]
    ) -> str | None:
        """Return the outcome of a `session/new` that its viewer may have sent before.

        A viewer that came without a secret has sent its requests over no other link, so a request
        with an id that has been answered is a new one.

        Args:
            link: The link over which it came.
            viewer: The viewer.
            request_id: The viewer's own id (JSON text).
            sessions: The existing sessions.

        Returns:
            The session that it opened; `UNDER_WAY` if it will be answered over this link; `None` if
            the agent is to be asked.
        """
        for opening in self._waiting.values():
            if (opening.viewer, opening.request_id) == (viewer.id, request_id):
                opening.link = link
                return UNDER_WAY
        session_id = self._opened.get((viewer.id, request_id), "")
        return session_id if session_id in sessions and not viewer.is_new else None

    def opened(self, viewer: str, request_id: bytes, session_id: str) -> None:
        """Note the session that a request opened, here or in the process before this one."""
        self._opened[viewer, request_id] = session_id

    def all_opened(self) -> list[tuple[str, bytes, str]]:
        """Return the viewer and the id of each request that opened a session, and the session."""
        return [(viewer, request, session) for (viewer, request), session in self._opened.items()]

    def pop_all(self) -> list[Opening]:
        """Remove and return all that wait."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        return waiting


async def bring_back(
    holder: SessionHolder, session: HeldSession, takeover: Takeover | None
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
        crash = access.gateway_stopped(incident)
    else:
        crash = access.machine_lost(incident, goes_on=takeover.has_files)
    waiting = waiting_turn(session.log) if holder.agent.waits_for_limits else None
    open_turns = session.hub.open_turns - (waiting is not None)
    lost: dict[str, Any] = {"open_turns": open_turns, "incident_id": incident}
    if session.log.reason == "new":
        session.note(Kind.LOG_RESET, reason="lost", first=1)
    if open_turns or not session.was_left:
        session.note(Kind.HOLDER_DIED, **lost)
        holder.reports.add("holder", crash["data"]["agent_error"], session.id)
    number = waiting.number if waiting is not None else 0
    session.carry_out(session.hub.lost_agent(crash, now_ms(), but=number))
    holder.add(session)
    if holder.fleet is not None:
        await holder.fleet.opened(session)
    session.is_only_read = takeover is not None and not takeover.has_files
    lost_files = access.context_lost(incident) if session.is_only_read else None
    session.begin_resuming()
    holder.has_session()  # an agent may take minutes to resume it
    history = await _resume(holder, session, lost_files)
    if waiting is not None and not session.hub.has_open(waiting.number):
        waiting = None  # it was cancelled
    if waiting is not None and session.failed is None and history == "full":
        session.restore_wait(waiting)
    elif waiting is not None:
        session.carry_out(session.hub.lost_agent(access.not_continued(incident), now_ms()))
    session.has_resumed()


async def resume_again(holder: SessionHolder, session: HeldSession) -> None:
    """Have the agent resume a session that it could not resume before; then pass on what waits."""
    await _resume(holder, session)
    session.has_resumed()


async def _resume(
    holder: SessionHolder, session: HeldSession, error: dict[str, Any] | None = None
) -> str:
    """Have the agent resume a session, unless there is an error; return what it knows of it."""
    history = "none"
    session.suppressed = True
    try:
        if error is None:
            history, answer = await session.restore(holder.initialized)
            await _set_again(holder, session, answer)
    except RequestFailedError as failed:
        error = access.not_loaded(failed.error)
    session.failed = error
    if error is None:
        session.note(Kind.SESSION_RESTORED, history=history)
    else:
        # The log gets lastword's own words of it, not the agent's.
        payload = object_of(object_of(error.get("data")).get("agent_error"))
        names = ("type", "reason", "incident_id")
        why = {name: payload[name] for name in names if name in payload}
        session.note(Kind.SESSION_NOT_RESTORED, **why)
    session.suppressed = False
    return history


async def _set_again(holder: SessionHolder, session: HeldSession, answer: dict[str, Any]) -> None:
    """Set the mode, the model and the options again that the new agent does not have.

    Viewers are shown those that it has otherwise.
    """
    shown, in_force = session.choices(), Choices()
    in_force.read_answer(answer)
    for (method, option), params in shown.made.items():
        value, now = {
            acp.SET_MODE: (params.get("modeId"), in_force.mode),
            acp.SET_MODEL: (params.get("modelId"), in_force.model),
        }.get(method, (params.get("value"), in_force.options.get(option)))
        if value == now:
            continue
        setting = params | {"sessionId": session.agents_id}
        with contextlib.suppress(RequestFailedError):
            result = await holder.conversation.request(method, setting)
            in_force.chose(method, params, result)
            answer |= result
    listed = answer.get("configOptions") if in_force.options != shown.options else None
    session.show_in_force(
        in_force.mode if in_force.mode != shown.mode else None,
        in_force.in_list(listed) if isinstance(listed, list) else None,
    )
    names = ("modes", "models", "configOptions")
    offered = {name: answer[name] for name in names if answer.get(name)}
    with contextlib.suppress(LogUnavailableError):  # on a full disk
        session.log.remember("result", jsonrpc.dumps(session.recall("result") | offered).decode())
