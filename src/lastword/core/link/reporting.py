"""Lines for the user while a turn continues: something is slow, or is being tried again.

Owns the choice of what this client can show: `agent_retry`, a notice, JetBrains AIR's warning, or a
thought in the conversation. None of them reports the failure of a turn. Also owns which turn a hint
belongs to. `quirks.wire` lists the signals that agents give of a retry, and `core.classify.agents`
reads them; a signal always passes unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import ladder, signs
from lastword.core.failure.taxonomy import EFFECTS, Action, Attribution, ErrorType, RetrySafety
from lastword.core.link import entries, failures, late
from lastword.core.link.evidence import (
    LATE_SECONDS,
    OVERTAKEN_SECONDS,
    TOOL_TAIL_SECONDS,
    UNCONFIRMED_SECONDS,
    Hint,
    HintSource,
    Retrying,
    SilentTurn,
    certainty,
)
from lastword.core.link.facts import TYPES_OF_SILENCE
from lastword.core.link.turn import AT_WORK, REPORTS_WAITS, State
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.redact.truncate import informative_lines
from lastword.core.timeline.entry import Kind
from lastword.quirks import wire

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.classify.agents import Sign
    from lastword.core.link.effects import Effect
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame


# --- what this client can show --------------------------------------------------------------------

WENT_ON = "The agent went on."
WAS_CANCELLED = "The turn was cancelled."
FAILED = "The turn failed."
"""What replaces a warning once the turn has ended and nothing is being tried again."""


def can_show(link: Link) -> bool:
    """Return whether this client can show such lines."""
    client = link.client
    return client.notices or not link.dialect.notice_needs_capability or has_air_report(link)


def has_air_report(link: Link) -> bool:
    """Return whether failures reach this client as JetBrains AIR's `sessionFailure`."""
    if not link.client.air and link.options.fallback != ladder.Rung.AIR:
        return False
    rung = ladder.rung_for(link.options.fallback, link.client, link.dialect)
    return rung is ladder.Rung.AIR


def thought(session: Session, text: str) -> list[Effect]:
    """Show a line in the conversation; it is not output of the turn."""
    content = {"type": "text", "text": f"{text}\n\n"}
    update = {"sessionUpdate": "agent_thought_chunk", "content": content}
    return failures.to_client(ladder.session_update(session.session_id, update))


def show_activity(session: Session, word: str) -> list[Effect]:
    """Say whether the agent works on without a turn."""
    meta = {"lastword": {"session": word}}
    update = {"sessionUpdate": "session_info_update", "_meta": meta}
    return failures.to_client(ladder.session_update(session.session_id, update))


def client_reads(link: Link, line: bytes) -> bool:
    """Return whether the client understands this frame of the agent's by AIR's convention."""
    return has_air_report(link) and signs.has_air_report(line)


def remark(
    link: Link,
    session: Session,
    title: str,
    *,
    turn: Turn | None = None,
    error_type: ErrorType | None = None,
) -> list[Effect]:
    """Report a delay, a retry and its cause, or something else that the user should know."""
    if not _warns_by_air(link):
        return _notice(session, title)
    return _air_warning(link, turn or session.turns[-1], error_type, title)


def warn(link: Link, session: Session, title: str) -> list[Effect]:
    """Show a line about a session, if the client can show one outside a turn."""
    return _notice(session, title) if can_show(link) and not _warns_by_air(link) else []


def remark_silence(
    link: Link, session: Session, title: str, cause: SilenceCause | None
) -> list[Effect]:
    """Report a silence, with its cause and the type that it would have as a failure.

    A cause that the agent's own runtime states is reported to every client.
    """
    if not can_show(link):
        return inform(link, session, title) if cause is not None and cause.is_certain else []
    if cause is None:
        return remark(link, session, title)
    type_ = TYPES_OF_SILENCE.get(cause.cause)
    if _warns_by_air(link):
        return _air_warning(link, session.turns[-1], type_, title)
    members = {
        "cause": cause.cause.value,
        "seconds": max(round(link.now - cause.since), 0),
        "type": type_.value if type_ is not None else None,
    }
    stated = {name: value for name, value in members.items() if value is not None}
    return _notice(session, title, {"lastword": {"silence": stated}})


def inform(link: Link, session: Session, text: str) -> list[Effect]:
    """Report something to the user in the way that this client supports, or else as a thought."""
    if can_show(link):
        return remark(link, session, text)
    return thought(session, text) if link.options.show_retries == "auto" else []


