"""The link of an agent that has crashed before: what waits for the next one, and how it is greeted.

Owns the way of every message once there has been a crash. The cached handshake is replayed to the
new process (`authenticate` never: it may open a browser), the ids of its requests are kept apart
from those of its predecessors, and what the client asked meanwhile reaches it in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from lastword.core import acp, ending, entries, from_agent, from_client, jsonrpc, restoring
from lastword.core.effects import FORWARD, Answer, Drop, Effect, Kill, Restart, Send, Side
from lastword.core.handshake import read_agent
from lastword.core.revival import Own, Purpose, Revival, Stage, with_id
from lastword.core.taxonomy import ErrorType
from lastword.core.timeline import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.jsonrpc import Envelope, Frame
    from lastword.core.session import Link

SPAWN_FAILED = "spawn_failed"
"""The reason of a verdict on a command that could not be started."""

OPENS_ANEW = frozenset({acp.INITIALIZE, *acp.OPENS_SESSION, *acp.ENDS_SESSION})
"""Requests that a session of an earlier agent need not come back for."""

CANCELS = frozenset({acp.CANCEL, acp.CANCEL_REQUEST, acp.CLOSE})
"""The ways in which a user cancels a prompt."""


def agent_lost(link: Link, revival: Revival, verdict: Verdict) -> list[Effect]:
    """The agent is gone; every open request has been answered."""
    revival.stale |= {s.session_id for s in link.sessions.values() if s.opened} - revival.lost
    effects: list[Effect] = []
    for session_id, coming_back in revival.restoring.items():
        revival.stale.add(session_id)
        for frame in coming_back.waiting:
            if not revival.enqueue(frame):
                effects += restoring.refuse(link, frame, _no_room())
    revival.restoring.clear()
    if verdict.reason == SPAWN_FAILED:
        revival.not_started(link.now)
        return effects + _refuse_all(link, revival.take_queue(), verdict)
    revival.crashed(link.now)
    if revival.looping:
        link.agent_gone = _looping(verdict)
        return effects + _refuse_all(link, revival.take_queue(), link.agent_gone)
    return effects + (_start(link, revival) if revival.queue else [])


def client_left(link: Link, revival: Revival) -> list[Effect]:
    """The client has said its last word; it may still read what becomes of what waits."""
    verdict = link.agent_gone or ending.own_failure(ErrorType.AGENT_STALLED, "no_answer")
    return _refuse_all(link, revival.take_all(), verdict)


def _refuse_all(link: Link, waiting: list[Frame], verdict: Verdict) -> list[Effect]:
    return [effect for frame in waiting for effect in restoring.refuse(link, frame, verdict)]


def _looping(verdict: Verdict) -> Verdict:
    """What every request is told while the agent does nothing but crash."""
    loop = ending.own_failure(ErrorType.AGENT_CRASH, "crash_loop", detail=verdict.detail)
    return msgspec.structs.replace(
        loop, exit_code=verdict.exit_code, exit_signal=verdict.exit_signal
    )


def _start(link: Link, revival: Revival) -> list[Effect]:
    early = link.now < revival.not_before
    if revival.stage is not Stage.DOWN or early or link.client_closed:
        return []
    revival.stage = Stage.STARTING
    return [entries.record(link, Kind.AGENT_RESTARTED, attempt=revival.generation + 1), Restart()]


def agent_started(link: Link, revival: Revival) -> list[Effect]:
    """A new process runs: greet it as the client greeted the first."""
    revival.stage = Stage.GREETING
    revival.generation += 1
    revival.started_at = link.now
    first = revival.queue[0].message.method if revival.queue else None
    if link.greeting is None or first == acp.INITIALIZE:
        return _serve(link, revival)
    request_id = revival.next_own_id()
    revival.own[request_id] = Own(Purpose.GREET, link.now + acp.INITIALIZE_LIMIT_SECONDS)
    return [Send(Side.AGENT, with_id(link.greeting, request_id))]


def _greeted(link: Link, revival: Revival, frame: Frame) -> list[Effect]:
    if frame.message.error is not UNSET:
        # Loaded at the first failure, as everything is that only failures need.
        from lastword.core import classify  # noqa: PLC0415

        error = jsonrpc.loads(frame.message.error)
        return _give_up(link, revival, classify.classify_rpc_error(error))
    link.agent = read_agent(jsonrpc.loads(frame.message.result))
    return [
        entries.agent_ready(link),
        *_serve(link, revival),
    ]


def _serve(link: Link, revival: Revival) -> list[Effect]:
    revival.stage = Stage.UP
    revival.looping = False
    link.agent_gone = None
    effects: list[Effect] = []
    for frame in revival.take_queue():
        effects += [
            Send(Side.AGENT, frame.line) if effect is FORWARD else effect
            for effect in from_the_client(link, revival, frame)
        ]
    return effects


def _give_up(link: Link, revival: Revival, verdict: Verdict) -> list[Effect]:
    """The new process does not serve: whoever waits for it is told, and it goes."""
    link.agent_gone = verdict
    return [*_refuse_all(link, revival.take_queue(), verdict), Kill()]


def from_the_client(link: Link, revival: Revival, frame: Frame) -> list[Effect]:
    """Take in one message of the client's."""
    message = frame.message
    if revival.stage is not Stage.UP:
        return _while_down(link, revival, frame)
    session_id = message.session_id
    if session_id is not None and message.method not in {None, acp.CANCEL, *OPENS_ANEW}:
        coming_back = revival.restoring.get(session_id)
        if coming_back is not None:
            if len(coming_back.waiting) >= acp.MAX_WAITING:
                return restoring.refuse(link, frame, _no_room())
            coming_back.waiting.append(frame)
            return []
        if message.id is not UNSET and session_id in revival.stale:
            return restoring.begin(link, revival, session_id, frame)
        if session_id in revival.lost:
            return restoring.refuse(link, frame, restoring.lost_verdict())
    elif session_id is not None and message.method in OPENS_ANEW:
        restoring.forget(revival, session_id, reopened=message.method in acp.OPENS_SESSION)
    if message.method in CANCELS:
        cancelled = _cancel_waiting(link, revival, message)
        return [*cancelled, *from_client.receive(link, frame)]
    return from_client.receive(link, frame)


