"""What the agent sends: its answers, its updates, its requests to the client.

Owns the agent's half of the link: which answer is whose, and which of them means failure. What an
update does to a turn is `core.updates`'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from lastword.core import (
    acp,
    advice,
    ending,
    entries,
    foreground,
    jsonrpc,
    retrying,
    turns,
    updates,
)
from lastword.core.effects import FORWARD, Answer, Drop, Effect, Side
from lastword.core.error_object import MAX_FRAME_BYTES, MAX_MESSAGE_CHARS
from lastword.core.handshake import advertise, read_agent
from lastword.core.session import HeldError, Request
from lastword.core.taxonomy import ErrorType
from lastword.core.timeline import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.jsonrpc import Frame, Malformed
    from lastword.core.session import Link


MAX_OPTIONS = 32


def receive(link: Link, frame: Frame) -> list[Effect]:
    """Take in one message of the agent's."""
    message = frame.message
    link.stderr.since_frame = 0
    if message.method is None:
        return _response(link, frame)
    if message.id is not UNSET:
        return _request(link, frame)
    if message.method == acp.UPDATE:
        effects: list[Effect] = []
        if link.held_error is not None:
            link.held_error = None
            effects.append(_dropped(link, "error_without_id"))
        return effects + updates.receive(link, frame)
    session = updates.progress_of(link, message.session_id)
    if message.method == acp.CANCEL_REQUEST:
        _withdrawn(link, frame)
    if message.method == retrying.RETRYING_METHOD:
        return [FORWARD, *retrying.told(link, session, frame)]
    return [FORWARD]


def _withdrawn(link: Link, frame: Frame) -> None:
    """The agent takes a request back: it does not wait for the user any more."""
    params = frame.message.params
    if params is not UNSET and params.request_id is not UNSET:
        request_id = jsonrpc.same_id(bytes(params.request_id))
        for session in link.sessions.values():
            session.answered(request_id, link.now)


def malformed(link: Link, line: Malformed) -> list[Effect]:
    """Take in a line that is no message: it never reaches the client."""
    return [Drop(line.reason), _dropped(link, line.reason)]


def oversized(head: bytes, request_id: bytes | None) -> list[Effect]:
    """A line of the agent's was over the limit: whoever asked by it waits for an answer."""
    method = jsonrpc.peek_method(head)
    if request_id is None or method is None or method == acp.UPDATE:
        return []
    message = "The agent's request was too long to pass on."
    error = {"code": acp.INTERNAL_ERROR, "message": message, "data": {"details": message}}
    return [Answer(Side.AGENT, request_id, jsonrpc.error(request_id, error))]


def _dropped(link: Link, reason: str) -> Effect:
    return entries.record(link, Kind.FRAME_DROPPED, side="agent", reason=reason)


def _request(link: Link, frame: Frame) -> list[Effect]:
    message = frame.message
    method = message.method or ""
    request_id = message.request_id or jsonrpc.NULL_ID
    if method in acp.TO_AGENT_ONLY:
        return _echo(link, request_id, method)
    session = updates.progress_of(link, message.session_id)
    if session is not None and session.quarantined:
        return [Drop("quarantine"), ending.refuse(request_id, method)]
    request = link.from_agent[request_id] = Request(method, message.session_id)
    if session is not None:
        for turn in session.turns:
            turn.facts.note_request(method)
    if method in acp.ASKS_USER:
        # As its progress does, a sub-agent's question counts for every session at work.
        known = session is not None and session.opened
        for asking in [session] if known and session else link.sessions.values():
            if known or asking.turns:
                asking.asked(request_id, link.now)
        request.params = _option_kinds(frame)
        what = "permission" if method == acp.PERMISSION else "form"
        return [entries.record(link, Kind.ASKED, session, what=what), FORWARD]
    if method in acp.HAS_SIDE_EFFECTS:
        what = "file" if method == acp.WRITE_FILE else "command"
        return [entries.record(link, Kind.DELEGATED, session, what=what), FORWARD]
    if method == acp.TERMINAL_RELEASE and message.params is not UNSET:
        link.terminals.pop(message.params.terminal_id or "", None)
    return [FORWARD]


