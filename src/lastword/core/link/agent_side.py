"""The agent's half of the link: its answers, its requests to the client, its events and reports.

Owns the matching of answers to requests, and which answers mean failure; the request for further
events that some agents get (`quirks.wire`), as a member added to the request that opens a session;
and what a handler in this process reports besides its frames. What an update does to a turn is in
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
    effects: list[Effect] = []
    if message.id is not UNSET:
        effects = _request(link, frame)
    elif message.method == acp.UPDATE:
        withheld = link.withheld_error
        if withheld is not None and withheld.frame.message.request_id == jsonrpc.NULL_ID:
            link.pop_withheld_error()
            effects.append(_dropped(link, "error_without_id"))
        effects += updates.receive(link, frame)
    else:
        effects = _notification(link, frame)
    if link.options.tries_again:
        # The frame may show the agent still at work on a failed turn.
        effects += ending.give_up_if_shown(link, message.session_id)
    return effects


def _notification(link: Link, frame: Frame) -> list[Effect]:
    message, params = frame.message, frame.message.params
    session = updates.progress_of(link, message.session_id)
    passed: Effect = FORWARD
    if (
        message.method == acp.CANCEL_REQUEST
        and params is not UNSET
        and params.request_id is not UNSET
    ):
        agents_id = jsonrpc.same_id(bytes(params.request_id))
        # The client may know the request by another id.
        latest = reversed(link.from_agent.items())
        request_id = next((key for key, each in latest if each.agents_id == agents_id), agents_id)
        link.forget_question(request_id)
        for other in link.sessions.values():
            other.answered(request_id, link.now)
        if request_id != agents_id:
            members = jsonrpc.params_of(frame) | {"requestId": Raw(request_id)}
            passed = Send(Side.CLIENT, jsonrpc.notification(acp.CANCEL_REQUEST, members))
    row = wire.EVENTS.get(message.method or "")
    event = object_of(jsonrpc.params_of(frame).get("message")) if row is not None else {}
    states_limit = row is not None and event.get("type") == row.limit_event["type"]
    if not (reporting.announces_retry(link, frame) or states_limit):
        for turn in _turns_at_work(link, session):
            turn.note_message(purpose_of(message), link.now)
    if row is not None and not link.client_requested_events:
        passed = Drop("asked_for_by_lastword")
    if states_limit and session is not None:
        session.read_account_limit(event)
        return [passed]
    return [passed, *reporting.read_frame(link, session, frame)]


def malformed(link: Link, line: Malformed) -> list[Effect]:
    """Receive a line that is not a message: it never reaches the client.

    Whoever waits for its answer gets an error at once.
    """
    effects: list[Effect] = [Drop(line.reason), _dropped(link, line.reason)]
    begins = line.line.lstrip(jsonrpc.BLANKS)[:1]
    is_broken = line.reason == jsonrpc.MALFORMED_JSON and begins == b"{"
    shown = late.peek.of_broken(line.line) if is_broken else None
    if b"{" in line.line and (shown is None or shown.answered is None):
        # Not mere noise: it may have been a message, or several in a batch.
        for turn in link.open_turns():
            turn.facts.note_message(None)
    if shown is not None and shown.id is not None and shown.method is not None:
        message = "The line that the agent sent is not valid JSON."
        error = {"code": acp.PARSE_ERROR, "message": message, "data": {"details": message}}
        effects.append(Answer(Side.AGENT, shown.id, jsonrpc.error(shown.id, error)))
    elif shown is not None:
        verdict = failures.own_failure(ErrorType.PROTOCOL_ERROR, "broken_answer")
        effects += lost_answer(link, shown, verdict) or []
    if link.options.tries_again:
        effects += ending.give_up_if_shown(link, None)
    return effects


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
        # A program that echoes its input is not an ACP agent: do not wait for it.
        effects: list[Effect] = [Drop("echo"), _dropped(link, "echo")]
        echoed = link.from_client.get(request_id)
        if echoed is not None and echoed.method == method:
            verdict = failures.own_failure(ErrorType.PROTOCOL_ERROR, "not_acp")
            effects += fail_open_request(link, request_id, echoed, verdict)
        return effects
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

    As with progress, a message from a sub-agent's session counts for every turn at work.
    """
    return link.open_turns() if session is None or not session.opened else session.turns


