"""The agent's half of the link: its answers, its requests to the client, its events and reports.

Owns the matching of answers to requests, and which answers mean failure; which agent is asked for
further events (a row of `quirks.wire`), by a member added to the request that opens a session; and
what a handler in this process reports besides its frames. What an update does to a turn is in
`core.link.updates`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from lastword.core.failure.ladder import MAX_FRAME_BYTES, SentError
from lastword.core.failure.taxonomy import MAX_MESSAGE_CHARS, ErrorType
from lastword.core.link import (
    choices,
    ending,
    entries,
    failures,
    late,
    prompts,
    reporting,
    resend,
    updates,
    waits,
)
from lastword.core.link.effects import FORWARD, Answer, Drop, Effect, Send, Side, forwarded_as
from lastword.core.link.evidence import Retrying
from lastword.core.link.facts import purpose_of
from lastword.core.link.handshake import advertise, read_agent
from lastword.core.link.state import OpenRequest
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of, raw_members
from lastword.core.timeline.entry import Kind
from lastword.quirks import wire
from lastword.quirks.agents import agent_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.classify import Verdict
    from lastword.core.failure.retry_policy import FailedAttempt
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link, ModelRequest
    from lastword.core.protocol.jsonrpc import Frame, Malformed
    from lastword.core.protocol.peek import Peeked

MAX_OPTIONS = 32


def receive(link: Link, frame: Frame) -> list[Effect]:
    message = frame.message
    if link.stderr.since_frame:
        link.stderr.count_anew()
    if message.method is None:
        return _response(link, frame)
    if message.id is not UNSET:
        return _and_shown(link, _request(link, frame), message.session_id)
    if message.method == acp.UPDATE:
        effects: list[Effect] = []
        withheld = link.withheld_error
        if withheld is not None and withheld.frame.message.request_id == jsonrpc.NULL_ID:
            link.pop_withheld_error()
            effects.append(_dropped(link, "error_without_id"))
        return _and_shown(link, effects + updates.receive(link, frame), message.session_id)
    session = updates.progress_of(link, message.session_id)
    passed = _withdrawn(link, frame) if message.method == acp.CANCEL_REQUEST else FORWARD
    if not (reporting.announces_retry(link, frame) or _states_limit(frame)):
        for turn in _turns_at_work(link, session):
            turn.note_message(purpose_of(message), link.now)
    if message.method in wire.EVENTS:
        effects = _event_received(link, session, frame)
    else:
        effects = [passed, *reporting.read_frame(link, session, frame)]
    return _and_shown(link, effects, message.session_id)


def _and_shown(link: Link, effects: list[Effect], session_id: str | None) -> list[Effect]:
    """Add the effects of a frame that may show the agent still at work on a failed turn."""
    if not link.options.tries_again:
        return effects
    return effects + ending.give_up_if_shown(link, session_id)


def _withdrawn(link: Link, frame: Frame) -> Effect:
    params = frame.message.params
    if params is UNSET or params.request_id is UNSET:
        return FORWARD
    agents_id = jsonrpc.same_id(bytes(params.request_id))
    request_id = link.client_knows(agents_id)
    link.forget_question(request_id)
    for session in link.sessions.values():
        session.answered(request_id, link.now)
    if request_id == agents_id:
        return FORWARD
    members = jsonrpc.params_of(frame) | {"requestId": msgspec.Raw(request_id)}
    return Send(Side.CLIENT, jsonrpc.notification(acp.CANCEL_REQUEST, members))


def malformed(link: Link, line: Malformed) -> list[Effect]:
    """Receive a line that is not a message: it never reaches the client.

    Whoever waits for its answer gets an error at once.
    """
    return _and_shown(link, _malformed(link, line), None)


def _malformed(link: Link, line: Malformed) -> list[Effect]:
    effects: list[Effect] = [Drop(line.reason), _dropped(link, line.reason)]
    begins = line.line.lstrip(jsonrpc.BLANKS)[:1]
    is_broken = line.reason == jsonrpc.MALFORMED_JSON and begins == b"{"
    shown = late.peek.of_broken(line.line) if is_broken else None
    if b"{" in line.line and (shown is None or shown.answered is None):
        # Not mere noise: it may have been a message, or several in a batch.
        for turn in link.open_turns():
            turn.facts.note_message(None)
    if shown is None:
        return effects
    if shown.id is not None and shown.method is not None:
        message = "The line that the agent sent is not valid JSON."
        error = {"code": acp.PARSE_ERROR, "message": message, "data": {"details": message}}
        return [*effects, Answer(Side.AGENT, shown.id, jsonrpc.error(shown.id, error))]
    verdict = failures.own_failure(ErrorType.PROTOCOL_ERROR, "broken_answer")
    return effects + (lost_answer(link, shown, verdict) or [])


def lost_answer(link: Link, shown: Peeked, verdict: Verdict) -> list[Effect] | None:
    """Fail the request whose answer from the agent cannot be read.

    Returns `None` if the line is not an answer, or not to an open request.
    """
    if shown.answered is None:
        return None
    request_id = shown.answered
    if request_id not in link.from_client:
        request_id = link.client_request_meant(request_id) or request_id
    request = link.from_client.get(request_id)
    if request is not None:
        return fail_open_request(link, request_id, request, verdict)
    own = link.pop_model_request(request_id)
    return _resolve(link, request_id) if own is None else model_answered(link, own, None)


def oversized(shown: Peeked) -> list[Effect]:
    """Answer a request from the agent whose line was over the limit."""
    request_id, method = shown.id, shown.method
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
        return [Drop("quarantine"), failures.refuse_request(request_id, method)]
    to_user = method in acp.USER_REQUESTS
    options = _option_kinds(frame) if to_user else None
    watched = to_user and link.options.watches_questions
    question = None
    if watched:
        question = waits.begin_question(link.options, jsonrpc.params_of(frame), link.now)
    request = OpenRequest(method, message.session_id, params=options, question=question)
    passed: Effect = FORWARD
    client_id = link.add_agent_request(request_id, request)
    if client_id != request_id:
        request_id, passed = client_id, Send(Side.CLIENT, jsonrpc.with_id(frame, client_id))
    for turn in _turns_at_work(link, session):
        turn.note_message(purpose_of(message), link.now)
    if to_user:
        # Like progress, a sub-agent's question counts for every session at work.
        named = session is not None and session.opened
        for asking in [session] if named and session else link.sessions.values():
            if named or asking.turns:
                asking.open_question(request_id, link.now)
        what = "permission" if method == acp.PERMISSION else "form"
        entry = entries.record(link, Kind.ASKED, session, what=what)
        texts = entries.question_texts(link, frame)
        return [entries.of_question(entry, request_id, texts), passed]
    if method in acp.HAS_SIDE_EFFECTS:
        what = "file" if method == acp.WRITE_FILE else "command"
        return [entries.record(link, Kind.DELEGATED, session, what=what), passed]
    if method == acp.TERMINAL_RELEASE and message.params is not UNSET:
        link.terminal_released(message.params.terminal_id or "")
    return [passed]


def _turns_at_work(link: Link, session: Session | None) -> list[Turn]:
    """Return the turns that a message may be about.

    As for progress, what comes of a sub-agent's session counts for every turn at work.
    """
    return link.open_turns() if session is None or not session.opened else session.turns


def _option_kinds(frame: Frame) -> dict[str, Any]:
    """Return the choices offered to the user: the kinds of the options, by id.

    An id that stands for more than one kind says nothing of what was chosen.
    """
    options = jsonrpc.params_of(frame).get("options")
    if not isinstance(options, list):
        return {}
    offered = [option for option in options[:MAX_OPTIONS] if isinstance(option, dict)]
    kinds: dict[str, Any] = {}
    for option in offered:
        option_id, kind = str(option.get("optionId")), option.get("kind")
        kinds[option_id] = kind if kinds.get(option_id, kind) == kind else None
    return kinds


def _echo(link: Link, request_id: bytes, method: str) -> list[Effect]:
    """Report a program that echoes its input: it is not an ACP agent, so do not wait for it."""
    effects: list[Effect] = [Drop("echo"), _dropped(link, "echo")]
    request = link.from_client.get(request_id)
    if request is None or request.method != method:
        return effects
    verdict = failures.own_failure(ErrorType.PROTOCOL_ERROR, "not_acp")
    return effects + fail_open_request(link, request_id, request, verdict)


def fail_open_request(
    link: Link, request_id: bytes, request: OpenRequest, verdict: Verdict
) -> list[Effect]:
    """End an open request from the client, of any kind, as a failure of the agent's answer."""
    failing = request.turn
    if failing is not None:
        if link.dialect.turn_ends_by_state:
            failing = prompts.refused_turn(link, request_id, failing)
            if failing is None:
                return prompts.answer_cancelled(link, request_id)
        failing.evidence.add_answer(verdict)
        return ending.fail(link, failing)
    link.client_has_answer(request_id)
    return failures.fail_request(link, request_id, request, verdict)