def _option_kinds(frame: Frame) -> dict[str, Any]:
    """What the user can choose of: the options' kinds by their ids."""
    options = jsonrpc.params_of(frame).get("options")
    if not isinstance(options, list):
        return {}
    found = [option for option in options[:MAX_OPTIONS] if isinstance(option, dict)]
    return {str(option.get("optionId")): option.get("kind") for option in found}


def _echo(link: Link, request_id: bytes, method: str) -> list[Effect]:
    """A program that writes its input back is no ACP agent: say so instead of waiting."""
    effects: list[Effect] = [Drop("echo"), _dropped(link, "echo")]
    request = link.from_client.get(request_id)
    if request is None or request.method != method:
        return effects
    verdict = ending.own_failure(ErrorType.PROTOCOL_ERROR, "not_acp")
    return effects + fail_open_request(link, request_id, request, verdict)


def fail_open_request(
    link: Link, request_id: bytes, request: Request, verdict: Verdict
) -> list[Effect]:
    """End an open request of the client's, whatever it is, as a failure of the agent's answer."""
    failing = request.turn
    if failing is not None:
        if link.dialect.turn_ends_by_state:
            failing = foreground.refused(link, request_id, failing)
            if failing is None:
                return foreground.cancelled(link, request_id)
        return turns.end_failed(link, failing, verdict)
    link.from_client.pop(request_id, None)
    return ending.fail_request(link, request_id, request, verdict)


def _response(link: Link, frame: Frame) -> list[Effect]:
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    request = link.from_client.get(request_id)
    if request is not None:
        return _answered(link, frame, request_id, request)
    accepted = link.dialect.turn_ends_by_state and frame.message.error is UNSET
    resolved = _resolve(link, request_id, accepted=accepted)
    if resolved is not None:
        return resolved
    if request_id == jsonrpc.NULL_ID:
        return _hold_error(link, frame)
    repaired = jsonrpc.only_same(request_id, link.from_client)
    if repaired is None:
        return answer_to_nobody(link, request_id)
    return with_request_id(link, frame, repaired)


def answer_to_nobody(link: Link, request_id: bytes) -> list[Effect]:
    """An answer that nobody waits for, or not any more."""
    resolved = _resolve(link, request_id)
    return resolved or [Drop("answer_to_nobody"), _dropped(link, "answer_to_nobody")]


def with_request_id(link: Link, frame: Frame, request_id: bytes) -> list[Effect]:
    """Take an answer in under the id that it must have meant."""
    request = link.from_client.get(request_id)
    renamed = jsonrpc.decode(jsonrpc.with_id(frame, request_id))
    if request is None or isinstance(renamed, jsonrpc.Malformed):
        return answer_to_nobody(link, request_id)
    effects = _answered(link, renamed, request_id, request)
    return [
        entries.record(link, Kind.FRAME_REPAIRED, reason="id"),
        *(
            Answer(Side.CLIENT, request_id, renamed.line) if effect is FORWARD else effect
            for effect in effects
        ),
    ]


def _hold_error(link: Link, frame: Frame) -> list[Effect]:
    """An error without an id belongs to the one open request, if nothing speaks against it."""
    only = next(iter(link.from_client.items())) if len(link.from_client) == 1 else None
    if only is None or frame.message.error is UNSET or only[1].sequence != link.sent_to_agent:
        return [Drop("answer_without_id"), _dropped(link, "answer_without_id")]
    link.held_error = HeldError(frame, only[0], link.now + turns.HOLD_SECONDS)
    return []


