"""The link's clocks: when something is due next, and what is done then.

Owns every deadline. An open question to the user stops a session's clocks; a running tool has its
own, longer limit; progress moves a deadline, so one that is due is always checked again. Also owns
`--ask-reminder` and `--ask-timeout` in a link: what the user reads about an unanswered question,
and when it is answered for them, which never grants a permission.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import Attribution, ErrorType
from lastword.core.link import (
    agent_side,
    decision,
    ending,
    entries,
    failures,
    late,
    prompts,
    reporting,
    resend,
)
from lastword.core.link.effects import Answer, Effect, Side
from lastword.core.link.evidence import Hint, HintSource
from lastword.core.link.facts import (
    FACTS_OF_SILENCE,
    TYPES_OF_SILENCE,
    Cause,
    SilenceCause,
    sentence_of_silence,
    sentence_of_tool,
)
from lastword.core.link.turn import AT_WORK, REPORTS_WAITS, Event, State
from lastword.core.link.waits import REJECT, WAITING, Question, answer_of_nobody, read_timeout
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.redact.truncate import informative_lines
from lastword.core.timeline.entry import By, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.classify import Verdict
    from lastword.core.link.options import LinkOptions
    from lastword.core.link.session import Session
    from lastword.core.link.state import Link, OpenRequest

PROVIDER_SECONDS = 20.0
"""How long a request to the model provider may be open without a byte before that is reported."""

DONE_SECONDS = 60.0
"""An agent's answer is late if it takes longer than this after its last words and its usage."""

STARTED_SECONDS = 0.5
"""A program started at most this long before the agent's last message counts as started since."""


def horizon_seconds(options: LinkOptions) -> float:
    """Return the shortest limit: no frame that passes untouched sets a nearer deadline."""
    limits = (
        options.first_update_timeout_seconds,
        options.idle_timeout_seconds,
        options.tool_timeout_seconds,
        options.turn_timeout_seconds,
        options.warn_after_seconds,
        DONE_SECONDS if options.warn_after_seconds > 0 else 0.0,
        acp.INITIALIZE_LIMIT_SECONDS,
        acp.SESSION_REQUEST_LIMIT_SECONDS,
    )
    return min(limit for limit in limits if limit > 0)


def next_timeout(link: Link) -> float | None:
    """Return the earliest moment at which something may be due, or `None` if nothing ever is."""
    return min(_dues(link), default=None)


def handle(link: Link) -> list[Effect]:
    """Do what is due now."""
    effects: list[Effect] = []
    for request_id, request in list(link.from_client.items()):
        if request.due is None or request.due > link.now:
            continue
        if _waits_for_user(link, request):
            request.extend(link.now + acp.SESSION_REQUEST_LIMIT_SECONDS)
        else:
            link.client_has_answer(request_id)
            verdict = failures.own_failure(ErrorType.AGENT_STALLED, "request_timeout")
            effects += failures.fail_request(link, request_id, request, verdict)
    for own in link.pop_late_model_requests() if link.model_requests else ():
        effects += agent_side.model_answered(link, own, None)
    effects += _stderr_due(link)
    error = link.withheld_error
    if error is not None and error.until <= link.now:
        link.pop_withheld_error()
        effects += agent_side.with_request_id(link, error.frame, error.request_id, waited=True)
    spending = link.spending
    if spending is not None and spending.cost_due is not None and spending.cost_due <= link.now:
        # The turn has ended well without a cost, so no limit can act.
        session = link.sessions.get(spending.stop_expecting())
        if session is not None:
            effects += reporting.inform(link, session, late.costs.NO_COST)
            effects.append(entries.spend_limit(link, session, spending, "no_cost"))
    if spending is not None and spending.kill_due is not None and spending.kill_due <= link.now:
        session = link.sessions.get(spending.pop_kill())
        effects += [] if session is None else _end_agent(link, session, "spend_limit")
    for session in list(link.sessions.values()):
        effects += _session_due(link, session)
    if link.options.watches_questions:
        effects += _questions_due(link)
    return effects