def _response(link: Link, frame: Frame) -> list[Effect]:
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    request = link.from_client.get(request_id)
    if request is not None:
        return _answered(link, frame, request_id, request)
    own = link.pop_model_request(request_id)
    if own is not None:
        return [Drop("answer_to_lastword"), *model_answered(link, own, frame)]
    accepted = link.dialect.turn_ends_by_state and frame.message.error is UNSET
    resolved = _resolve(link, request_id, accepted=accepted)
    if resolved is not None:
        return resolved
    if request_id == jsonrpc.NULL_ID:
        return _hold_error(link, frame)
    repaired = link.client_request_meant(request_id)
    if repaired is None:
        return answer_to_nobody(link, request_id)
    return with_request_id(link, frame, repaired)


def model_answered(link: Link, request: ModelRequest, frame: Frame | None) -> list[Effect]:
    """Receive the answer to our own request for another model, or that there is none."""
    effects = resend.switch_answered(link, request, frame)
    session, turn = link.sessions.get(request.session_id), request.turn
    if link.switches_model(request.session_id):
        return effects
    if turn is not None and turn.waits_for_model:
        effects += ending.go_without_model(link, turn)
    return effects if session is None else effects + prompts.send_waiting(link, session)


def answer_to_nobody(link: Link, request_id: bytes) -> list[Effect]:
    """Handle an answer that nobody waits for, or no longer."""
    resolved = _resolve(link, request_id)
    return resolved or [Drop("answer_to_nobody"), _dropped(link, "answer_to_nobody")]