def _option_kinds(frame: Frame) -> dict[str, Any]:
    """Return the kinds of the options offered to the user, by id.

    An id with more than one kind does not show what was chosen.
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


def fail_open_request(
    link: Link, request_id: bytes, request: OpenRequest, verdict: Verdict
) -> list[Effect]:
    """Fail an open request from the client, a prompt or any other, by the agent's answer."""
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
        # An error without an id is that of the one open request, unless something contradicts that.
        until = link.now + prompts.HOLD_SECONDS
        if frame.message.error is not UNSET and link.withhold_error(frame, until):
            return []
        return [Drop("answer_without_id"), _dropped(link, "answer_without_id")]
    repaired = link.client_request_meant(request_id)
    if repaired is None:
        return answer_to_nobody(link, request_id)
    return with_request_id(link, frame, repaired)


def model_answered(link: Link, request: ModelRequest, frame: Frame | None) -> list[Effect]:
    """Receive the answer to our own request for another model; without a frame, none can come."""
    effects = resend.switch_answered(link, request, frame)
    session, turn = link.sessions.get(request.session_id), request.turn
    if link.switches_model(request.session_id):
        return effects
    if turn is not None and turn.waits_for_model:
        effects += ending.go_without_model(link, turn)
    return effects if session is None else effects + prompts.send_waiting(link, session)


def answer_to_nobody(link: Link, request_id: bytes) -> list[Effect]:
    """Handle an answer to a request that is not open, or no longer."""
    resolved = _resolve(link, request_id)
    return resolved or [Drop("answer_to_nobody"), _dropped(link, "answer_to_nobody")]


def with_request_id(
    link: Link, frame: Frame, request_id: bytes, *, waited: bool = False
) -> list[Effect]:
    """Receive an answer under the id that it must have meant; it may have `waited` already."""
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
        link.initialize_answered(read_agent(jsonrpc.loads(frame.message.result)))
        entry = entries.agent_ready(link)
        with_air = link.client.air and reporting.has_air_report(link)
        if link.agent.speaks_typed and not with_air:
            return [entry, FORWARD]
        implementation = None if link.agent.speaks_typed else link.options.implementation
        line = advertise(frame.line, link.dialect, implementation, with_air=with_air)
        return [entry, Answer(Side.CLIENT, request_id, line)]
    if request.method in acp.OPENS_SESSION:
        return _opened(link, frame, request)
    session = link.sessions.get(request.session_id or "")
    if request.method in acp.ENDS_SESSION:
        # Its turns still get their answers, from the agent or when the grace is over, and their
        # late frames are held back.
        busy = session is not None and (session.turns or session.waiting or session.quarantined)
        if session is not None and not busy:
            link.forget_session(session.session_id)
    elif request.method in acp.SETTINGS and request.params is not None:
        chosen = link.sessions.get(str(request.params.get("sessionId")))
        if chosen is not None:
            result = jsonrpc.loads(frame.message.result)
            chosen.choices.chose(request.method, request.params, result)
            if chosen.models is not None:
                chosen.models.is_set(request.method, request.params, result)
        return [FORWARD, *_choice_answered(link, request, accepts=True)]
    return [FORWARD]


