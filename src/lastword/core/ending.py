"""How turns and requests end when the agent does not end them well.

Owns the order of the last frames: close what was left open, the update, the answer, once
(`protocol/README.md`, section "The ladder"). What a failure *is* comes from `core.classify`, its
words from `core.sentences`; both are loaded when the first turn fails, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core import acp, entries, fallback, jsonrpc
from lastword.core.effects import Answer, Effect, Record, Send, Side
from lastword.core.error_object import error_object
from lastword.core.session import Turn
from lastword.core.taxonomy import ErrorType, Origin, Phase, RetrySafety
from lastword.core.timeline import By, Entry, Kind
from lastword.core.turn import Event, Move, State

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.error_object import SentError
    from lastword.core.redact import Redactor
    from lastword.core.session import Link, Request, Session
    from lastword.core.taxonomy import AgentError
    from lastword.core.tried import Tried

_AT_WORK = frozenset({State.SENT, State.RUNNING})
"""States of turns that can be stopped: the others have a grace that runs already."""

MAX_WITHDRAWN = 1000
"""Requests of dead agents that are remembered: a late answer to one is told from any other."""

FOREGROUND = b"foreground"
"""In `Session.unresolved`: version 2's foreground work that we declared over."""


def redactor(link: Link) -> Redactor:
    """The redactor of this link."""
    # Loaded at the first failure: its patterns cost more to compile than the relay to start.
    from lastword.core.redact import Redactor  # noqa: PLC0415

    return Redactor(link.options.secrets, counts=link.redactions)


def taken_redactions(link: Link) -> dict[str, int] | None:
    """How often each rule of redaction found something since the last record that said so."""
    counts = dict(link.redactions)
    link.redactions.clear()
    return counts or None


def own_failure(error_type: ErrorType, reason: str, *, detail: str | None = None) -> Verdict:
    """A failure that we saw ourselves."""
    # Loaded at the first failure: the classifier's tables are no part of a healthy turn.
    from lastword.core import classify  # noqa: PLC0415

    return classify.own_failure(error_type, reason, detail=detail)


def fail_turn(
    link: Link,
    turn: Turn,
    verdict: Verdict,
    *,
    sent: SentError | None = None,
    phase: Phase | None = None,
) -> list[Effect]:
    """End a turn, typed, for this client. The turn's state has been stepped already."""
    session = turn.session
    facts = turn.facts
    error = turn.agent_error or compose(
        link,
        verdict,
        phase=phase or facts.phase(tool_running=session.tools.running),
        retry_safety=facts.retry_safety(retryable=verdict.retryable),
        tried=turn.tried,
        message=turn.author_message,
    )
    effects = _close(session, turn)
    dialect = link.dialect
    out = fallback.frames_for(
        fallback.Ending(
            error=error,
            session_id=session.session_id,
            prompts=tuple(turn.prompts),
            sent=sent,
            had_output=facts.output,
            can_login=link.agent.can_login,
            agent_gone=link.agent_gone is not None,
            ends_foreground=not _others_run(session, turn),
            state=turn.idle_state,
            announced=turn.announced,
            failure_id=turn.failure_id,
            revision=turn.failure_revision + 1,
        ),
        rung=fallback.rung_for(link.options.fallback, link.client, dialect),
        client=link.client,
        dialect=dialect,
    )
    effects += [
        Send(Side.CLIENT, outgoing.frame)
        if outgoing.answers is None
        else Answer(Side.CLIENT, outgoing.answers, outgoing.frame)
        for outgoing in out
    ]
    effects += entries.stderr_burst(link, session, turn)
    known = entries.failure(link, error) | {
        "rule": verdict.rule,
        "redactions": taken_redactions(link),
    }
    effects.append(entries.record(link, Kind.ERROR, session, turn, **known))
    forget(link, turn)
    return effects


def confirm_cancelled(link: Link, turn: Turn) -> list[Effect]:
    """Answer a cancelled turn in the agent's place."""
    session = turn.session
    effects = _close(session, turn)
    if link.dialect.turn_ends_by_state:
        error = {"code": acp.REQUEST_CANCELLED, "message": "The prompt was cancelled."}
        answers = [(prompt, jsonrpc.error(prompt, error)) for prompt in turn.prompts]
    else:
        result = {"stopReason": acp.CANCELLED}
        answers = [(prompt, jsonrpc.result(prompt, result)) for prompt in turn.prompts]
    effects += [Answer(Side.CLIENT, prompt, frame) for prompt, frame in answers]
    if link.dialect.turn_ends_by_state and not _others_run(session, turn):
        state = fallback.idle(acp.CANCELLED, agent_gone=link.agent_gone is not None)
        effects.append(Send(Side.CLIENT, fallback.session_update(session.session_id, state)))
    effects += entries.stderr_burst(link, session, turn)
    effects.append(
        entries.record(
            link, Kind.ANSWER, session, turn, stop_reason=acp.CANCELLED, by=By.LASTWORD.value
        )
    )
    forget(link, turn)
    return effects