def with_request_id(
    link: Link, frame: Frame, request_id: bytes, *, waited: bool = False
) -> list[Effect]:
    """Receive an answer, which may have `waited` already, under the id that it must have meant."""
    request = link.from_client.get(request_id)
    renamed = jsonrpc.decode(jsonrpc.with_id(frame, request_id))
    if request is None or isinstance(renamed, jsonrpc.Malformed):
        return answer_to_nobody(link, request_id)
    effects = _answered(link, renamed, request_id, request, waited=waited)
    if frame.message.request_id == request_id:
        return forwarded_as(effects, Answer(Side.CLIENT, request_id, frame.line))
    return [
        entries.record(link, Kind.FRAME_REPAIRED, reason="id"),
        *forwarded_as(effects, Answer(Side.CLIENT, request_id, renamed.line)),
    ]


def _hold_error(link: Link, frame: Frame) -> list[Effect]:
    """Assign an error without an id to the one open request, unless something contradicts that."""
    until = link.now + prompts.HOLD_SECONDS
    if frame.message.error is not UNSET and link.withhold_error(frame, until):
        return []
    return [Drop("answer_without_id"), _dropped(link, "answer_without_id")]


def _resolve(link: Link, request_id: bytes, *, accepted: bool = False) -> list[Effect] | None:
    """Handle the late answer to a prompt that was ended without it: the session is usable again.

    If the agent has only now `accepted` the prompt (version 2), its work is still to come.
    """
    for session in link.sessions.values():
        if request_id in session.unresolved:
            session.resolve(request_id, accepted=accepted)
            return [
                Drop("late_answer"),
                _dropped(link, "late_answer"),
                *prompts.release_waiting(link, session),
            ]
    return None


