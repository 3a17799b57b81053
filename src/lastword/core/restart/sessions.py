"""The sessions of a restarted agent: a session is restored when it is next named.

Owns which request restores a session, what is held back in the meantime, and the failure of a
session that cannot be restored. A session keeps its id, or is reported lost; it is never mapped
onto another. If an agent gives a new session the id of one that is not restored yet, the new one
gets another id (`Names`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import agent_side, ending, entries, failures
from lastword.core.link.choices import Choices, settings_updates
from lastword.core.link.effects import Answer, Drop, Effect, Record, Send, Side, forwarded_as
from lastword.core.link.state import OpenRequest
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.restart.state import (
    GIVES_NAME,
    GivenUp,
    OwnRequest,
    Purpose,
    RestartState,
    ReturningSession,
    new_session,
    under,
)
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.connection import Connection
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Envelope, Frame

CONTEXT_LOST = "context_lost"

ID_TAKEN = "id_taken"
"""The reason for the loss of a session whose id the agent has given to another one."""

MAX_REASON_CHARS = 500
"""How much of the agent's reason the record keeps."""

SETTING_LIMIT_SECONDS = 30.0
"""A session whose mode cannot be set again within this time continues in another one."""


def begin(link: Link, state: RestartState, session_id: str, frame: Frame) -> list[Effect]:
    """Begin to restore a session that the client names; its frame waits for that."""
    session = link.session(session_id)
    agent = link.agent
    if session.opening is None or not (agent.can_resume or agent.can_load):
        return _lose(link, state, session_id, [frame], why="agent_cannot")
    shown = session.choices
    settings = [(name, dict(params)) for (name, _), params in shown.made.items()]
    in_force = Choices(shown.mode_option)
    state.begin_restoring(session_id, ReturningSession([frame], settings, in_force))
    opening = {"mcpServers": [], **session.opening, "sessionId": session_id}
    params = agent_side.extended_params(link, opening)
    due = link.now + acp.SESSION_REQUEST_LIMIT_SECONDS
    request_id = state.new_request(Purpose.BRING_BACK, due, session_id)
    method = acp.RESUME if agent.can_resume else acp.LOAD
    return [Send(Side.AGENT, jsonrpc.request(request_id, method, params))]


def answered(
    connection: Connection, state: RestartState, own: OwnRequest, frame: Frame
) -> list[Effect]:
    """Handle the agent's answer to a request that restores a session."""
    link = connection.link
    returning = state.returning.get(own.session_id)
    if returning is None:
        return []
    refused = own.purpose is Purpose.BRING_BACK and frame.message.error is not UNSET
    if refused and returning.fall_back():
        return []
    if refused and not returning.reopened:
        reason = object_of(jsonrpc.loads(frame.message.error)).get("message")
        text = reason if isinstance(reason, str) else ""
        # Cut after redaction: half a key is no longer recognised as one.
        clean = link.redactor(text)[:MAX_REASON_CHARS] or None
        return _lose(link, state, own.session_id, returning.waiting, why="refused", reason=clean)
    if frame.message.error is UNSET:
        result = jsonrpc.loads(frame.message.result)
        returning.answered(result)
        models = link.session(own.session_id).models
        if models is not None:
            models.read(result)
    return _continue_restoring(connection, state, own.session_id, returning)


def given_up(connection: Connection, state: RestartState, own: OwnRequest) -> list[Effect]:
    """Handle a request that the agent did not answer in time."""
    returning = state.returning.get(own.session_id)
    if returning is None:
        return []
    if own.purpose is Purpose.BRING_BACK and returning.fall_back():
        return []
    if own.purpose is Purpose.SET_AGAIN or returning.reopened:
        return _continue_restoring(connection, state, own.session_id, returning)
    return _lose(connection.link, state, own.session_id, returning.waiting, why="timeout")