def _no_room() -> Verdict:
    return ending.own_failure(ErrorType.AGENT_STALLED, "queue_full")


def _while_down(link: Link, revival: Revival, frame: Frame) -> list[Effect]:
    message = frame.message
    if message.method is None:
        return from_client.receive(link, frame)
    if message.id is UNSET:
        return [*_cancel_waiting(link, revival, message), Drop("agent_gone")]
    early = link.now < revival.not_before
    if revival.stage is Stage.DOWN and revival.looping and early and link.agent_gone is not None:
        return restoring.refuse(link, frame, link.agent_gone)
    if message.method == acp.INITIALIZE:
        link.greeting = frame.line
    # A session that is closed needs none of its prompts any more.
    cancelled = _cancel_waiting(link, revival, message) if message.method == acp.CLOSE else []
    if not revival.enqueue(frame):
        return [*cancelled, *restoring.refuse(link, frame, _no_room())]
    return [*cancelled, *_start(link, revival)]


def _cancel_waiting(link: Link, revival: Revival, message: Envelope) -> list[Effect]:
    """The user cancels: a prompt that still waits for the agent never reaches it."""
    effects: list[Effect] = []
    for waiting in (revival.queue, *(back.waiting for back in revival.restoring.values())):
        for frame in list(waiting):
            if _is_cancelled(frame.message, message):
                waiting.remove(frame)
                session = link.session(frame.message.session_id or "")
                effects += from_client.cancel_unsent(link, session, frame)
    revival.queued_bytes = sum(len(frame.line) for frame in revival.queue)
    return effects


