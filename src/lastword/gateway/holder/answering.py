"""A holder's answers to a front that asks for events, or answers a question by a code.

Owns the control words and their facts. A front asks over a connection that has no viewer, one
question at a time; what it does not read is not read from the log either.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.timeline.entry import Kind
from lastword.gateway import wire
from lastword.gateway.api.scan import EventQuery, Scan, as_facts
from lastword.gateway.viewing.answer_codes import AnswerCode
from lastword.gateway.viewing.reader import CursorError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lastword.gateway.holder.session import HeldSession

MAX_WAIT_SECONDS = 30.0


async def _events(sessions: Mapping[str, HeldSession], facts: dict[str, Any]) -> dict[str, Any]:
    session = sessions.get(str(facts.get("session")))
    if session is None:
        return {wire.UNKNOWN: True}
    query = msgspec.convert(facts.get("query"), EventQuery)
    wait = facts.get("wait_seconds")
    seconds = min(float(wait), MAX_WAIT_SECONDS) if isinstance(wait, int | float) else 0.0
    try:
        scan = await _scanned(session, query, seconds)
    except CursorError as error:
        return {wire.REFUSED: str(error)}
    return {wire.PAGE: as_facts(scan.page())}


async def _scanned(session: HeldSession, query: EventQuery, seconds: float) -> Scan:
    """Return a page with something on it, or after a while whatever there is."""
    until = time.monotonic() + seconds
    scan = Scan(session.log, session.id, query)
    with session.watched() as grown:
        while True:
            grown.clear()
            scan.go_on()
            while not scan.step():  # noqa: ASYNC110 - it waits for nothing
                await asyncio.sleep(0)  # the agent and the viewers have this loop, too
            left = until - time.monotonic()
            if scan.is_news or session.is_over or left <= 0:
                return scan
            try:
                async with asyncio.timeout(left):
                    await grown.wait()
            except TimeoutError:
                return scan


async def _note(sessions: Mapping[str, HeldSession], facts: dict[str, Any]) -> dict[str, Any]:
    session = sessions.get(str(facts.get("session")))
    event = facts.get("facts")
    if session is None or not isinstance(event, dict):
        return {wire.UNKNOWN: True}
    at_ms = time.time_ns() // 1_000_000
    effects = session.hub.note_bounded("client", at_ms, Kind.CLIENT_ERROR, **event)
    if not effects:
        return {wire.UNKNOWN: True}
    seq = session.hub.head
    session.carry_out(effects)
    await session.committed(seq)
    return {"seq": seq}


async def _answer(sessions: Mapping[str, HeldSession], facts: dict[str, Any]) -> dict[str, Any]:
    """Answer a question by a code that has been checked."""
    code = msgspec.convert(facts.get("code"), AnswerCode)
    session = sessions.get(code.session)
    if session is None or session.run != code.run or session.is_over or session.failed is not None:
        return {"outcome": wire.GONE}
    at_ms = time.time_ns() // 1_000_000
    outcome, effects = session.hub.answer(code.question, code.option, at_ms)
    if effects:
        session.carry_out(effects)
    return {"outcome": outcome}


ANSWERED: dict[
    str, Callable[[Mapping[str, HeldSession], dict[str, Any]], Awaitable[dict[str, Any]]]
] = {
    wire.EVENTS_PAGE: _events,
    wire.NOTE: _note,
    wire.ANSWER: _answer,
}
"""What answers each word."""