def _answered(
    link: Link, frame: Frame, request_id: bytes, request: OpenRequest, *, waited: bool = False
) -> list[Effect]:
    if request.turn is not None:
        if link.dialect.turn_ends_by_state:
            return prompts.prompt_answered(link, frame, request_id, request.turn)
        if request.waits_for_resend:
            return answer_to_nobody(link, request_id)
        return prompts.answered(link, frame, request.turn, waited=waited)
    if jsonrpc.loads(frame.message.error) is not None:
        return _failed(link, frame, request_id, request, waited=waited)
    link.client_has_answer(request_id)
    if request.method == acp.INITIALIZE:
        return _initialized(link, frame, request_id)
    if request.method in acp.OPENS_SESSION:
        return _opened(link, frame, request)
    if request.method in acp.ENDS_SESSION:
        ended = link.sessions.get(request.session_id or "")
        # Its turns still get their answers, from the agent or when the grace is over, and their
        # late frames are held back.
        busy = ended is not None and (ended.turns or ended.waiting or ended.quarantined)
        if ended is not None and not busy:
            link.forget_session(ended.session_id)
    elif request.method in acp.SETTINGS and request.params is not None:
        _chosen(link, frame, request.method, request.params)
        return [FORWARD, *_choice_answered(link, request, accepts=True)]
    return [FORWARD]


def _failed(
    link: Link, frame: Frame, request_id: bytes, request: OpenRequest, *, waited: bool
) -> list[Effect]:
    error = jsonrpc.loads(frame.message.error)
    # What the agent wrote to stderr about an empty one may come late.
    until = link.now + prompts.HOLD_SECONDS
    may_wait = not waited and _is_empty(link, error)
    if may_wait and link.withhold_empty_error(frame, request_id, until):
        return []
    link.client_has_answer(request_id)
    plain = _send_plainly(link, request_id, request, error)
    if plain:
        return [Send(Side.AGENT, plain)]
    return [
        *_error_passes(link, frame, request_id, request),
        *_choice_answered(link, request, accepts=False),
    ]


def _choice_answered(link: Link, request: OpenRequest, *, accepts: bool) -> list[Effect]:
    """Receive whether the agent accepts a setting of the user's, which may be another model."""
    session = link.sessions.get(request.session_id or "")
    if request.method not in acp.SETTINGS or session is None or session.models is None:
        return []
    session.models.answered_to_user(request.method, request.params or {}, accepts=accepts)
    if session.turns:
        return []
    return resend.restore_model(link, session)


def _opened(link: Link, frame: Frame, request: OpenRequest) -> list[Effect]:
    result = jsonrpc.loads(frame.message.result)
    session_id = result.get("sessionId") if isinstance(result, dict) else None
    session_id = session_id if isinstance(session_id, str) else request.session_id
    if session_id is None:
        return [FORWARD]
    session = link.session(session_id)
    named = link.options.fallback_model and not link.dialect.turn_ends_by_state
    models = choices.Models(result) if named else None
    is_new = request.method not in acp.BRINGS_BACK
    session.open(request.params, result, models=models, is_new=is_new)
    how = request.method.rpartition("/")[2]
    created = entries.record(link, Kind.SESSION_CREATED, session, how=how)
    if models is None:
        return [created, FORWARD]
    return [created, FORWARD, *resend.warn_of_models(link, session, models)]


def _chosen(link: Link, frame: Frame, method: str, params: dict[str, Any]) -> None:
    session = link.sessions.get(str(params.get("sessionId")))
    if session is None:
        return
    result = jsonrpc.loads(frame.message.result)
    session.choices.chose(method, params, result)
    if session.models is not None:
        session.models.is_set(method, params, result)


def _initialized(link: Link, frame: Frame, request_id: bytes) -> list[Effect]:
    link.initialize_answered(read_agent(jsonrpc.loads(frame.message.result)))
    entry = entries.agent_ready(link)
    with_air = link.client.air and reporting.has_air_report(link)
    if link.agent.speaks_typed and not with_air:
        return [entry, FORWARD]
    implementation = None if link.agent.speaks_typed else link.options.implementation
    line = advertise(frame.line, link.dialect, implementation, with_air=with_air)
    return [entry, Answer(Side.CLIENT, request_id, line)]