def _waits_for_user(link: Link, request: OpenRequest) -> bool:
    """Return whether a question to the user is open that the client's request may wait for."""
    return any(
        question.session_id == request.session_id or question.session_id not in link.sessions
        for question in link.from_agent.values()
        if question.method in acp.USER_REQUESTS
    )


def _session_due(link: Link, session: Session) -> list[Effect]:
    effects: list[Effect] = []
    for turn in list(session.turns):
        delayed_until = turn.reported.delayed_until
        if delayed_until is not None and delayed_until <= link.now:
            effects += reporting.report_delayed(link, turn)
        elif turn.waits_for_look(link.now):
            effects += prompts.withheld_long_enough(link, turn)
        elif turn.stop_due is not None and turn.stop_due <= link.now:
            effects += ending.time_out(link, turn)
        elif turn.state in REPORTS_WAITS:
            effects += reporting.show(link, turn)
    activity = link.activities.get(session.session_id)
    if activity is not None and activity.time_out(link.now):
        effects += reporting.show_activity(session, activity.word)
    due, reason = _watchdog(link, session)
    if due is not None and due <= link.now:
        if len(link.open_turns()) == 1 and link.stderr.looked_to < link.stderr.total:
            effects += _look_at_stderr(link)
        verdict = _verdict_at_end(session, reason, link.now)
        effects += ending.stop_session(link, session, Event.TIMEOUT, verdict)
    warning = _warning(link, session)
    if warning is not None and warning <= link.now:
        cause = _cause_of(session)
        session.warn(cause, done=_seems_done(session))
        silence = round(link.now - session.progress_at)
        title = _title_of_silence(link, session, cause, silence)
        entry = entries.silence(link, session, silence, cause)
        effects += [*reporting.remark_silence(link, session, title, cause), entry]
    if any(prompt.due <= link.now for prompt in session.waiting):
        effects += _waited_too_long(link, session)
    return effects


def looked(link: Link) -> list[Effect]:
    """Decide on the answers that have waited long enough, now that all sources were looked at."""
    effects = _stderr_due(link)
    for turn in link.open_turns():
        if turn.waits_for_look(link.now):
            effects += prompts.withheld_long_enough(link, turn)
    return effects


STDERR_PAUSE_SECONDS = 0.3
"""An agent writes all lines about one failure with shorter pauses than this."""

STDERR_LOOK_SECONDS = 1.0
"""The shortest time between two looks at stderr while a turn is open."""

STDERR_LOOKS = 120
"""The most looks in one turn: in a longer one, stderr is next read when the agent stalls."""


def _stderr_look(link: Link) -> float | None:
    """Return when to look at the stderr of an agent whose open turn is silent."""
    stderr = link.stderr
    if stderr.looked_to == stderr.total:
        return None
    turns = link.open_turns()
    turn = turns[0] if len(turns) == 1 else None
    if turn is None or turn.state not in AT_WORK or turn.evidence.looks >= STDERR_LOOKS:
        return None
    if not stderr.has_news(turn.last_at):
        # It was written before the turn, or the model has answered since. Other messages from the
        # agent, such as its commands or a title, say nothing about the call.
        return None
    if turn.withheld is not None:
        return turn.withheld_until
    return max(stderr.came_at + STDERR_PAUSE_SECONDS, stderr.looked_at + STDERR_LOOK_SECONDS)


def _stderr_due(link: Link) -> list[Effect]:
    look_at = _stderr_look(link)
    return _look_at_stderr(link) if look_at is not None and look_at <= link.now else []


def _look_at_stderr(link: Link) -> list[Effect]:
    (turn,) = link.open_turns()
    text = turn.evidence.look_at(link.stderr, link.now)
    if not informative_lines(text):
        return []
    failed = late.writers.last_own(
        text, source="stderr", folder=turn.session.folder, agent=link.agent.name
    )
    if failed is None:
        return []
    hint = Hint(
        source=HintSource.STDERR,
        verdict=failed.verdict,
        attribution=Attribution.STRONG,
        at_seconds=link.stderr.came_at,
        may_go_on=late.writers.may_go_on(failed.record),
    )
    return reporting.read_hint(link, hint)