def _others_run(session: Session, turn: Turn) -> bool:
    """Does other work go on? A prompt that was cancelled before it was taken in is none."""
    return any(
        other.open and (other.running_seen or other.state is not State.CANCELLING)
        for other in session.turns
        if other is not turn
    )


def forget(link: Link, turn: Turn) -> None:
    """The turn is answered: nothing waits for it any more."""
    session = turn.session
    for prompt in turn.prompts:
        link.from_client.pop(prompt, None)
    if turn in session.turns:
        session.turns.remove(turn)
    if not session.turns:
        session.tools.drain()
        # A question that nobody answered must not stop the clocks of the next turn.
        session.asking.clear()
        session.repeats = session.tool_repeats = 0
        session.tool_before = (None, 0)


def quarantine(link: Link, turn: Turn) -> list[Effect]:
    """The turn was ended while the agent lives: hold its session until the agent has answered."""
    if link.agent_gone is not None:
        return []
    session = turn.session
    if any(other is not turn and other.open and other.stop_due is None for other in session.turns):
        # Its late frames cannot be told from those of a turn that goes on, which must be seen.
        return []
    session.unresolved.update(turn.prompts)
    if link.dialect.turn_ends_by_state and turn.running_seen:
        session.unresolved.add(FOREGROUND)
    effects: list[Effect] = [entries.record(link, Kind.QUARANTINED, session, turn)]
    for request_id, request in list(link.from_agent.items()):
        if request.session_id == session.session_id:
            # What the user still allows would reach a turn that they were told is over.
            _note_withdrawn(link, request_id, link.from_agent.pop(request_id))
            session.asking.pop(request_id, None)
            effects += [refuse(request_id, request.method), _withdrawal(request_id)]
    return effects


def refuse(request_id: bytes, method: str) -> Answer:
    """Answer a request of the agent's in the client's place: its turn is over."""
    if method == acp.PERMISSION:
        cancelled = {"outcome": {"outcome": "cancelled"}}
        return Answer(Side.AGENT, request_id, jsonrpc.result(request_id, cancelled))
    message = "The turn that this request belongs to has been ended."
    error = {"code": acp.REQUEST_CANCELLED, "message": message}
    return Answer(Side.AGENT, request_id, jsonrpc.error(request_id, error))


def _withdrawal(request_id: bytes) -> Send:
    """Tell the client that a request of the agent's needs no answer any more."""
    params = {"requestId": msgspec.Raw(request_id)}
    return Send(Side.CLIENT, jsonrpc.notification(acp.CANCEL_REQUEST, params))


def _close(session: Session, turn: Turn) -> list[Effect]:
    """Close the session's open tool calls, with its last open turn."""
    if any(other.open and other is not turn for other in session.turns):
        return []
    return [
        Send(
            Side.CLIENT,
            fallback.session_update(
                session.session_id,
                {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": tool_call_id,
                    "status": "failed",
                },
            ),
        )
        for tool_call_id in session.tools.drain()
    ]


def fail_request(link: Link, request_id: bytes, request: Request, verdict: Verdict) -> list[Effect]:
    """Answer a request that is no prompt with a typed JSON-RPC error."""
    error = compose(link, verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.AUTO)
    # `had_output` keeps the code at -32603: there is no prompt that could be resent.
    members = error_object(error, had_output=True, details=fallback.details_of(link.client))
    answer = jsonrpc.error(request_id, members)
    known = entries.failure(link, error) | {"method": entries.short(request.method)}
    entry = Entry(
        kind=Kind.ERROR,
        at_seconds=link.now,
        session_id=request.session_id,
        request_id=entries.short(request_id.decode(errors="replace")),
        facts=known,
    )
    return [Answer(Side.CLIENT, request_id, answer), Record(entry)]


def compose(  # noqa: PLR0913 - six options is our own limit
    link: Link,
    verdict: Verdict,
    *,
    phase: Phase,
    retry_safety: RetrySafety,
    tried: tuple[Tried, ...] = (),
    message: str | None = None,
) -> AgentError:
    """The failure as a value, in words, redacted; `message` is the author's own sentence."""
    from lastword.core import sentences  # noqa: PLC0415  (as in `own_failure`)
    from lastword.core import tried as tries  # noqa: PLC0415

    if verdict.type is ErrorType.CANCELLED:
        # Nobody on this side cancelled: what the agent calls cancelled is its own failure.
        verdict = msgspec.structs.replace(
            verdict, type=ErrorType.UNKNOWN, reason="agent_cancelled", origin=Origin.AGENT
        )
    if not verdict.retryable:
        retry_safety = RetrySafety.NEVER
    clock = link.options.wall_clock
    redact = redactor(link)
    crashed = verdict.type is ErrorType.AGENT_CRASH
    error = sentences.compose(
        verdict,
        phase=phase,
        retry_safety=retry_safety,
        attempts=tries.count(tried),
        incident_id=link.next_incident(),
        redact=redact,
        now=clock() if clock else None,
        restarts=link.restarts or (link.options.in_process and not crashed),
    )
    said = sentences.plain_text(redact(message)) if message else ""
    if said:
        error = msgspec.structs.replace(error, message=said[: sentences.MAX_MESSAGE_CHARS])
    return tries.tell(error, tried)


