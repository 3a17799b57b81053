"""The client's half of the link: prompts, cancels, other requests, and its answers to the agent.

Owns the handling of what the client sends. Every frame passes unchanged unless the agent is gone,
the session is in quarantine, or the answer is to a request that no longer waits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.core.link import agent_side, ending, entries, failures, late, prompts, updates
from lastword.core.link.effects import FORWARD, Answer, Drop, Effect, Send, Side, forwarded_as
from lastword.core.link.handshake import read_client
from lastword.core.link.session import FOREGROUND
from lastword.core.link.state import OpenRequest
from lastword.core.link.waits import may_wait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import By, Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame, Malformed
    from lastword.core.protocol.peek import Peeked

OWN_ID_PREFIX = b'"lastword:'


def receive(link: Link, frame: Frame) -> list[Effect]:
    message = frame.message
    link.client_sent()
    if message.method is None:
        return _answer(link, frame)
    if message.id is not UNSET:
        return _prompt(link, frame) if message.method == acp.PROMPT else _request(link, frame)
    effects: list[Effect] = []
    if message.method == acp.CANCEL and message.session_id is not None:
        session = link.sessions.get(message.session_id)
        if session is not None:
            effects = _cancel(link, session)
    elif message.method == acp.CANCEL_REQUEST:
        effects = _cancel_request(link, frame)
    return [*effects, FORWARD if link.agent_gone is None else Drop("agent_gone")]


def malformed(link: Link, line: Malformed) -> list[Effect]:
    """Receive a line that is not a message, and answer it as JSON-RPC requires."""
    link.client_sent()
    effects: list[Effect] = [
        Drop(line.reason),
        entries.record(link, Kind.FRAME_DROPPED, side="client", reason=line.reason),
    ]
    # A message without its own id may hold one deeper down that belongs to something else.
    is_json = line.reason != jsonrpc.MALFORMED_JSON
    shown = late.peek.Peeked() if is_json else late.peek.of_broken(line.line)
    if shown.answered is not None:
        lost = _answer_is_lost(link, shown.answered, "The client's answer could not be read.")
        return effects + lost
    code = acp.INVALID_REQUEST if is_json else acp.PARSE_ERROR
    fault = "is not a JSON-RPC message" if is_json else "is not valid JSON"
    message = f"The line that the client sent {fault}. Send one JSON-RPC object a line."
    data = {"details": message, "errorKind": "protocol_error"}
    request_id = _free_id(link, shown)
    frame = jsonrpc.error(request_id, {"code": code, "message": message, "data": data})
    return [*effects, Answer(Side.CLIENT, request_id, frame)]


def _free_id(link: Link, shown: Peeked) -> bytes:
    """Return the id under which a request that cannot be read is answered.

    The id of an open request is not used: the answer would be taken for that request's.
    """
    waiting = (prompt.frame for each in link.sessions.values() for prompt in each.waiting)
    is_open = shown.id in link.from_client or any(
        frame.message.request_id == shown.id for frame in waiting
    )
    answers_agent = shown.method is None and shown.id in link.from_agent
    return jsonrpc.NULL_ID if shown.id is None or is_open or answers_agent else shown.id


def _answer_is_lost(link: Link, request_id: bytes, message: str) -> list[Effect]:
    """Answer a request from the agent with an error: the client's answer to it was lost.

    The client, which has answered, will not answer again.
    """
    if request_id not in link.from_agent:
        request_id = link.agent_request_meant(request_id) or request_id
    request = link.agent_has_answer(request_id)
    if request is None:
        return []
    for session in link.sessions.values():
        session.answered(request_id, link.now)
    updates.progress_of(link, request.session_id)
    error = {"code": acp.INTERNAL_ERROR, "message": message}
    agents_id = request.agents_id or request_id
    return [Answer(Side.AGENT, agents_id, jsonrpc.error(agents_id, error))]


def _prompt(link: Link, frame: Frame) -> list[Effect]:
    session = link.session(frame.message.session_id or "")
    refused = prompts.refusal(link, session) if link.options.spend_limit else None
    if refused := refused or link.agent_gone:
        return ending.refuse_prompt(link, session, frame, refused)
    if session.quarantined:
        return _let_wait(link, session, frame, link.now + link.options.cancel_grace_seconds)
    # Overlapping prompts may well show nothing: release an answer that was held back for that.
    released = [e for turn in list(session.turns) for e in ending.release(link, turn)]
    # Stop waiting to retry a failed prompt if the user continues with something else.
    failed = ending.give_up_for_prompt(link, session)
    if link.switches_model(session.session_id):
        # It is sent once the former model is back, for which the request has a limit.
        return [*released, *failed, *_let_wait(link, session, frame, math.inf)]
    return [*released, *failed, *prompts.start(link, session, frame), FORWARD]


def _let_wait(link: Link, session: Session, frame: Frame, due: float) -> list[Effect]:
    """Hold a prompt back for its session; refuse one for which there is no room."""
    if not may_wait([prompt.frame for prompt in session.waiting], frame):
        full = failures.own_failure(ErrorType.AGENT_STALLED, "queue_full")
        return ending.refuse_prompt(link, session, frame, full)
    session.let_wait(frame, due)
    return []


def _request(link: Link, frame: Frame) -> list[Effect]:
    message = frame.message
    method = message.method or ""
    request_id = message.request_id or jsonrpc.NULL_ID
    effects: list[Effect] = []
    if method == acp.INITIALIZE:
        link.greeted_by(read_client(frame.readable), frame.line)
        effects.append(attached(link))
    # What a restarted agent will have to learn of this request.
    params: dict[str, Any] | None = None
    if method in acp.SETTINGS:
        params = jsonrpc.params_of(frame)
    elif method in acp.OPENS_SESSION:
        given = jsonrpc.params_of(frame)
        params = {key: given[key] for key in _OPENED_WITH if given.get(key) is not None}
        # Vendors put a session's restrictions into `_meta`.
        meta = object_of(given.get("_meta"))
        lasting = {key: value for key, value in meta.items() if key not in _OF_ONE_REQUEST}
        if lasting:
            params["_meta"] = lasting
    limit = acp.request_limit_seconds(method)
    request = OpenRequest(
        method,
        message.session_id,
        due=None if limit is None else link.now + limit,
        sequence=link.sent_to_agent,
        params=params,
        stderr_mark=link.stderr.total,
    )
    if link.agent_gone is not None:
        return [*effects, *failures.fail_request(link, request_id, request, link.agent_gone)]
    named = message.session_id
    session = link.sessions.get(named) if named is not None else None
    if session is not None and method == acp.CLOSE:
        effects += _cancel(link, session)
    elif session is not None and method in acp.ENDS_SESSION:
        effects += ending.give_up_wait(link, session)
    elif session is not None and method in acp.SETTINGS and session.models is not None:
        session.models.requested_by_user(method, params or {})
    extended = None
    if method in acp.OPENS_SESSION:
        request, extended = agent_side.extend_request(link, frame, request)
    link.add_client_request(request_id, request)
    return [*effects, FORWARD if extended is None else Send(Side.AGENT, extended)]


def attached(link: Link) -> Effect:
    """Return the entry that says who the client is."""
    client = link.client
    return entries.record(
        link,
        Kind.CLIENT_ATTACHED,
        name=entries.short(client.name),
        version=entries.short(client.version),
        protocol_version=client.dialect.version,
        reads=[word for word in ("typed", "retry", "notices", "air") if getattr(client, word)],
    )


_OPENED_WITH = ("cwd", "mcpServers", "additionalDirectories")
_OF_ONE_REQUEST = frozenset({"traceparent", "tracestate", "baggage"})
"""Members of `_meta` that belong to a single request."""


def _cancel(link: Link, session: Session) -> list[Effect]:
    """Cancel a session for the user: every open turn of it, and every waiting prompt."""
    effects: list[Effect] = []
    for turn in list(session.turns):
        effects += _cancel_turn(link, turn)
    for prompt in session.pop_waiting():
        effects += ending.cancel_unsent(link, session, prompt.frame)
    return effects


def _cancel_turn(link: Link, turn: Turn) -> list[Effect]:
    if turn.waits:
        return ending.cancel_waiting(link, turn)
    effects: list[Effect] = []
    if turn.withheld_failure:
        effects += ending.cancel_withheld_failure(link, turn)
    elif turn.withheld is not None:
        # The agent had answered before the user cancelled.
        effects += ending.release(link, turn)
    else:
        # No answer can be under way from a handler in this process, nor from an agent that waits
        # for the user in this session. A sub-agent's question counts for all sessions at work.
        session, was_open = turn.session, link.options.in_process
        if not was_open and len(session.turns) <= 1:
            others = [each.asking for each in link.sessions.values() if each is not session]
            was_open = session.dismissed or any(
                question == FOREGROUND or not any(question in asking for asking in others)
                for question in session.asking
            )
        turn.cancel(link.now + link.options.cancel_grace_seconds, was_open=was_open)
    effects.append(entries.record(link, Kind.CANCEL, turn.session, turn, by=By.USER.value))
    return effects


def _cancel_request(link: Link, frame: Frame) -> list[Effect]:
    params = frame.message.params
    if params is UNSET or params.request_id is UNSET:
        return []
    request_id = jsonrpc.same_id(bytes(params.request_id))
    request = link.from_client.get(request_id)
    if request is not None and request.turn is not None:
        return _cancel_turn(link, request.turn)
    for session in link.sessions.values():
        for prompt in session.waiting:
            if prompt.frame.message.request_id == request_id:
                session.stop_waiting(prompt)
                return ending.cancel_unsent(link, session, prompt.frame)
    return []


def _answer(link: Link, frame: Frame) -> list[Effect]:
    """Receive the client's answer: to the agent's request, a dead agent's, or one of ours."""
    message = frame.message
    request_id = message.request_id or jsonrpc.NULL_ID
    request = link.agent_has_answer(request_id)
    if request is not None:
        return _answer_to_agent(link, frame, request_id, request)
    meant = link.agent_request_meant(request_id)
    renamed = jsonrpc.decode(jsonrpc.with_id(frame, meant)) if meant is not None else None
    if isinstance(renamed, jsonrpc.Frame):
        entry = entries.record(link, Kind.FRAME_REPAIRED, reason="id")
        answered = _answer(link, renamed)
        return [entry, *forwarded_as(answered, Send(Side.AGENT, renamed.line))]
    stale = link.pop_withdrawn(request_id)
    if stale is not None and stale.method == acp.TERMINAL_CREATE:
        terminal_id = _terminal_id(frame)
        if terminal_id is not None:
            released = failures.release_terminal(link, terminal_id, stale.session_id)
            return [Drop("answer_to_dead_agent"), *released]
    if request_id.startswith(OWN_ID_PREFIX):
        return [Drop("answer_to_lastword")]
    reason = "answer_to_nobody" if stale is None else "answer_to_dead_agent"
    if stale is not None and stale.expired:
        reason = "question_expired"
    return [Drop(reason), entries.record(link, Kind.FRAME_DROPPED, side="client", reason=reason)]