def _waited_too_long(link: Link, session: Session) -> list[Effect]:
    """Refuse prompts because the agent does not answer the turn that was ended before them.

    If it serves nobody else, and another agent will follow, it is killed instead.
    """
    others = any(other.turns for other in link.sessions.values() if other is not session)
    if link.restarts and not others:
        return _end_agent(link, session, "busy_with_ended_turn")
    effects: list[Effect] = []
    for prompt in [prompt for prompt in session.waiting if prompt.due <= link.now]:
        session.stop_waiting(prompt)
        verdict = failures.own_failure(ErrorType.AGENT_STALLED, "busy_with_ended_turn")
        effects += ending.refuse_prompt(link, session, prompt.frame, verdict)
    return effects


def _dues(link: Link) -> Iterator[float]:
    for request in link.from_client.values():
        if request.due is not None:
            yield request.due
    for request in link.from_agent.values() if link.options.watches_questions else ():
        if request.question is not None:
            yield request.question.due
    for own in link.model_requests.values():
        if own.due is not None:
            yield own.due
    if link.withheld_error is not None:
        yield link.withheld_error.until
    look_at = _stderr_look(link)
    if look_at is not None:
        yield look_at
    if link.spending is not None and link.spending.cost_due is not None:
        yield link.spending.cost_due
    if link.spending is not None and link.spending.kill_due is not None:
        yield link.spending.kill_due
    for session in link.sessions.values():
        yield from _session_dues(link, session)


def _session_dues(link: Link, session: Session) -> Iterator[float]:
    activity = link.activities.get(session.session_id)
    if activity is not None and activity.due is not None:
        yield activity.due
    for prompt in session.waiting:
        yield prompt.due
    for turn in session.turns:
        if turn.withheld is not None:
            yield turn.withheld_until
        if turn.stop_due is not None:
            yield turn.stop_due
        if turn.state is State.WAITING and not turn.waits_for_model:
            yield resend.next_look(link, turn)
        if turn.reported.delayed_until is not None:
            yield turn.reported.delayed_until
        shown = reporting.due(link, turn)
        if shown is not None:
            yield shown
    if session.turns:
        due, _ = _watchdog(link, session)
        if due is not None:
            yield due
        warning = _warning(link, session)
        if warning is not None:
            yield warning


def _watchdog(link: Link, session: Session) -> tuple[float | None, str]:
    """Return when this session's turns are given up if nothing more arrives, and by which limit."""
    watched = [t for t in session.turns if t.state in AT_WORK and t.withheld is None]
    if session.asking or not watched:
        return None, ""
    options, cause = link.options, _silence_of(session)
    # A program that the agent has not reported as a tool counts if it was started since the agent's
    # last message, or while a call is open. A server that was left running does not.
    runs_program = (
        cause is not None
        and cause.cause is Cause.TOOL
        and (bool(session.tools) or cause.since >= session.progress_at - STARTED_SECONDS)
    )
    if _tool_running(session) or runs_program or _awaits_client(link, session):
        limit, reason = options.tool_timeout_seconds, "tool_timeout"
    elif all(turn.state is State.SENT for turn in watched):
        limit, reason = options.first_update_timeout_seconds, "first_update_timeout"
    else:
        limit, reason = options.idle_timeout_seconds, "idle_timeout"
    since = session.progress_at + session.announced_wait
    due = since + limit if limit > 0 else None
    if options.turn_timeout_seconds > 0:
        whole = min(turn.started_at for turn in watched) + options.turn_timeout_seconds
        if due is None or whole < due:
            return whole, "turn_timeout"
    return due, reason


def _tool_running(session: Session) -> bool:
    return session.tools.running or any(turn.facts.own_tools for turn in session.turns)


def _awaits_client(link: Link, session: Session) -> bool:
    """Return whether the agent waits for its client, such as for the end of a command.

    A question to the user has its own rule.
    """
    return any(
        link.sessions.get(request.session_id or "", session) is session
        for request in link.from_agent.values()
        if request.method not in acp.USER_REQUESTS
    )


