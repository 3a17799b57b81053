"""Retries of the agent's model calls, reported to the client in a form that it can show.

Owns what a hint of a retry becomes: `agent_retry`, a notice, JetBrains AIR's warning, or a thought
in the conversation. `quirks.wire` lists the signals that agents give, and `core.classify.agents`
reads them; a signal always passes unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import ladder, signs
from lastword.core.failure.taxonomy import ErrorType, RetrySafety
from lastword.core.link import ending, entries, evidence, hints, late, notices
from lastword.core.link.hints import Hint, HintSource
from lastword.core.link.turn import AT_WORK, TELLS_OF_WAITS
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.quirks import wire

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.classify.agents import Sign
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame


_AGAIN = "The agent is trying again."
_PERHAPS = "The agent may be trying again."


class Retrying(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that is about to be tried again.

    Attributes:
        verdict: why the last try failed.
        attempt: the number of the next try; the first was 1.
        max_attempts: the most tries that there will be, if known.
        wait_seconds: how long from now.
    """

    verdict: Verdict
    attempt: int
    max_attempts: int | None = None
    wait_seconds: float | None = None


def told(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """Handle a frame that may say that the model call is being retried."""
    if session is None or not session.turns or not _may_tell(frame):
        return []
    if link.agent.speaks_typed and link.client.retry:
        # It reports the same retry by `agent_retry` itself.
        return []
    sign = _sign(link, frame)
    if sign is None or not sign.will_retry:
        return []
    return hinted(link, _hint_of(link, session, sign), is_shown=notices.reads(link, frame.line))


def _hint_of(link: Link, session: Session, sign: Sign) -> Hint:
    """Return a retry that the agent announces on the wire as a hint."""
    return Hint(
        source=HintSource.WIRE,
        verdict=sign.verdict,
        at_seconds=link.now,
        session_id=session.session_id,
        attempt=sign.attempt,
        max_attempts=sign.max_attempts,
        wait_seconds=sign.wait_seconds or sign.verdict.retry_after_seconds,
        goes_on=True,
    )


def hinted(link: Link, hint: Hint, *, is_shown: bool = False) -> list[Effect]:
    """Take in a hint, and report the retry that it may imply unless the client already sees it.

    A call outside the turn, such as one for a title, says nothing of how the turn will end.
    """
    turn = hints.turn_of(link, hint)
    if turn is None:
        return []
    verdict = _with_source(hint)
    if hint.side:
        return _news(link, turn, hint, verdict, is_shown=is_shown)
    turn.evidence.take_hint(hint, verdict)
    # A source that knows less, or no cause at all, reports the cause that another has found.
    verdict = turn.evidence.hint or verdict
    if _may_learn_cause(link, hint, verdict) and not is_shown:
        before = tell_kept(link, turn)
        turn.told_retries.keep(hint, link.now)
        link.wake_soon()
        return before
    if hint.attempt is None:
        # It knows the cause, and another source may know the number.
        hint = turn.told_retries.take_kept() or hint
    return _news(link, turn, hint, verdict, is_shown=is_shown)


def _may_learn_cause(link: Link, hint: Hint, verdict: Verdict) -> bool:
    """Return whether another source may know why, if the agent only says that it retries."""
    vague = evidence.certainty(verdict) <= 1
    return vague and link.expects_hints and hint.source is HintSource.WIRE


def tell_kept(link: Link, turn: Turn) -> list[Effect]:
    """Report the retry that has waited for its cause, with what is known by now."""
    hint = turn.told_retries.take_kept()
    if hint is None:
        return []
    return _news(link, turn, hint, turn.evidence.hint or _with_source(hint))


def _news(
    link: Link, turn: Turn, hint: Hint, verdict: Verdict, *, is_shown: bool = False
) -> list[Effect]:
    """Report the retry that a hint implies, unless the client already knows of it."""
    attempt = turn.told_retries.next_attempt(hint)
    if hint.goes_on is False or attempt is None or turn.state not in AT_WORK:
        return []
    if turn.held is not None:
        # The agent has answered: whatever failed is not tried again.
        return []
    # A source may be read late: report only what is left of the wait.
    passed = link.now - hint.at_seconds
    wait = None if hint.wait_seconds is None else max(hint.wait_seconds - passed, 0.0)
    word = Retrying(
        verdict=verdict, attempt=attempt, max_attempts=hint.max_attempts, wait_seconds=wait
    )
    if turn.tried:
        # The agent counts anew for a prompt that was sent again, and its limit is not the last.
        before = sum(tried.tries for tried in turn.tried)
        word = msgspec.structs.replace(word, attempt=attempt + before, max_attempts=None)
    own = turn.told_retries
    own.tell(word, hint.source, link.now, since=hint.at_seconds, attempt=attempt)
    if is_shown:
        turn.count_retry(certain=hint.goes_on is True)
        return [_entry(link, turn, word, hint.source)]
    what_next = _AGAIN if hint.goes_on else _PERHAPS
    told = _tell(link, turn, word, what_next, source=hint.source)
    turn.count_retry(certain=hint.goes_on is True)
    return told


def announced(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """Record an agent's own `agent_retry`: its kind, never its words."""
    update = jsonrpc.params_of(frame).get("update")
    if not session.turns or not isinstance(update, dict):
        return []
    turn = session.turns[-1]
    turn.count_retry()
    word = late.payload.read_retry(update)
    if link.client.retry:
        turn.told_retries.passed(word.attempt, HintSource.WIRE)
    facts = {
        "attempt": word.attempt,
        "max_attempts": word.max_attempts,
        "wait_seconds": word.wait_seconds,
        "type": (word.error.type if word.error else ErrorType.UNKNOWN).value,
    }
    return [entries.record(link, Kind.RETRY, session, turn, **facts)]


def _may_tell(frame: Frame) -> bool:
    """Return whether a frame may report a retry; asked of many updates that do not."""
    if frame.message.method in wire.METHODS or frame.message.method in wire.EVENTS:
        return True
    return signs.may_report_retry(frame.line)


def told_by_handler(link: Link, turn: Turn, word: Retrying) -> list[Effect]:
    """Handle a retry that the handler itself announces."""
    wait = math.ceil(word.wait_seconds or 0)
    # The clocks stand still while the handler waits as it should.
    turn.session.progress(link.now + wait)
    when = f"in {late.durations.plain_duration(wait)}" if wait else "now"
    of = "" if word.max_attempts is None else f" of {word.max_attempts}"
    turn.told_retries.tell(word, None, link.now, since=link.now)
    turn.count_retry()
    return _tell(link, turn, word, f"Trying again {when} (attempt {word.attempt}{of}).")


def _with_source(hint: Hint) -> Verdict:
    """Return the verdict with a rule that names where it was seen."""
    source, rule = f"{hint.source.name.lower()}:", hint.verdict.rule
    named = rule if rule.startswith(source) else f"{source}{rule}"
    return msgspec.structs.replace(hint.verdict, rule=named)


def is_retry_text(link: Link, text: str | None) -> bool:
    """Return whether this piece of text is the agent's word on a retry or upkeep, not output."""
    told, agent = text or "", link.agent.name
    return bool(text) and (signs.is_retry_report(told, agent) or signs.is_remark(told, agent))


def is_retry_by_form(session: Session, text: str | None) -> bool:
    """Return whether this piece has the form of a retry although no row covers the agent.

    An answer may be such a text: it is output unless something else shows a failed call.
    """
    begun = bool(session.turns) and session.turns[-1].evidence.hinted
    return signs.is_retry_by_form(text or "", begun=begun)


def told_in_text(link: Link, session: Session, text: str) -> list[Effect]:
    """Handle a retry that the agent announces in the conversation."""
    sign = late.agents.read_retry_text(text, agent=link.agent.name)
    if sign is None and any(turn.evidence.hint is not None for turn in session.turns):
        # Its form alone proves nothing, but a call is known to have failed.
        sign = late.agents.read_retry_form(text)
    return [] if sign is None else hinted(link, _hint_of(link, session, sign))


def due(link: Link, turn: Turn) -> float | None:
    """Return when a line about the wait is due, for a client that shows no other."""
    if turn.state not in TELLS_OF_WAITS or not _by_thought(link):
        return None
    return turn.told_retries.due


def show(link: Link, turn: Turn) -> list[Effect]:
    """Report the wait in the conversation, if that is due.

    It is reported as a thought, which is not output of the turn.
    """
    told = turn.told_retries
    word = told.take_due(link.now) if _by_thought(link) else None
    if word is None:
        return []
    text = late.wording.of_retry(
        word.verdict,
        wait_seconds=_left(word, link.now - told.word_at),
        attempt=word.attempt,
        max_attempts=word.max_attempts,
    )
    content = {"type": "text", "text": f"{text}\n\n"}
    update = {"sessionUpdate": "agent_thought_chunk", "content": content}
    return ending.to_client(ladder.session_update(turn.session.session_id, update))


def _by_thought(link: Link) -> bool:
    """Return whether a thought is the only form in which this client would show a retry."""
    wanted = link.options.show_retries == "auto" and not link.dialect.turn_ends_by_state
    return wanted and not link.client.retry and not notices.can_show(link)


def _left(word: Retrying, since_seconds: float) -> int | None:
    """Return what is left of the agent's wait; `None` if none is known or it is over."""
    if word.wait_seconds is None:
        return None
    return max(math.ceil(word.wait_seconds - since_seconds), 0) or None


def _tell(
    link: Link,
    turn: Turn,
    word: Retrying,
    what_next: str,
    *,
    source: HintSource | None = None,
) -> list[Effect]:
    session, verdict = turn.session, word.verdict
    entry = _entry(link, turn, word, source)
    if not link.client.retry:
        if not notices.can_show(link):
            return [entry]
        title = f"{late.wording.what_of(verdict.type, verdict.reason)} {what_next}"
        return [*notices.warn_of_retry(link, turn, verdict.type, title), entry]
    error = ending.compose(
        link,
        verdict,
        phase=turn.facts.phase(tool_running=session.tools.running),
        retry_safety=RetrySafety.AUTO,
    )
    update = {
        "sessionUpdate": link.dialect.retry_kind,
        "attempt": word.attempt,
        "max_attempts": word.max_attempts,
        "wait_seconds": None if word.wait_seconds is None else math.ceil(word.wait_seconds),
        "error": error.payload(),
    }
    known = {key: value for key, value in update.items() if value is not None}
    return [*ending.to_client(ladder.session_update(session.session_id, known)), entry]


def _sign(link: Link, frame: Frame) -> Sign | None:
    params = jsonrpc.params_of(frame)
    method = frame.message.method or ""
    if method in wire.EVENTS:
        return late.agents.read_event(method, params)
    if method != acp.UPDATE:
        return late.agents.read_notification(method, params)
    return late.agents.read_update(params.get("update"), agent=link.agent.name)


def _entry(link: Link, turn: Turn, word: Retrying, source: HintSource | None) -> Effect:
    return entries.record(
        link,
        Kind.RETRY,
        turn.session,
        turn,
        attempt=word.attempt,
        max_attempts=word.max_attempts,
        wait_seconds=word.wait_seconds,
        type=word.verdict.type.value,
        source=source.name.lower() if source is not None else None,
    )