def confirmed_late(link: Link, state: RestartState, late: GivenUp, frame: Frame) -> list[Effect]:
    """Handle the late answer to a setting without which a session was restored.

    The agent's last word holds, whatever was chosen in the meantime, and the client must show it.
    """
    if frame.message.error is not UNSET:
        return []
    session_id, (method, params) = late.session_id, late.setting
    result = jsonrpc.loads(frame.message.result)
    returning = state.returning.get(session_id)
    if returning is not None and returning.silent:
        # Other settings are still to be confirmed: the client is informed at the end.
        returning.in_force.chose(method, params, result)
        return []
    shown = link.session(session_id).choices
    before, options = shown.mode, dict(shown.options)
    shown.chose(method, params, result)
    listed = object_of(result).get("configOptions")
    updates = settings_updates(
        shown.mode if shown.mode != before else None,
        listed if isinstance(listed, list) and shown.options != options else None,
    )
    return [_update(session_id, update) for update in updates]


def _update(session_id: str, update: dict[str, Any]) -> Effect:
    params = {"sessionId": session_id, "update": update}
    return Send(Side.CLIENT, jsonrpc.notification(acp.UPDATE, params))


def _continue_restoring(
    connection: Connection, state: RestartState, session_id: str, returning: ReturningSession
) -> list[Effect]:
    link = connection.link
    shown = link.session(session_id).choices
    returning.correct(session_id, shown)
    if returning.settings:
        method, params = returning.next_setting()
        request_id = state.new_request(
            Purpose.SET_AGAIN, link.now + SETTING_LIMIT_SECONDS, session_id
        )
        return [Send(Side.AGENT, jsonrpc.request(request_id, method, params))]
    state.note_restored(session_id)
    effects: list[Effect] = [entries.record(link, Kind.SESSION_RESUMED, link.session(session_id))]
    effects += _report_choices(session_id, returning, shown)
    return effects + _pass_on(connection, returning)


def _pass_on(connection: Connection, returning: ReturningSession) -> list[Effect]:
    """Send the agent what waited for the session."""
    effects: list[Effect] = []
    link = connection.link
    for frame in returning.waiting:
        passed = connection.receive(Side.CLIENT, frame, link.now)
        effects += forwarded_as(passed, Send(Side.AGENT, frame.line))
    return effects


def _report_choices(session_id: str, returning: ReturningSession, shown: Choices) -> list[Effect]:
    """Tell the client the mode and options in force, if it shows others."""
    in_force = returning.in_force
    differ = any(shown.options.get(name) != value for name, value in in_force.options.items())
    listed = returning.listed if differ else None
    updates = settings_updates(
        in_force.mode if in_force.mode != shown.mode else None,
        None if listed is None else in_force.in_list(listed),
    )
    for update in updates:
        shown.changed(session_id, update)
    return [_update(session_id, update) for update in updates]


def _lose(  # noqa: PLR0913 - what is reported of the loss, by name
    link: Link,
    state: RestartState,
    session_id: str,
    waiting: list[Frame],
    *,
    why: str,
    reason: str | None = None,
) -> list[Effect]:
    state.loses(session_id)
    effects: list[Effect] = [
        entries.record(
            link,
            Kind.CONTEXT_LOST,
            link.session(session_id),
            why=why,
            said=reason if link.options.record_text else None,
        )
    ]
    for frame in waiting:
        effects += refuse(link, frame, lost_verdict())
    return effects


def lost_verdict() -> Verdict:
    """Return the verdict for a session that could not be restored."""
    return failures.own_failure(ErrorType.AGENT_CRASH, CONTEXT_LOST)


def refuse(link: Link, frame: Frame, verdict: Verdict) -> list[Effect]:
    """Answer a request that will not reach the agent; a notification is dropped."""
    message = frame.message
    if message.method is None or message.id is UNSET:
        return [Drop("agent_gone")]
    if message.method == acp.PROMPT:
        return ending.refuse_prompt(link, link.session(message.session_id or ""), frame, verdict)
    request = OpenRequest(message.method, message.session_id)
    return failures.fail_request(link, message.request_id or jsonrpc.NULL_ID, request, verdict)


def has_only_name(link: Link, state: RestartState, message: Envelope) -> bool:
    """Return whether the client closes a session that the current agent does not have."""
    session_id = message.session_id or ""
    session = link.sessions.get(session_id)
    closes = message.method == acp.CLOSE and message.id is not UNSET
    gone = session_id in state.stale
    return closes and gone and session is not None and not session.turns