_OF_PROVIDER = {
    ErrorType.TIMEOUT: decision.PROVIDER_SILENT,
    ErrorType.NETWORK: decision.PROVIDER_UNREACHABLE,
}
"""The reasons for turns that run out of time while they wait for their provider."""


def _verdict_at_end(session: Session, reason: str, now: float) -> Verdict:
    """Return the verdict on turns that ran out of time; it blames the provider where proven."""
    cause = _silence_of(session)
    began = session.progress_at
    if reason == "turn_timeout":
        began = min(turn.started_at for turn in session.turns)
    # It counts only if it explains at least half of the time.
    if (
        cause is not None
        and reason in decision.WATCHDOG
        and cause.since - began <= now - cause.since
    ):
        type_ = TYPES_OF_SILENCE.get(cause.cause)
        if type_ is not None and type_ in _OF_PROVIDER:
            return failures.own_failure(type_, _OF_PROVIDER[type_])
    return failures.own_failure(ErrorType.AGENT_STALLED, reason)


def note_silence(link: Link, cause: SilenceCause | None) -> None:
    """Receive why the only open turn is silent; with several, it cannot be attributed."""
    turns = link.open_turns()
    for turn in turns:
        turn_cause = cause if len(turns) == 1 else None
        if turn_cause is not None and turn_cause.cause is Cause.IDLE and turn.session.tools:
            turn_cause = None
        # A tool that the agent has announced is timed by its own entries.
        counts = turn_cause is not None and not _tool_running(turn.session)
        wait = FACTS_OF_SILENCE[turn_cause.cause] if turn_cause and counts else None
        turn.evidence.note_silence(turn_cause, link.now, wait=wait)


def _silence_of(session: Session) -> SilenceCause | None:
    return session.turns[-1].evidence.silence if session.turns else None


def _warning(link: Link, session: Session) -> float | None:
    """Return when the silence is reported: in the record, and to a client that can show it."""
    after = link.options.warn_after_seconds
    if after <= 0 or session.asking:
        return None
    if _tool_running(session) or _awaits_client(link, session):
        cause = _cause_of(session)
        if cause is None or session.was_warned_of(cause):
            return None
    elif _seems_done(session):
        reported = all(turn.done_reported for turn in session.turns)
        return None if reported else session.progress_at + DONE_SECONDS
    if any(turn.state in AT_WORK and not turn.warned for turn in session.turns):
        cause = _silence_of(session)
        if cause is not None and (cause.is_certain or cause.cause is Cause.PROVIDER):
            after = min(after, max(cause.since - session.progress_at, 0.0) + PROVIDER_SECONDS)
        return session.progress_at + after
    return None


def _seems_done(session: Session) -> bool:
    """Return whether nothing but the agent's answer is missing."""
    turns = [turn for turn in session.turns if turn.state in AT_WORK]
    return (
        bool(turns)
        and not session.tools
        and all(turn.usage_reported and turn.withheld is None for turn in turns)
    )


def _cause_of(session: Session) -> SilenceCause | None:
    """Return why the session's turn is silent, as the system shows it or as its frames say."""
    tool = session.tools.longest()
    if tool is None and _seems_done(session):
        return SilenceCause(cause=Cause.DONE, since=session.progress_at)
    cause = _silence_of(session)
    if cause is None and tool is not None:
        return SilenceCause(cause=Cause.TOOL, since=tool.since)
    return cause


def _title_of_silence(
    link: Link, session: Session, cause: SilenceCause | None, seconds: int
) -> str:
    if cause is not None:
        redact = link.redactor
        tool = session.tools.longest()
        title = late.wording.plain_text(redact(tool.title or "")) if tool is not None else ""
        if title and cause.cause is Cause.TOOL:
            text = sentence_of_tool(title, cause, link.now)
        else:
            text = sentence_of_silence(cause, link.now)
        return late.wording.plain_text(redact(text))
    hints = [turn.evidence.hint for turn in session.turns if turn.evidence.hint is not None]
    if not hints:
        return f"The agent has been silent for {seconds} seconds. It may be waiting for the model."
    what = late.sentences.what_of(hints[-1].type, hints[-1].reason)
    return f"{what} The agent has been silent for {seconds} seconds."


