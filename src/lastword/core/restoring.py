"""The sessions of an agent that was started again: each is brought back when it is next named.

Owns by which request, what is held back meanwhile, and what a session that cannot come back is
told. A session keeps its id, or is lost and said to be: none is ever mapped onto another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from lastword.core import acp, ending, entries, from_client, jsonrpc
from lastword.core.effects import FORWARD, Drop, Effect, Send, Side
from lastword.core.revival import Own, Purpose, Restoring, Revival
from lastword.core.session import Request
from lastword.core.taxonomy import ErrorType
from lastword.core.timeline import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.jsonrpc import Frame
    from lastword.core.session import Link

CONTEXT_LOST = "context_lost"

MAX_SAID_CHARS = 500
"""What the record keeps of an agent's reason."""

SETTING_LIMIT_SECONDS = 30.0
"""A session whose mode cannot be set again in that time goes on without."""


def begin(link: Link, revival: Revival, session_id: str, frame: Frame) -> list[Effect]:
    """The client names a session of an earlier agent: bring it back first."""
    revival.stale.discard(session_id)
    session = link.session(session_id)
    method = _method(link)
    if method is None or session.opening is None:
        return _lose(link, revival, session_id, [frame], why="agent_cannot")
    settings = [(name, dict(params)) for (name, _), params in session.settings.items()]
    revival.restoring[session_id] = Restoring([frame], settings)
    params = {"mcpServers": [], **session.opening, "sessionId": session_id}
    due = link.now + acp.SESSION_REQUEST_LIMIT_SECONDS
    return [_ask(revival, Own(Purpose.BRING_BACK, due, session_id), method, params)]


def _method(link: Link) -> str | None:
    if link.agent.can_resume:
        return acp.RESUME
    return acp.LOAD if link.agent.can_load else None


def _ask(revival: Revival, own: Own, method: str, params: dict[str, Any]) -> Effect:
    # A session on its way back has one such request open, and such a request its session.
    request_id = revival.next_own_id()
    revival.own[request_id] = own
    return Send(Side.AGENT, jsonrpc.request(request_id, method, params))


def answered(link: Link, revival: Revival, own: Own, frame: Frame) -> list[Effect]:
    """The agent answered a request by which a session comes back."""
    restoring = revival.restoring[own.session_id]
    refused = own.purpose is Purpose.BRING_BACK and frame.message.error is not UNSET
    if refused and not restoring.reopened:
        said = jsonrpc.loads(frame.message.error)
        reason = said.get("message") if isinstance(said, dict) else None
        del revival.restoring[own.session_id]
        # Cut after it is clean: half a key is no longer recognised as one.
        told = ending.redactor(link)(reason)[:MAX_SAID_CHARS] if isinstance(reason, str) else None
        return _lose(link, revival, own.session_id, restoring.waiting, why="refused", said=told)
    return _go_on(link, revival, own.session_id, restoring)


def given_up(link: Link, revival: Revival, own: Own) -> list[Effect]:
    """The agent did not answer in time."""
    restoring = revival.restoring[own.session_id]
    if own.purpose is Purpose.SET_AGAIN or restoring.reopened:
        return _go_on(link, revival, own.session_id, restoring)
    del revival.restoring[own.session_id]
    return _lose(link, revival, own.session_id, restoring.waiting, why="timeout")


def _go_on(link: Link, revival: Revival, session_id: str, restoring: Restoring) -> list[Effect]:
    if restoring.settings:
        method, params = restoring.settings.pop(0)
        due = link.now + SETTING_LIMIT_SECONDS
        return [_ask(revival, Own(Purpose.SET_AGAIN, due, session_id), method, params)]
    del revival.restoring[session_id]
    session = link.session(session_id)
    effects: list[Effect] = [entries.record(link, Kind.SESSION_RESUMED, session)]
    for frame in restoring.waiting:
        effects += passed_on(link, frame)
    return effects


def passed_on(link: Link, frame: Frame) -> list[Effect]:
    """Take in now what the client sent earlier."""
    return [
        Send(Side.AGENT, frame.line) if effect is FORWARD else effect
        for effect in from_client.receive(link, frame)
    ]


def _lose(  # noqa: PLR0913 - what is told of the loss, by name
    link: Link,
    revival: Revival,
    session_id: str,
    waiting: list[Frame],
    *,
    why: str,
    said: str | None = None,
) -> list[Effect]:
    revival.lost.add(session_id)
    effects: list[Effect] = [
        entries.record(
            link,
            Kind.CONTEXT_LOST,
            link.session(session_id),
            why=why,
            said=said if link.options.record_text else None,
        )
    ]
    for frame in waiting:
        effects += refuse(link, frame, lost_verdict())
    return effects


def lost_verdict() -> Verdict:
    """What a session that could not be brought back is told."""
    return ending.own_failure(ErrorType.AGENT_CRASH, CONTEXT_LOST)


def refuse(link: Link, frame: Frame, verdict: Verdict) -> list[Effect]:
    """Answer a request that will not reach the agent; a notification is dropped."""
    message = frame.message
    if message.method is None or message.id is UNSET:
        return [Drop("agent_gone")]
    if message.method == acp.PROMPT:
        return ending.refuse_prompt(link, link.session(message.session_id or ""), frame, verdict)
    request = Request(message.method, message.session_id)
    return ending.fail_request(link, message.request_id or jsonrpc.NULL_ID, request, verdict)


def is_replay(revival: Revival, frame: Frame) -> bool:
    """Is this the past that a session tells while it is loaded? The client has it already."""
    message = frame.message
    if message.method != acp.UPDATE or message.session_id not in revival.restoring:
        return False
    update = message.update
    return update is None or update.session_update not in acp.SESSION_STATE_KINDS


def forget(revival: Revival, session_id: str, *, reopened: bool) -> None:
    """The client itself opens the session again, or ends it."""
    revival.opened(session_id)
    coming_back = revival.restoring.get(session_id)
    if coming_back is not None:
        coming_back.reopened = coming_back.reopened or reopened