def _is_empty(link: Link, error: object) -> bool:
    """Return whether an error tells no more than that there was one."""
    verdict = late.classify.classify_rpc_error(error, agent=link.agent.name)
    empty = verdict.type is ErrorType.UNKNOWN and not verdict.detail
    return empty or verdict.type is ErrorType.INTERNAL


def _error_passes(
    link: Link, frame: Frame, request_id: bytes, request: OpenRequest
) -> list[Effect]:
    """Pass on an error for a request other than a prompt, unless clients depend on its shape.

    One that says nothing gets the end of stderr, if nobody else can have written that.
    """
    error = jsonrpc.loads(frame.message.error)
    members = error if isinstance(error, dict) else {}
    code, message = members.get("code"), members.get("message")
    code_fits = isinstance(code, int) and not isinstance(code, bool)
    message_fits = isinstance(message, str) and message != ""
    quoted = ""
    if not link.open_turns() and _is_empty(link, error):
        quoted = late.writers.quotation(link.stderr.tail(request.stderr_mark))
    if code_fits and message_fits and members.get("data", {}) is not None and not quoted:
        return [FORWARD]
    if quoted:
        details = f"On stderr at that time: {quoted}"
        members = members | {"data": object_of(members.get("data")) | {"details": details}}
    mended = link.redactor.json({k: v for k, v in members.items() if v is not None})
    mended["code"] = code if code_fits else acp.INTERNAL_ERROR
    mended["message"] = message if message_fits else "The agent reported an error without a text."
    answer = jsonrpc.error(request_id, mended)
    if len(answer) >= MAX_FRAME_BYTES:
        short = {"code": mended["code"], "message": mended["message"][:MAX_MESSAGE_CHARS]}
        answer = jsonrpc.error(request_id, short | {"data": {"details": short["message"]}})
    return [Answer(Side.CLIENT, request_id, answer)]


# --- events that the agent is asked for -----------------------------------------------------------


def event_for(link: Link) -> wire.OptInEvent | None:
    """Return what this agent can be asked for."""
    options = link.options
    if options.evidence == "wire" or options.in_process or link.events_refused:
        return None
    key = agent_key(link.agent.name)
    return next((row for row in wire.OPT_IN_EVENTS if row.agent == key), None)


def extend_request(
    link: Link, frame: Frame, request: OpenRequest
) -> tuple[OpenRequest, bytes | None]:
    """Return the client's request as it goes to the agent, and its line if that is another."""
    row = event_for(link)
    if row is None:
        return request, None
    vendor, member = row.path
    try:
        message = msgspec.json.decode(frame.line, type=dict[str, Raw])
        params = raw_members(message.get("params"))
        meta = raw_members(params.get("_meta"))
        members = raw_members(meta.get(vendor))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return request, None
    if member in members:
        return msgspec.structs.replace(request, requests_events=True), None
    members[member] = Raw(msgspec.json.encode(row.request))
    meta[vendor] = Raw(msgspec.json.encode(members))
    params["_meta"] = Raw(msgspec.json.encode(meta))
    message["params"] = Raw(msgspec.json.encode(params))
    extended = msgspec.structs.replace(request, plain=frame.line)
    return extended, msgspec.json.encode(message)