def close_warning(link: Link, turn: Turn, title: str, *, of_agent: bool = False) -> list[Effect]:
    """Replace AIR's warning about a turn that ends without a failure.

    The agent closes its own warnings, unless `of_agent` says that it did not end the turn.
    """
    is_open = turn.failure_revision and (of_agent or turn.warned_by_us)
    return _air_warning(link, turn, None, title) if is_open else []


def _warns_by_air(link: Link) -> bool:
    """Return whether warnings go by AIR; a client that shows notices gets those instead."""
    return has_air_report(link) and not link.client.notices


def _notice(session: Session, title: str, meta: dict[str, Any] | None = None) -> list[Effect]:
    frame = ladder.notice(session.session_id, severity="warning", title=title, meta=meta)
    return failures.to_client(frame)


def _air_warning(link: Link, turn: Turn, error_type: ErrorType | None, title: str) -> list[Effect]:
    # One id for all the records of a turn: its end supersedes the warnings before it.
    revision = turn.add_record(turn.failure_id or link.next_incident())
    meta = ladder.warning_meta(
        error_type, title=title, failure_id=turn.failure_id, revision=revision
    )
    update = {"sessionUpdate": "session_info_update", "_meta": meta}
    return failures.to_client(ladder.session_update(turn.session.session_id, update))


# --- retries of the agent's model calls -----------------------------------------------------------

HEARD = AT_WORK | {State.STOPPING}
"""The states in which a hint may still explain the turn's end; a cancelled turn is `cancelled`."""

LONGEST_WAIT_SECONDS = 6 * 3600.0
"""The longest wait of the agent that keeps its turn open, unless `--continue-at-reset` allows more.
It is that option's value if none is given."""

_AGAIN = "The agent is trying again."
_PERHAPS = "The agent may be trying again."