def stop_session(link: Link, session: Session, event: Event, verdict: Verdict) -> list[Effect]:
    """Give up on a session's open turns: tell the agent to stop, and give it its grace."""
    stopped = False
    effects: list[Effect] = []
    for turn in list(session.turns):
        if turn.held is not None:
            # The agent has answered, and will not again: there is nothing to wait for.
            turn.held = None
            fails = turn.step(Event.ERROR) is Move.FAIL
            effects += fail_turn(link, turn, verdict) if fails else confirm_cancelled(link, turn)
        elif turn.state in _AT_WORK and turn.step(event) is Move.STOP:
            stopped = True
            turn.stop_cause = verdict
            turn.stop_due = link.now + link.options.cancel_grace_seconds
    if not stopped:
        return effects
    cancel = jsonrpc.notification(acp.CANCEL, {"sessionId": session.session_id})
    return [
        *effects,
        entries.record(
            link,
            Kind.CANCEL,
            session,
            by=By.WATCHDOG.value,
            type=verdict.type.value,
            reason=verdict.reason,
        ),
        Send(Side.AGENT, cancel),
    ]


def agent_lost(link: Link, verdict: Verdict) -> list[Effect]:
    """The agent is gone: everything that waits for it is answered."""
    link.agent_gone = verdict
    if link.restarts and (link.revival or verdict.reason != "spawn_failed"):
        # Loaded at the first crash: no part of a session without one.
        from lastword.core.revival import Revival  # noqa: PLC0415

        link.revival = link.revival or Revival(link.started_at)
    effects: list[Effect] = _withdraw(link)
    for session in list(link.sessions.values()):
        session.unresolved.clear()
        for turn in list(session.turns):
            effects += lose_turn(link, turn, verdict)
        waiting, session.waiting = session.waiting, []
        for prompt in waiting:
            effects += refuse_prompt(link, session, prompt.frame, verdict)
    for request_id, request in list(link.from_client.items()):
        effects += fail_request(link, request_id, request, verdict)
    link.from_client.clear()
    if link.revival is None:
        # Nothing restarts the agent: sending the prompt again to this process cannot help.
        link.agent_gone = msgspec.structs.replace(verdict, retryable=False)
    return effects


def lose_turn(link: Link, turn: Turn, verdict: Verdict) -> list[Effect]:
    """End one turn of an agent that is gone."""
    move = turn.step(Event.AGENT_LOST)
    if move is Move.CONFIRM:
        return confirm_cancelled(link, turn)
    return fail_turn(link, turn, turn.stop_cause or verdict) if move is Move.FAIL else []


def refuse_prompt(
    link: Link, session: Session, frame: jsonrpc.Frame, verdict: Verdict
) -> list[Effect]:
    """Answer a prompt that never reached the agent."""
    turn = Turn(link, session)
    turn.prompts.append(frame.message.request_id or jsonrpc.NULL_ID)
    turn.step(Event.AGENT_LOST)
    failed = fail_turn(link, turn, verdict, phase=Phase.BEFORE_REQUEST)
    return [entries.prompt(link, turn, frame), *failed]


def _withdraw(link: Link) -> list[Effect]:
    """Take back what a dead agent asked of the client, and free what it holds there."""
    effects: list[Effect] = [_withdrawal(request_id) for request_id in link.from_agent]
    for request_id, request in link.from_agent.items():
        _note_withdrawn(link, request_id, request)
    link.from_agent.clear()
    for session in link.sessions.values():
        session.asking.clear()
    for terminal_id, session_id in link.terminals.items():
        effects += release_terminal(link, terminal_id, session_id)
    link.terminals.clear()
    return effects


def _note_withdrawn(link: Link, request_id: bytes, request: Request) -> None:
    """The client may still answer it; one that never does must not make us remember for ever."""
    if len(link.withdrawn) >= MAX_WITHDRAWN:
        del link.withdrawn[next(iter(link.withdrawn))]
    link.withdrawn[request_id] = request


def release_terminal(link: Link, terminal_id: str, session_id: str | None) -> list[Effect]:
    """Kill and release a terminal whose agent is gone."""
    params = {"sessionId": session_id, "terminalId": terminal_id}
    return [
        Send(Side.CLIENT, jsonrpc.request(link.next_request_id(), method, params))
        for method in (acp.TERMINAL_KILL, acp.TERMINAL_RELEASE)
    ]