def _resolve(link: Link, request_id: bytes, *, accepted: bool = False) -> list[Effect] | None:
    """The late answer to a prompt that was ended without it: the session is itself again.

    Unless the agent has only now `accepted` it (version 2): then its work is still to come.
    """
    for session in link.sessions.values():
        if request_id in session.unresolved:
            session.unresolved.discard(request_id)
            if accepted:
                session.unresolved.add(ending.FOREGROUND)
            return [
                Drop("late_answer"),
                _dropped(link, "late_answer"),
                *turns.release_waiting(link, session),
            ]
    return None


def _answered(link: Link, frame: Frame, request_id: bytes, request: Request) -> list[Effect]:
    if request.turn is not None:
        if link.dialect.turn_ends_by_state:
            return foreground.prompt_answered(link, frame, request_id, request.turn)
        return turns.answered(link, frame, request.turn)
    del link.from_client[request_id]
    if jsonrpc.loads(frame.message.error) is not None:
        return _error_passes(link, frame, request_id)
    if request.method == acp.INITIALIZE:
        return _initialized(link, frame, request_id)
    created: list[Effect] = []
    if request.method in acp.ENDS_SESSION:
        ended = link.sessions.get(request.session_id or "")
        # Its turns still get their answers, from the agent or when the grace is over, and what is
        # late of them stays back.
        busy = ended is not None and (ended.turns or ended.waiting or ended.quarantined)
        if ended is not None and not busy:
            del link.sessions[ended.session_id]
    elif request.method in acp.OPENS_SESSION:
        result = jsonrpc.loads(frame.message.result)
        session_id = result.get("sessionId") if isinstance(result, dict) else None
        session_id = session_id if isinstance(session_id, str) else request.session_id
        if session_id is not None:
            session = link.session(session_id)
            session.opened, session.opening = True, request.params
            how = request.method.rpartition("/")[2]
            created = [entries.record(link, Kind.SESSION_CREATED, session, how=how)]
            if link.revival is not None:
                # An agent may count its sessions from 1 in each of its lives.
                link.revival.opened(session_id)
    elif request.method in acp.SETTINGS and request.params is not None:
        chosen = link.sessions.get(request.session_id or "")
        if chosen is not None:
            option = str(request.params.get("configId", ""))
            chosen.settings[request.method, option] = request.params
    return [*created, FORWARD]


def _initialized(link: Link, frame: Frame, request_id: bytes) -> list[Effect]:
    link.agent = read_agent(jsonrpc.loads(frame.message.result))
    link.initialized = True
    entry = entries.agent_ready(link)
    with_air = link.client.air and advice.tells_by_air(link)
    if link.agent.speaks_typed and not with_air:
        return [entry, FORWARD]
    implementation = None if link.agent.speaks_typed else link.options.implementation
    line = advertise(frame.line, link.dialect, implementation, with_air=with_air)
    return [entry, Answer(Side.CLIENT, request_id, line)]


def _error_passes(link: Link, frame: Frame, request_id: bytes) -> list[Effect]:
    """An error on a request that is no prompt passes, unless clients hang on its shape."""
    error = jsonrpc.loads(frame.message.error)
    members = error if isinstance(error, dict) else {}
    code, message = members.get("code"), members.get("message")
    code_fits = isinstance(code, int) and not isinstance(code, bool)
    message_fits = isinstance(message, str) and message != ""
    if code_fits and message_fits and members.get("data", {}) is not None:
        return [FORWARD]
    mended = ending.redactor(link).json({k: v for k, v in members.items() if v is not None})
    mended["code"] = code if code_fits else acp.INTERNAL_ERROR
    mended["message"] = message if message_fits else "The agent reported an error without a text."
    answer = jsonrpc.error(request_id, mended)
    if len(answer) >= MAX_FRAME_BYTES:
        kept = {"code": mended["code"], "message": mended["message"][:MAX_MESSAGE_CHARS]}
        answer = jsonrpc.error(request_id, kept | {"data": {"details": kept["message"]}})
    return [Answer(Side.CLIENT, request_id, answer)]