def closed(link: Link, state: RestartState, frame: Frame) -> list[Effect]:
    """Answer the request to close a session that was lost with an earlier agent.

    The current agent does not get it: it may use the same id for a session that is being opened.
    """
    message = frame.message
    session_id = message.session_id or ""
    state.opened(session_id)
    link.forget_session(session_id)
    request_id = message.request_id or jsonrpc.NULL_ID
    return [Answer(Side.CLIENT, request_id, jsonrpc.result(request_id, {}))]


def is_replay(state: RestartState, frame: Frame) -> bool:
    """Return whether this is history of a session being restored, which the client has already."""
    message = frame.message
    returning = state.returning.get(message.session_id or "")
    if message.method != acp.UPDATE or returning is None or not returning.silent:
        return False
    update = message.update
    if update is None or update.session_update in acp.CHOICE_KINDS:
        return True
    return update.session_update not in acp.SESSION_STATE_KINDS


def requests_too_early(state: RestartState, message: Envelope) -> bool:
    """Return whether this is a request for a session being restored, which has no open turn."""
    if message.id is UNSET or message.method in acp.TO_AGENT_ONLY:
        return False
    returning = state.returning.get(message.session_id or "")
    return returning is not None and returning.silent


def as_the_client_knows(
    connection: Connection, state: RestartState, frame: Frame
) -> tuple[Frame, list[Effect]]:
    """Return an agent's frame under the client's names, with the effects of a name conflict."""
    message, link = frame.message, connection.link
    effects: list[Effect] = []
    given: str | None = None
    if message.method is None and message.result is not UNSET:
        request = link.from_client.get(message.request_id or jsonrpc.NULL_ID)
        if request is not None and request.method in GIVES_NAME:
            given = new_session(frame)
    holder = state.names.ours.get(given, given) if given is not None else None
    if given is not None and holder is not None and state.is_missing(holder):
        # The client knows the new session's id as another session's.
        if holder not in state.lost:
            returning = state.returning.get(holder)
            waiting = returning.waiting if returning is not None else []
            effects = _lose(link, state, holder, waiting, why=ID_TAKEN)
        state.names.give(given, link.sessions)
    if not state.names.ours:
        return frame, effects
    if given is not None:
        # It names the new session, whatever the client opens in the meantime.
        return under(frame, state.names.ours), effects
    # A session that the client is just opening is the one that the agent means by this name.
    opening = _client_opens(link)
    renamed = {name: ours for name, ours in state.names.ours.items() if name not in opening}
    return under(frame, renamed), effects


def _client_opens(link: Link) -> set[str | None]:
    """Return the sessions that the client has asked the agent to load or to resume."""
    return {a.session_id for a in link.from_client.values() if a.method in acp.BRINGS_BACK}


def note_opened(
    connection: Connection, state: RestartState, effects: list[Effect], frame: Frame | None = None
) -> list[Effect]:
    """Note the answers to the client's requests, which may have opened sessions.

    What waited for such a session is sent as soon as one of several requests has opened it; a
    session that none of them opened is lost for good.
    """
    opened = {
        effect.entry.session_id or ""
        for effect in effects
        if isinstance(effect, Record) and effect.entry.kind is Kind.SESSION_CREATED
    }
    link = connection.link
    outcome: list[Effect] = []
    for session_id in opened:
        state.opened(session_id)
        # The client opened it itself: the agent's session with this id is that one.
        other = state.names.release(session_id)
        if other is not None:
            outcome += _lose(link, state, other, [], why=ID_TAKEN)
    for session_id, returning in list(state.returning.items()):
        failed = returning.reopening and session_id not in _client_opens(link)
        if not failed and session_id not in opened:
            continue
        answer = None if frame is None else jsonrpc.loads(frame.message.result)
        returning.reopen_answered(answer, opened=session_id in opened)
        if not returning.ours and returning.reopened:
            state.note_restored(session_id)
            outcome += _pass_on(connection, returning)
        elif not returning.ours:
            outcome += _lose(link, state, session_id, returning.waiting, why="refused")
    return outcome