def _end_agent(link: Link, session: Session, reason: str) -> list[Effect]:
    """End the process of an agent that keeps working on a turn that was ended."""
    entry = entries.record(link, Kind.CANCEL, session, by=By.LASTWORD.value, reason=reason)
    if not link.restarts:
        return [entry, link.end_agent()]
    # No prompt has to fail: those of other sessions go to the next agent as well.
    waiting = [prompt for other in link.sessions.values() for prompt in other.pop_waiting()]
    unsent = tuple(prompt.frame for prompt in sorted(waiting, key=lambda prompt: prompt.due))
    return [entry, link.end_agent(unsent)]


# --- questions that nobody answers ----------------------------------------------------------------

MAX_TITLE_CHARS = 120
_MAX_READ_CHARS = 2000


def _questions_due(link: Link) -> list[Effect]:
    """Remind the user of open questions, and answer those that have waited too long."""
    effects: list[Effect] = []
    for request_id, request in list(link.from_agent.items()):
        question = request.question
        if question is None or question.due > link.now:
            continue
        own = link.sessions.get(request.session_id or "")
        if own is not None and own.opened:
            session = own if own.turns else None
        else:
            # A sub-agent's session, which the client never opened, is shown in one that waits for
            # it.
            waiting = (s for s in link.sessions.values() if s.turns and request_id in s.asking)
            session = next(waiting, None)
        timeout = read_timeout(link.options.ask_timeout)
        word = timeout.word if timeout is not None else REJECT
        what = "permission" if request.method == acp.PERMISSION else "form"
        waited = round(link.now - question.since)
        if question.expires_at > link.now or question.is_answered_elsewhere:
            question.remind(link.now, link.options.ask_reminder_seconds)
            entry = entries.record(
                link, Kind.QUESTION_REMINDED, own, what=what, waited_seconds=waited
            )
            end = ""
            if question.expires_at != math.inf:
                left = late.phrases.plain_duration(math.ceil(question.expires_at - link.now))
                follows = "answers no" if word == REJECT else "cancels the question"
                end = f" Without one, lastword {follows} in {left}."
            effects += [*_question_line(link, session, question, WAITING, end), entry]
            continue
        result, outcome = answer_of_nobody(request.method, question.params, word)
        for asking in link.sessions.values():
            asking.answered(request_id, link.now)
        link.withdraw(request_id, expired=True)
        # Not how long it was: a moment more would be shown as a minute more.
        limit = late.phrases.plain_duration(max(round(question.expires_at - question.since), 1))
        done = "answered no" if word == REJECT else "cancelled the question"
        line = f"Nobody answered the agent within {limit}, so lastword {done}"
        entry = entries.record(
            link, Kind.QUESTION_EXPIRED, own, what=what, outcome=outcome, waited_seconds=waited
        )
        agents_id = request.agents_id or request_id
        effects += [
            Answer(Side.AGENT, agents_id, jsonrpc.result(agents_id, result)),
            *failures.withdrawal(request_id),
            *_question_line(link, session, question, line),
            entries.of_question(entry, request_id),
        ]
    return effects


def _question_line(
    link: Link, session: Session | None, question: Question, line: str, end: str = ""
) -> list[Effect]:
    """Report in a session that a question waits or was answered, with its title if it has one."""
    if session is None:
        return []
    call = object_of(question.params.get("toolCall"))
    shown = call.get("title") or session.tools.title_of(call.get("toolCallId"))
    title = shown or question.params.get("message")
    plain = ""
    if isinstance(title, str):
        plain = late.wording.plain_text(link.redactor(title[:_MAX_READ_CHARS]))
    if len(plain) > MAX_TITLE_CHARS:
        plain = f"{plain[:MAX_TITLE_CHARS].rstrip()}…"
    if not plain:
        return reporting.inform(link, session, f"{line}.{end}")
    mark = "" if plain[-1] in ".?!…" else "."
    return reporting.inform(link, session, f"{line}: {plain}{mark}{end}")