def _is_cancelled(waiting: Envelope, cancel: Envelope) -> bool:
    if waiting.method != acp.PROMPT:
        return False
    if cancel.method in {acp.CANCEL, acp.CLOSE}:
        return waiting.session_id == cancel.session_id
    params = cancel.params
    if cancel.method != acp.CANCEL_REQUEST or params is UNSET or params.request_id is UNSET:
        return False
    return waiting.request_id == jsonrpc.same_id(bytes(params.request_id))


def from_the_agent(link: Link, revival: Revival, frame: Frame) -> list[Effect]:
    """Take in one message of the agent's."""
    message = frame.message
    if message.method is None:
        own = revival.own.pop(message.request_id or jsonrpc.NULL_ID, None)
        if own is None:
            return from_agent.receive(link, frame)
        if own.purpose is Purpose.GREET:
            return _greeted(link, revival, frame)
        return restoring.answered(link, revival, own, frame)
    if restoring.is_replay(revival, frame):
        return [Drop("replay")]
    if message.method in acp.TO_AGENT_ONLY:
        # An echo is told by its id, which is the client's.
        return from_agent.receive(link, frame)
    if revival.generation == 0 or (message.id is UNSET and message.method != acp.CANCEL_REQUEST):
        return from_agent.receive(link, frame)
    renamed = _renamed(revival, frame)
    if renamed is None:
        return from_agent.receive(link, frame)
    return [
        Send(Side.CLIENT, renamed.line) if effect is FORWARD else effect
        for effect in from_agent.receive(link, renamed)
    ]


def _renamed(revival: Revival, frame: Frame) -> Frame | None:
    """The frame with the id by which the client knows, or will know, the request."""
    message = frame.message
    if message.id is not UNSET:
        line = jsonrpc.with_id(frame, revival.rename(message.request_id or jsonrpc.NULL_ID))
    else:
        params = message.params
        named = None if params is UNSET or params.request_id is UNSET else params.request_id
        origin = jsonrpc.same_id(bytes(named)) if named is not None else jsonrpc.NULL_ID
        known = revival.renamed.get(origin)
        if known is None:
            return None
        withdrawal = jsonrpc.params_of(frame) | {"requestId": msgspec.Raw(known)}
        line = jsonrpc.notification(acp.CANCEL_REQUEST, withdrawal)
    decoded = jsonrpc.decode(line)
    return decoded if isinstance(decoded, jsonrpc.Frame) else None


def translate(revival: Revival, effects: list[Effect], frame: Frame | None) -> list[Effect]:
    """Answers to requests that the client knows by another id, under the agent's own."""
    if not revival.origin_of:
        return effects
    is_answer = frame is not None and frame.message.method is None
    answered = revival.origin(frame.message.request_id or b"") if frame and is_answer else None
    return [_with_origin(revival, effect, frame, answered) for effect in effects]


def _with_origin(
    revival: Revival, effect: Effect, frame: Frame | None, answered: bytes | None
) -> Effect:
    if effect is FORWARD and frame is not None and answered is not None:
        return Send(Side.AGENT, jsonrpc.with_id(frame, answered))
    if isinstance(effect, Answer) and effect.to is Side.AGENT:
        origin = revival.origin(effect.request_id)
        return Answer(Side.AGENT, origin, with_id(effect.frame, origin)) if origin else effect
    return effect


def handle_timeout(link: Link, revival: Revival) -> list[Effect]:
    """Start what may start now, and give up on what was not answered."""
    effects: list[Effect] = []
    for request_id, own in list(revival.own.items()):
        if own.due <= link.now:
            del revival.own[request_id]
            if own.purpose is Purpose.GREET:
                stalled = ending.own_failure(ErrorType.AGENT_STALLED, "request_timeout")
                effects += _give_up(link, revival, stalled)
            else:
                effects += restoring.given_up(link, revival, own)
    if revival.queue:
        effects += _start(link, revival)
    return effects