def _answer_to_agent(
    link: Link, frame: Frame, request_id: bytes, request: OpenRequest
) -> list[Effect]:
    passed: Effect = FORWARD
    if request.agents_id is not None:
        passed = Send(Side.AGENT, jsonrpc.with_id(frame, request.agents_id))
    updates.progress_of(link, request.session_id)
    if request.method in acp.USER_REQUESTS:
        asking = [each for each in link.sessions.values() if request_id in each.asking]
        outcome = _outcome(frame, request)
        dismissed = outcome in _DISMISSED and len(asking) == 1
        for each in asking:
            each.answered(request_id, link.now, dismissed=dismissed)
            if request.method == acp.PERMISSION:
                for turn in each.turns:
                    turn.facts.note_permission(outcome)
        session = link.sessions.get(request.session_id or "")
        entry = entries.record(link, Kind.USER_ANSWERED, session, outcome=outcome)
        return [entries.of_question(entry, request_id), passed]
    if request.method == acp.TERMINAL_CREATE:
        terminal_id = _terminal_id(frame)
        if terminal_id is not None:
            link.terminal_created(terminal_id, request.session_id)
    return [passed]


_DISMISSED = frozenset({"cancelled", "cancel"})
"""Outcomes in which the user chose nothing: of a permission request, and of a form."""


