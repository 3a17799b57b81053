"""What the core writes down: an entry for each thing that happened, without anybody's words.

Owns which turn an entry belongs to, and what of a failure may be kept. The shape of an entry is
`core.timeline`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.effects import Record
from lastword.core.timeline import Entry, Kind

if TYPE_CHECKING:
    from lastword.core.jsonrpc import Frame
    from lastword.core.session import Link, Session, Turn
    from lastword.core.taxonomy import AgentError

MAX_ID_CHARS = 128
"""Ids that an agent makes up may be as long as it likes."""

STDERR_TAIL_CHARS = 2048
_TEXT = ("message", "detail")


def record(
    link: Link,
    kind: Kind,
    session: Session | None = None,
    turn: Turn | None = None,
    **facts: object,
) -> Record:
    """An entry; without a turn it belongs to the one that its session has open."""
    if turn is None and session is not None and session.turns:
        turn = session.turns[-1]
    known = {key: value for key, value in facts.items() if value is not None}
    return Record(
        Entry(
            kind=kind,
            at_seconds=link.now,
            session_id=session.session_id if session else None,
            turn=turn.number if turn else None,
            facts=known,
        )
    )


class _Correlated(msgspec.Struct):
    traceparent: str | None = None


class _PromptParams(msgspec.Struct, rename={"meta": "_meta"}):
    meta: _Correlated | None = None


class _Prompt(msgspec.Struct):
    params: _PromptParams


def prompt(link: Link, turn: Turn, frame: Frame) -> Record:
    """A turn begins; where the client is being traced, this says under which span."""
    traceparent = None
    if b'"traceparent"' in frame.line:
        try:
            meta = msgspec.json.decode(frame.line, type=_Prompt).params.meta
        except (msgspec.MsgspecError, ValueError, RecursionError):
            meta = None
        traceparent = meta.traceparent if meta else None
    request_id = frame.message.request_id or b"null"
    known = {} if traceparent is None else {"traceparent": short(traceparent)}
    entry = Entry(
        kind=Kind.PROMPT,
        at_seconds=link.now,
        session_id=turn.session.session_id,
        turn=turn.number,
        request_id=short(request_id.decode(errors="replace")),
        facts=known,
    )
    return Record(entry)


def agent_ready(link: Link) -> Record:
    """The agent has answered `initialize`."""
    return record(
        link,
        Kind.AGENT_READY,
        name=short(link.agent.name),
        version=short(link.agent.version),
        protocol_version=link.dialect.version,
    )


def failure(link: Link, error: AgentError) -> dict[str, Any]:
    """The facts of a failure: what it is, and its words only where somebody asked for them."""
    payload = error.payload()
    if not link.options.record_text:
        for member in _TEXT:
            payload.pop(member, None)
    return payload


def stderr_burst(link: Link, session: Session | None, turn: Turn | None = None) -> list[Record]:
    """What came on stderr since it was last told of."""
    stderr = link.stderr
    count = stderr.total - stderr.told
    if count <= 0:
        return []
    tail = None
    if link.options.record_text:
        # Loaded where text is kept: its patterns cost more to compile than the relay to start.
        from lastword.core.redact import Redactor  # noqa: PLC0415

        redactor = Redactor(link.options.secrets, counts=link.redactions)
        tail = redactor(stderr.tail(stderr.told))[-STDERR_TAIL_CHARS:]
    stderr.told = stderr.total
    return [record(link, Kind.STDERR, session, turn, bytes=count, tail=tail)]


def short(identifier: str) -> str:
    """An id of somebody else's, within bounds."""
    return identifier[:MAX_ID_CHARS]