def extended_params(link: Link, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of our own request that opens a session, with the member in them."""
    row = event_for(link)
    meta = object_of(params.get("_meta"))
    members = object_of(meta.get(row.path[0])) if row is not None else {}
    if row is None or row.path[1] in members:
        return dict(params)
    requested = {row.path[1]: list(row.request)}
    return {**params, "_meta": {**meta, row.path[0]: {**members, **requested}}}


def _send_plainly(link: Link, request_id: bytes, request: OpenRequest, error: object) -> bytes:
    """Return the client's own request to send instead; empty if that would not help.

    A missing login has nothing to do with what we added.
    """
    line, code = request.plain, object_of(error).get("code")
    if line is None or code == acp.AUTH_REQUIRED:
        return b""
    link.send_plainly(request_id, request)
    return line


def _event_received(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """Receive an event, which the client gets only if it asked for such events itself."""
    passes: list[Effect] = (
        [FORWARD] if link.client_requested_events else [Drop("asked_for_by_lastword")]
    )
    if session is not None and _states_limit(frame):
        session.read_account_limit(_event_message(frame))
        return passes
    return [*passes, *reporting.read_frame(link, session, frame)]


def _states_limit(frame: Frame) -> bool:
    row = wire.EVENTS.get(frame.message.method or "")
    return row is not None and _event_message(frame).get("type") == row.limit_event["type"]


def _event_message(frame: Frame) -> dict[str, Any]:
    return object_of(jsonrpc.params_of(frame).get("message"))


# --- what a handler in this process reports besides its frames ------------------------------------


class Note(Enum):
    """Something that happened in the turn without passing on the wire."""

    PROGRESS = auto()
    """The handler is at work; nothing more is known."""
    OUTPUT = auto()
    """The user saw something."""
    SAFE_TOOL = auto()
    """A tool was started that only reads."""
    UNSAFE_TOOL = auto()
    """A tool was started that may change something."""
    TOOL_FINISHED = auto()
    """One of those tools came to its end."""
    LIMIT_ENDED = auto()
    """The wait for the end of a limit is over, and the model is called again."""


class HandlerFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The handler of a request raised an exception.

    Attributes:
        verdict: what the exception means.
        sent: the JSON-RPC error object that the handler wanted to send, if it was one.
        tried: the attempts that came before.
        message: the author's own sentence for the user.
    """

    verdict: Verdict
    sent: object = None
    tried: tuple[FailedAttempt, ...] = ()
    message: str | None = None


HandlerReport: TypeAlias = Note | HandlerFailure | Retrying


def receive_report(link: Link, request_id: bytes, report: HandlerReport) -> list[Effect]:
    """Receive a report from the handler of this request of the client's."""
    request = link.from_client.get(request_id)
    if isinstance(report, HandlerFailure):
        if request is None:
            return answer_to_nobody(link, request_id)
        if request.turn is None:
            return fail_open_request(link, request_id, request, report.verdict)
        return _handler_failed(link, request_id, request.turn, report)
    if request is None or request.turn is None:
        return []
    if isinstance(report, Retrying):
        return reporting.announce(link, request.turn, report)
    return _handler_noted(link, request.turn, report)


def _handler_failed(
    link: Link, request_id: bytes, turn: Turn, failure: HandlerFailure
) -> list[Effect]:
    sent = None if failure.sent is None else SentError(failure.sent, link.redactor)
    failing: Turn | None = turn
    if link.dialect.turn_ends_by_state:
        failing = prompts.refused_turn(link, request_id, turn)
    if failing is None:
        return prompts.answer_cancelled(link, request_id)
    prompts.note_payload(link, failing, failure.sent, "data")
    failing.evidence.add_answer(
        failure.verdict, sent=sent, tried=failure.tried, message=failure.message
    )
    return ending.fail(link, failing)


def _handler_noted(link: Link, turn: Turn, note: Note) -> list[Effect]:
    session = turn.session
    session.progress(link.now)
    if note is Note.PROGRESS:
        return []
    if note is Note.LIMIT_ENDED:
        return [entries.record(link, Kind.CONTINUED, session, turn, what="same_call")]
    turn.show_progress()
    had_output = turn.facts.output
    if note is Note.OUTPUT:
        turn.facts.note_output()
        noted = [] if had_output else [entries.record(link, Kind.FIRST_OUTPUT, session, turn)]
    elif note is Note.TOOL_FINISHED:
        turn.facts.note_tool_finished()
        noted = [entries.record(link, Kind.TOOL_ENDED, session, turn)]
    else:
        safe = note is Note.SAFE_TOOL
        turn.facts.note_tool(safe=safe)
        noted = [entries.record(link, Kind.TOOL_STARTED, session, turn, side_effects=not safe)]
    return list(noted)