def _outcome(frame: Frame, request: OpenRequest) -> str:
    """Return what the user chose, as the option's kind and never its words."""
    result = object_of(jsonrpc.loads(frame.message.result))
    outcome = result.get("outcome")
    if not isinstance(outcome, dict):
        action = result.get("action")
        return action if action in {"accept", "decline", "cancel"} else "unknown"
    if outcome.get("outcome") != "selected":
        return "cancelled"
    kind = (request.params or {}).get(str(outcome.get("optionId")))
    return kind if isinstance(kind, str) else "selected"


def _terminal_id(frame: Frame) -> str | None:
    terminal_id = object_of(jsonrpc.loads(frame.message.result)).get("terminalId")
    return terminal_id if isinstance(terminal_id, str) else None


def oversized(link: Link, shown: Peeked, verdict: Verdict) -> list[Effect]:
    """Note that a line from the client was over the limit, and answer what it belongs to."""
    link.client_sent()
    if shown.answered is not None:
        return _answer_is_lost(link, shown.answered, "The client's answer was too long to pass on.")
    if shown.answers:
        return []
    verdict = msgspec.structs.replace(verdict, origin=Origin.CLIENT)
    request = OpenRequest(shown.method or "")
    return failures.fail_request(link, _free_id(link, shown), request, verdict)