def read_frame(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """Handle a frame that may say that the model call is being retried."""
    if session is None or not session.turns or not _may_report(frame):
        return []
    is_shown, turn = client_reads(link, frame.line), session.turns[-1]
    if is_shown:
        # AIR gets this record from the agent itself: the turn's end supersedes a warning.
        update = object_of(jsonrpc.params_of(frame).get("update"))
        extension = ladder.extension_in(object_of(update.get("_meta")))
        members = object_of(extension.get(ladder.SESSION_FAILURE))
        name, revision = members.get("id"), members.get("revision")
        if isinstance(name, str) and isinstance(revision, int) and not turn.warned_by_us:
            is_open = members.get("severity") == "warning"
            turn.follow_record(name if is_open else "", revision if is_open else 0)
    if link.agent.speaks_typed and link.client.retry:
        # It reports the same retry by `agent_retry` itself.
        return []
    sign = _sign(link, frame)
    if sign is None or not sign.will_retry:
        return []
    return read_hint(link, _hint_of(link, session, sign), is_shown=is_shown)


def announces_retry(link: Link, frame: Frame) -> bool:
    """Return whether the agent's own notification is about a retry of its model call."""
    sign = _sign(link, frame) if _may_report(frame) else None
    return sign is not None and sign.will_retry


def _hint_of(link: Link, session: Session, sign: Sign) -> Hint:
    return Hint(
        source=HintSource.WIRE,
        verdict=sign.verdict,
        attribution=Attribution.PROVEN,
        at_seconds=link.now,
        session_id=session.session_id,
        attempt=sign.attempt,
        max_attempts=sign.max_attempts,
        wait_seconds=sign.wait_seconds or sign.verdict.retry_after_seconds,
        goes_on=True,
    )


def read_hint(link: Link, hint: Hint, *, is_shown: bool = False) -> list[Effect]:
    """Receive a hint, and report the retry that it may imply unless the client has seen it.

    A call outside the turn, such as one for a title, says nothing about the turn.
    """
    turn = turn_of(link, hint)
    effect = EFFECTS[hint.attribution]
    if turn is None or hint.side or not (effect.reports and effect.names_cause):
        return []
    if hint.is_over:
        turn.evidence.withdraw_hint()
        turn.reported.forget_wait()
        return []
    if hint.source is HintSource.WIRE:
        turn.session.note_retry()
    if hint.goes_on is not False:
        _note_wait(link, turn.session, hint.at_seconds, hint.wait_seconds)
    verdict = _with_source(hint)
    turn.evidence.add_hint(hint, verdict)
    # A source that knows less, or no cause at all, reports the cause that another one knows.
    verdict = turn.evidence.hint or verdict
    turn.reported.forget_early(hint)
    if hint.is_early or (hint.goes_on is False and hint.source is HintSource.OBSERVER):
        # More will be known, or the turn ends. If neither happens, the call may be tried again.
        before = report_withheld(link, turn)
        expected = msgspec.structs.replace(hint, goes_on=None)
        link.withhold_retry(turn, expected, UNCONFIRMED_SECONDS)
        return before
    is_vague = certainty(verdict) <= 1
    if is_vague and link.expects_hints and hint.source is HintSource.WIRE and not is_shown:
        # The agent only says that it retries; another source may know why.
        before = report_withheld(link, turn)
        link.withhold_retry(turn, hint)
        return before
    if not (effect.at_once or is_shown or turn.reported.waits):
        # A second sign, or a while without output, has to confirm it.
        link.withhold_retry(turn, hint, UNCONFIRMED_SECONDS)
        return []
    before = report_withheld(link, turn) if turn.reported.withholds(hint.source) else []
    if hint.attempt is None:
        # It knows the cause, and another source may know the number.
        hint = turn.reported.pop_withheld() or hint
    return [*before, *_report_hint(link, turn, hint, verdict, is_shown=is_shown)]


def _note_wait(link: Link, session: Session, since: float, seconds: float | None) -> None:
    """Let the agent wait as long as it says, unless that is longer than a user should wait."""
    longest = max(LONGEST_WAIT_SECONDS, link.options.continue_at_reset_seconds)
    if seconds is not None and seconds <= longest:
        session.note_wait(since, seconds)


def report_withheld(link: Link, turn: Turn) -> list[Effect]:
    """Report the retry that has waited for its cause, with what is known by now."""
    hint = turn.reported.pop_withheld()
    if hint is None:
        return []
    return _report_hint(link, turn, hint, turn.evidence.hint or _with_source(hint))


def _report_hint(
    link: Link, turn: Turn, hint: Hint, verdict: Verdict, *, is_shown: bool = False
) -> list[Effect]:
    attempt = turn.reported.next_attempt(hint)
    if hint.goes_on is False or attempt is None or turn.state not in AT_WORK:
        return []
    if turn.withheld is not None:
        # The agent has answered: whatever failed is not tried again.
        return []
    # A source may be read late: report only what is left of the wait.
    passed = link.now - hint.at_seconds
    wait = None if hint.wait_seconds is None else max(hint.wait_seconds - passed, 0.0)
    retry = Retrying(
        verdict=verdict, attempt=attempt, max_attempts=hint.max_attempts, wait_seconds=wait
    )
    if turn.tried:
        # The agent counts anew for a prompt that was sent again, and its limit is not the last.
        before = sum(tried.tries for tried in turn.tried)
        retry = msgspec.structs.replace(retry, attempt=attempt + before, max_attempts=None)
    own = turn.reported
    own.note(retry, hint.source, link.now, since=hint.at_seconds, attempt=attempt)
    if is_shown:
        turn.count_retry(certain=hint.goes_on is True)
        return [_entry(link, turn, retry, hint.source)]
    what_next = _AGAIN if hint.goes_on else _PERHAPS
    entry = _entry(link, turn, retry, hint.source)
    effects: list[Effect] = []
    reads = link.client.retry or can_show(link)
    if reads and link.may_send_retry(turn, retry, what_next):
        effects = _shown(link, turn, retry, what_next)
    turn.count_retry(certain=hint.goes_on is True)
    return [*effects, entry]


def report_delayed(link: Link, turn: Turn) -> list[Effect]:
    """Report the retry that has waited for its cause, or that came too soon after another."""
    withheld_until = turn.reported.withheld_until
    if withheld_until is not None and withheld_until <= link.now:
        return report_withheld(link, turn)
    unsent = turn.reported.pop_unsent(link.now)
    if unsent is None or turn.state not in AT_WORK or turn.withheld is not None:
        return []
    retry, what_next = unsent
    return _shown(link, turn, retry, what_next)


def record_announced(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """Record the agent's own `agent_retry`: its type, never its words."""
    update = jsonrpc.params_of(frame).get("update")
    if not session.turns or not isinstance(update, dict):
        return []
    turn = session.turns[-1]
    turn.count_retry()
    retry = late.payload.read_retry(update)
    session.note_retry()
    _note_wait(link, session, link.now, retry.wait_seconds)
    if link.client.retry:
        turn.reported.add_passed(retry.attempt, HintSource.WIRE)
    facts = {
        "attempt": retry.attempt,
        "max_attempts": retry.max_attempts,
        "wait_seconds": retry.wait_seconds,
        "type": (retry.error.type if retry.error else ErrorType.UNKNOWN).value,
    }
    return [entries.record(link, Kind.RETRY, session, turn, **facts)]


def _may_report(frame: Frame) -> bool:
    """Return whether a frame may report a retry; this is cheap, since most do not."""
    if frame.message.method in wire.METHODS or frame.message.method in wire.EVENTS:
        return True
    return signs.may_report_retry(frame.line)


def announce(link: Link, turn: Turn, retry: Retrying) -> list[Effect]:
    """Handle a retry that the handler itself announces."""
    wait = math.ceil(retry.wait_seconds or 0)
    # The clocks stand still while the handler waits as it should.
    turn.session.progress(link.now + wait)
    when = f"in {late.phrases.plain_duration(wait)}" if wait else "now"
    attempt = late.phrases.attempt_words(retry.attempt, retry.max_attempts)
    turn.reported.note(retry, None, link.now, since=link.now)
    turn.count_retry()
    what_next = retry.sentence or f"Trying again {when} ({attempt})."
    reads = link.client.retry or can_show(link)
    shown = _shown(link, turn, retry, what_next) if reads else []
    reported = [*shown, _entry(link, turn, retry, None)]
    if retry.sentence is None or retry.wait_seconds is None:
        return reported
    entry = entries.record(
        link,
        Kind.LIMIT_WAIT,
        turn.session,
        turn,
        type=retry.verdict.type.value,
        wait_seconds=retry.wait_seconds,
        until_epoch_ms=retry.verdict.reset_at_epoch_ms,
    )
    return [*reported, entry]


def announce_at_once(link: Link, turn: Turn, retry: Retrying) -> list[Effect]:
    """Announce what follows without a wait, in the conversation too if nothing else can show it."""
    effects = announce(link, turn, retry)
    if not _by_thought(link):
        return effects
    what = late.sentences.what_of(retry.verdict.type, retry.verdict.reason)
    return [*effects, *thought(turn.session, f"{what} {retry.sentence}")]


def _with_source(hint: Hint) -> Verdict:
    source, rule = f"{hint.source.name.lower()}:", hint.verdict.rule
    named = rule if rule.startswith(source) else f"{source}{rule}"
    return msgspec.structs.replace(hint.verdict, rule=named)


def read_text(link: Link, session: Session, text: str) -> list[Effect]:
    """Handle a retry that the agent announces in the conversation."""
    sign = late.agents.read_retry_text(text, agent=link.agent.name)
    if sign is None and any(turn.evidence.hint is not None for turn in session.turns):
        # Its form alone proves nothing, but a call is known to have failed.
        sign = late.agents.read_retry_form(text)
    return [] if sign is None else read_hint(link, _hint_of(link, session, sign))


def due(link: Link, turn: Turn) -> float | None:
    """Return when a line about the wait is due, for a client that shows no other."""
    if turn.state not in REPORTS_WAITS or not _by_thought(link):
        return None
    return turn.reported.due


def show(link: Link, turn: Turn) -> list[Effect]:
    """Report the wait in the conversation, if that is due.

    It is reported as a thought, which is not output of the turn.
    """
    retry = turn.reported.pop_due(link.now) if _by_thought(link) else None
    if retry is None:
        return []
    if retry.sentence is not None:
        what = late.sentences.what_of(retry.verdict.type, retry.verdict.reason)
        return thought(turn.session, f"{what} {retry.sentence}")
    left = None
    if retry.wait_seconds is not None:
        passed = link.now - turn.reported.last_at
        left = max(math.ceil(retry.wait_seconds - passed), 0) or None
    text = late.wording.of_retry(
        retry.verdict, wait_seconds=left, attempt=retry.attempt, max_attempts=retry.max_attempts
    )
    return thought(turn.session, text)


def _by_thought(link: Link) -> bool:
    """Return whether a thought is the only form in which this client would show a retry."""
    by_default = link.options.show_retries == "auto" and not link.dialect.turn_ends_by_state
    return by_default and not link.client.retry and not can_show(link)


def _shown(link: Link, turn: Turn, retry: Retrying, what_next: str) -> list[Effect]:
    """Report a retry to a client that reads such reports."""
    session, verdict = turn.session, retry.verdict
    title = f"{late.sentences.what_of(verdict.type, verdict.reason)} {what_next}"
    if not link.client.retry:
        return remark(link, session, title, turn=turn, error_type=verdict.type)
    error = failures.compose(
        link,
        # It is being tried again, whatever its type means for a lasting failure.
        msgspec.structs.replace(verdict, retryable=True, action=Action.WAIT),
        phase=turn.facts.phase(tool_running=session.tools.running),
        retry_safety=RetrySafety.AUTO,
        message=title,
    )
    if retry.wait_seconds is None and retry.sentence is not None:
        # No other member says what follows.
        what = late.sentences.what_of(verdict.type, verdict.reason)
        error = msgspec.structs.replace(error, message=f"{what} {retry.sentence}")
    update = {
        "sessionUpdate": link.dialect.retry_kind,
        "attempt": retry.attempt,
        "max_attempts": retry.max_attempts,
        "wait_seconds": None if retry.wait_seconds is None else math.ceil(retry.wait_seconds),
        "error": error.payload(),
    }
    members = {key: value for key, value in update.items() if value is not None}
    return failures.to_client(ladder.session_update(session.session_id, members))


def _sign(link: Link, frame: Frame) -> Sign | None:
    params = jsonrpc.params_of(frame)
    method = frame.message.method or ""
    if method in wire.EVENTS:
        return late.agents.read_event(method, params)
    if method != acp.UPDATE:
        return late.agents.read_notification(method, params)
    return late.agents.read_update(params.get("update"), agent=link.agent.name)


def _entry(link: Link, turn: Turn, retry: Retrying, source: HintSource | None) -> Effect:
    return entries.record(
        link,
        Kind.RETRY,
        turn.session,
        turn,
        attempt=retry.attempt,
        max_attempts=retry.max_attempts,
        wait_seconds=retry.wait_seconds,
        type=retry.verdict.type.value,
        source=source.name.lower() if source is not None else None,
    )


# --- which turn a hint belongs to --------------------------------------------------------------


def turn_of(link: Link, hint: Hint) -> Turn | None:
    """Return the turn that a hint belongs to: an open one that began before it and is stuck.

    A source that names no session counts only if just one turn can be meant.
    """
    if hint.session_id is not None:
        session = link.sessions.get(hint.session_id)
        turns = session.turns[-1:] if session is not None else []
    else:
        turns = link.open_turns()
        if len(turns) > 1 and hint.goes_on is False:
            # It is the one whose answer shows nothing: the others are still at work.
            turns = [turn for turn in turns if turn.withheld is not None]
        if len(turns) != 1 or may_be_of_ended(link, turns[0], hint.at_seconds):
            return None
    if not turns or turns[0].state not in HEARD:
        return None
    turn = turns[0]
    since = max(turn.started_at, turn.evidence.output_at - OVERTAKEN_SECONDS)
    return turn if hint.at_seconds >= since else None


def may_be_of_ended(link: Link, turn: Turn, at_seconds: float) -> bool:
    """Return whether a hint from that time may be about another turn, open at the same time."""
    ended_at = link.turn_ended_at
    return turn.started_at < ended_at and at_seconds < ended_at + LATE_SECONDS


def is_of_one_call(link: Link) -> bool:
    """Return whether text without a session can now be about only one model call.

    It cannot while several turns are open, or a tool runs, whose output may come the same way.
    """
    turns = link.open_turns()
    if len(turns) > 1 or any(may_be_of_ended(link, turn, link.now) for turn in turns):
        return False
    return not any(
        turn.session.tools
        or turn.facts.own_tools
        or link.now < turn.session.tools.ended_at + TOOL_TAIL_SECONDS
        for turn in turns
    )


def has_unread_error(link: Link, turn: Turn) -> bool:
    """Return whether stderr may have an error from after the model's last answer."""
    stderr, evidence = link.stderr, turn.evidence
    if not stderr.has_news(turn.last_at):
        return False
    return bool(informative_lines(stderr.unread(evidence.stderr_mark, evidence.output_at)))


def silent_turns(link: Link, seconds: float) -> list[SilentTurn]:
    """Return the turns at work that have shown nothing for this long."""
    silent: list[SilentTurn] = []
    for session in link.sessions.values():
        for turn in session.turns:
            if turn.state not in HEARD or session.progress_at + seconds > link.now:
                continue
            answered = turn.waits_for_look(link.now)
            one = SilentTurn(
                session.session_id,
                turn.started_at,
                session.progress_at,
                answered=answered,
                unread=answered and has_unread_error(link, turn),
                number=turn.number,
                tries=len(turn.tried),
            )
            silent.append(one)
    return silent