def _failed(
    link: Link, frame: Frame, request_id: bytes, request: OpenRequest, *, waited: bool
) -> list[Effect]:
    """Pass on an error for a request other than a prompt, unless clients depend on its shape."""
    error = jsonrpc.loads(frame.message.error)
    # What the agent wrote to stderr about an empty one may come late.
    until = link.now + prompts.HOLD_SECONDS
    may_wait = not waited and _is_empty(link, error)
    if may_wait and link.withhold_empty_error(frame, request_id, until):
        return []
    link.client_has_answer(request_id)
    members = error if isinstance(error, dict) else {}
    code, message = members.get("code"), members.get("message")
    # A missing login has nothing to do with what we added to the request.
    if request.plain is not None and code != acp.AUTH_REQUIRED:
        link.send_plainly(request_id, request)
        return [Send(Side.AGENT, request.plain)]
    code_fits = isinstance(code, int) and not isinstance(code, bool)
    message_fits = isinstance(message, str) and message != ""
    quoted = ""
    if not link.open_turns() and _is_empty(link, error):
        # Nobody else can have written what is on stderr.
        quoted = late.writers.quotation(link.stderr.tail(request.stderr_mark))
    passed: Effect = FORWARD
    if not (code_fits and message_fits) or members.get("data", {}) is None or quoted:
        if quoted:
            details = f"On stderr at that time: {quoted}"
            members = members | {"data": object_of(members.get("data")) | {"details": details}}
        mended = link.redactor.json({k: v for k, v in members.items() if v is not None})
        mended["code"] = code if code_fits else acp.INTERNAL_ERROR
        without_text = "The agent reported an error without a text."
        mended["message"] = message if message_fits else without_text
        answer = jsonrpc.error(request_id, mended)
        if len(answer) >= MAX_FRAME_BYTES:
            short = {"code": mended["code"], "message": mended["message"][:MAX_MESSAGE_CHARS]}
            answer = jsonrpc.error(request_id, short | {"data": {"details": short["message"]}})
        passed = Answer(Side.CLIENT, request_id, answer)
    return [passed, *_choice_answered(link, request, accepts=False)]


def _choice_answered(link: Link, request: OpenRequest, *, accepts: bool) -> list[Effect]:
    """Receive whether the agent accepts a setting of the user's, which may be another model."""
    session = link.sessions.get(request.session_id or "")
    if request.method not in acp.SETTINGS or session is None or session.models is None:
        return []
    session.models.answered_to_user(request.method, request.params or {}, accepts=accepts)
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


def _is_empty(link: Link, error: object) -> bool:
    """Return whether an error tells no more than that there was one."""
    verdict = late.classify.classify_rpc_error(error, agent=link.agent.name)
    empty = verdict.type is ErrorType.UNKNOWN and not verdict.detail
    return empty or verdict.type is ErrorType.INTERNAL


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
    """Return the client's request as it goes to the agent, and its line if that has changed."""
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
    """Return the params for our own request that opens a session, with the member added."""
    row = event_for(link)
    meta = object_of(params.get("_meta"))
    members = object_of(meta.get(row.path[0])) if row is not None else {}
    if row is None or row.path[1] in members:
        return dict(params)
    requested = {row.path[1]: list(row.request)}
    return {**params, "_meta": {**meta, row.path[0]: {**members, **requested}}}


# --- what a handler in this process reports besides its frames ------------------------------------


class Note(Enum):
    """An event in the turn that is not visible on the wire."""

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
    """The wait for the end of a limit is over; the model is called again."""


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
    """Receive a report from the handler of this request from the client."""
    request = link.from_client.get(request_id)
    if isinstance(report, HandlerFailure):
        if request is None:
            return answer_to_nobody(link, request_id)
        failing = request.turn
        if failing is None:
            return fail_open_request(link, request_id, request, report.verdict)
        sent = None if report.sent is None else SentError(report.sent, link.redactor)
        if link.dialect.turn_ends_by_state:
            failing = prompts.refused_turn(link, request_id, failing)
        if failing is None:
            return prompts.answer_cancelled(link, request_id)
        prompts.note_payload(link, failing, report.sent, "data")
        failing.evidence.add_answer(
            report.verdict, sent=sent, tried=report.tried, message=report.message
        )
        return ending.fail(link, failing)
    turn = request.turn if request is not None else None
    if turn is None:
        return []
    if isinstance(report, Retrying):
        return reporting.announce(link, turn, report)
    turn.session.progress(link.now)
    if report is Note.PROGRESS:
        return []
    if report is Note.LIMIT_ENDED:
        return [entries.record(link, Kind.CONTINUED, turn.session, turn, what="same_call")]
    turn.show_progress()
    if report is Note.OUTPUT:
        had_output = turn.facts.output
        turn.facts.note_output()
        shown = entries.record(link, Kind.FIRST_OUTPUT, turn.session, turn)
        return [] if had_output else [shown]
    if report is Note.TOOL_FINISHED:
        turn.facts.note_tool_finished()
        return [entries.record(link, Kind.TOOL_ENDED, turn.session, turn)]
    safe = report is Note.SAFE_TOOL
    turn.facts.note_tool(safe=safe)
    begun = entries.record(link, Kind.TOOL_STARTED, turn.session, turn, side_effects=not safe)
    return [begun]
