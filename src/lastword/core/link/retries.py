"""Agents that say they are retrying: told to clients that can show it.

Owns what such a signal becomes; which there are is `quirks.wire`'s, what one of them says
`core.classify.agents`'s. The signal itself always passes as it came, and reading one costs
something only where a client asked for `agent_retry` or shows such lines.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import ErrorType, RetrySafety
from lastword.core.link import ending, entries, notices
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.quirks import wire

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.classify.agents import Sign
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame


class Retrying(msgspec.Struct, frozen=True, kw_only=True):
    """A model call is going to be tried again.

    Attributes:
        verdict: why the last try failed.
        attempt: the number of the try that comes next; the first was 1.
        max_attempts: how many there will be at most, where that is known.
        wait_seconds: how long from now.
    """

    verdict: Verdict
    attempt: int
    max_attempts: int | None = None
    wait_seconds: float | None = None


def told(link: Link, session: Session | None, frame: Frame) -> list[Effect]:
    """What follows from a frame that may say that the model call is being retried."""
    if session is None or not session.turns or not _may_tell(frame):
        return []
    if link.agent.speaks_typed and link.client.retry:
        # It tells of the same retry by `agent_retry` itself.
        return []
    sign = _sign(link, frame)
    if sign is None or not sign.will_retry:
        return []
    turn = session.turns[-1]
    word = Retrying(
        verdict=sign.verdict,
        attempt=sign.attempt or turn.retries + 2,
        max_attempts=sign.max_attempts,
        wait_seconds=sign.wait_seconds or sign.verdict.retry_after_seconds,
    )
    if notices.reads(link, frame.line):
        turn.count_retry()
        return [_entry(link, turn, word)]
    return _tell(link, turn, word, "The agent is trying again.")


def announced(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """What is written down of an agent's own `agent_retry`: what kind, never its words."""
    update = jsonrpc.params_of(frame).get("update")
    if not session.turns or not isinstance(update, dict):
        return []
    # Loaded at the first retry that is told of: no part of a healthy turn.
    from lastword.core.failure import payload  # noqa: PLC0415

    turn = session.turns[-1]
    turn.count_retry()
    word = payload.read_retry(update)
    facts = {
        "attempt": word.attempt,
        "max_attempts": word.max_attempts,
        "wait_seconds": word.wait_seconds,
        "type": (word.error.type if word.error else ErrorType.UNKNOWN).value,
    }
    return [entries.record(link, Kind.RETRY, session, turn, **facts)]


def _may_tell(frame: Frame) -> bool:
    """Is there anything in it that may tell of a retry? Asked of many an update that does not."""
    if frame.message.method in wire.METHODS:
        return True
    return any(mark in frame.line for mark in wire.RETRY_MARKS)


def told_by_handler(link: Link, turn: Turn, word: Retrying) -> list[Effect]:
    """What follows from a retry that the handler itself announces."""
    wait = math.ceil(word.wait_seconds or 0)
    # The clocks stand while the handler waits as it should.
    turn.session.progress(link.now + wait)
    # Loaded at the first retry that is told of, as in `_tell`.
    from lastword.core.failure import durations  # noqa: PLC0415

    when = f"in {durations.plain_duration(wait)}" if wait else "now"
    of = "" if word.max_attempts is None else f" of {word.max_attempts}"
    return _tell(link, turn, word, f"Trying again {when} (attempt {word.attempt}{of}).")


def _tell(link: Link, turn: Turn, word: Retrying, what_next: str) -> list[Effect]:
    # Loaded at the first retry that is told of: no part of a healthy turn.
    from lastword.core.failure import wording  # noqa: PLC0415

    session, verdict = turn.session, word.verdict
    turn.count_retry()
    entry = _entry(link, turn, word)
    if not link.client.retry:
        if not notices.can_show(link):
            return [entry]
        title = f"{wording.WHAT[verdict.type]} {what_next}"
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
    from lastword.core.classify import agents  # noqa: PLC0415  (as in `told`)

    params = jsonrpc.params_of(frame)
    if frame.message.method in wire.METHODS:
        return agents.read_notification(frame.message.method, params)
    return agents.read_update(params.get("update"), agent=link.agent.name)


def _entry(link: Link, turn: Turn, word: Retrying) -> Effect:
    return entries.record(
        link,
        Kind.RETRY,
        turn.session,
        turn,
        attempt=word.attempt,
        max_attempts=word.max_attempts,
        wait_seconds=word.wait_seconds,
        type=word.verdict.type.value,
    )
