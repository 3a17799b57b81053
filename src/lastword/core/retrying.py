"""Agents that say they are retrying: told to clients that can show it.

Owns what such a signal becomes; which signals there are is `core.classify.agents`'s. The signal
itself always passes as it came, and reading one costs something only where a client asked for
`agent_retry` or shows such lines.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core import advice, ending, entries, fallback, jsonrpc
from lastword.core.effects import Effect, Send, Side
from lastword.core.taxonomy import ErrorType, RetrySafety
from lastword.core.timeline import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.classify.agents import Sign
    from lastword.core.jsonrpc import Frame
    from lastword.core.session import Link, Session, Turn

_NUMBERS = ("attempt", "max_attempts", "wait_seconds")
_MAX_NUMBER = 1e9
_TYPES = frozenset(word.value for word in ErrorType)

RETRYING_METHOD = "_session/retrying"


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
    if advice.reads(link, frame.line):
        turn.retries += 1
        return [_entry(link, turn, word)]
    return _tell(link, turn, word, "The agent is trying again.")


def announced(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """What is written down of an agent's own `agent_retry`: what kind, never its words."""
    update = jsonrpc.params_of(frame).get("update")
    if not session.turns or not isinstance(update, dict):
        return []
    turn = session.turns[-1]
    turn.retries += 1
    error = update.get("error")
    word = error.get("type") if isinstance(error, dict) else None
    known = word if isinstance(word, str) and word in _TYPES else ErrorType.UNKNOWN.value
    numbers = {name: _number(update.get(name)) for name in _NUMBERS}
    return [entries.record(link, Kind.RETRY, session, turn, type=known, **numbers)]


def _number(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < _MAX_NUMBER else None


_SIGNS = (b'"sessionFailure"', b'"willRetry"', b'"opencode/retry"')


def _may_tell(frame: Frame) -> bool:
    """Is there anything in it that may tell of a retry? Asked of many an update that does not."""
    if frame.message.method == RETRYING_METHOD:
        return True
    return any(sign in frame.line for sign in _SIGNS)


def told_by_handler(link: Link, turn: Turn, word: Retrying) -> list[Effect]:
    """What follows from a retry that the handler itself announces."""
    wait = math.ceil(word.wait_seconds or 0)
    # The clocks stand while the handler waits as it should.
    turn.session.progress(link.now + wait)
    # Loaded at the first retry that is told of, as in `_tell`.
    from lastword.core import moments  # noqa: PLC0415

    when = f"in {moments.plain_duration(wait)}" if wait else "now"
    of = "" if word.max_attempts is None else f" of {word.max_attempts}"
    return _tell(link, turn, word, f"Trying again {when} (attempt {word.attempt}{of}).")


def _tell(link: Link, turn: Turn, word: Retrying, what_next: str) -> list[Effect]:
    # Loaded at the first retry that is told of: no part of a healthy turn.
    from lastword.core import sentences  # noqa: PLC0415

    session, verdict = turn.session, word.verdict
    turn.retries += 1
    entry = _entry(link, turn, word)
    if not link.client.retry:
        if not advice.can_show(link):
            return [entry]
        title = f"{sentences.WHAT[verdict.type]} {what_next}"
        return [advice.warn_of_retry(link, turn, verdict.type, title), entry]
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
    return [Send(Side.CLIENT, fallback.session_update(session.session_id, known)), entry]


def _sign(link: Link, frame: Frame) -> Sign | None:
    from lastword.core.classify import agents  # noqa: PLC0415  (as in `told`)

    params = jsonrpc.params_of(frame)
    if frame.message.method == RETRYING_METHOD:
        return agents.read_notification(RETRYING_METHOD, params)
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
