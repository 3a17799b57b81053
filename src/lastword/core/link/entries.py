"""Entries that the core records: one for each event, without text.

Owns which turn an entry belongs to, and what an entry may contain about a failure: no other module
of the core makes an entry. `core.timeline.entry` defines the shape of an entry, and
`core.timeline.session_events` the facts of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.effects import Record
from lastword.core.link.facts import Cause, plain_program
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Entry, Kind

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import AgentError
    from lastword.core.link.costs import Spending
    from lastword.core.link.effects import Effect
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link, OpenRequest
    from lastword.core.protocol.jsonrpc import Frame

MAX_ID_CHARS = 128
"""An agent's ids may have any length."""

STDERR_TAIL_CHARS = 2048
MAX_CONTENT_CHARS = 1000
_TEXT = ("message", "detail")


def record(
    link: Link,
    kind: Kind,
    session: Session | None = None,
    turn: Turn | None = None,
    **facts: object,
) -> Record:
    """Return an entry; without a turn it belongs to the session's open one."""
    if turn is None and session is not None and session.turns:
        turn = session.turns[-1]
    facts = {key: value for key, value in facts.items() if value is not None}
    return Record(
        Entry(
            kind=kind,
            at_seconds=link.now,
            session_id=session.session_id if session else None,
            turn=turn.number if turn else None,
            facts=facts,
        )
    )


def of_question(made: Record, request_id: bytes, content: dict[str, str] | None = None) -> Record:
    """Return the entry of a question or of its answer with the request's id, and its content."""
    named = short(request_id.decode(errors="replace"))
    return Record(msgspec.structs.replace(made.entry, request_id=named, content=content or {}))


def question_texts(link: Link, frame: Frame) -> dict[str, str]:
    """Return the text of a question, if notifications contain text."""
    if not link.options.notify_content:
        return {}
    params = jsonrpc.params_of(frame)
    call = params.get("toolCall")
    title = call.get("title") if isinstance(call, dict) else params.get("message")
    return {"title": title[:MAX_CONTENT_CHARS]} if isinstance(title, str) else {}


class _TracedMessage(msgspec.Struct):
    traceparent: str | None = None


class _TracedParams(msgspec.Struct, rename={"meta": "_meta"}):
    meta: _TracedMessage | None = None


class _TracedPrompt(msgspec.Struct):
    params: _TracedParams


def prompt(link: Link, turn: Turn, frame: Frame) -> list[Effect]:
    """Record the first start of a turn, with the parent span if the client is traced."""
    if turn.tried:
        return []
    traceparent = None
    if b'"traceparent"' in frame.line:
        try:
            meta = msgspec.json.decode(frame.readable, type=_TracedPrompt).params.meta
        except (msgspec.MsgspecError, ValueError, RecursionError):
            meta = None
        traceparent = meta.traceparent if meta else None
    request_id = frame.message.request_id or b"null"
    facts = {} if traceparent is None else {"traceparent": short(traceparent)}
    entry = Entry(
        kind=Kind.PROMPT,
        at_seconds=link.now,
        session_id=turn.session.session_id,
        turn=turn.number,
        request_id=short(request_id.decode(errors="replace")),
        facts=facts,
    )
    return [Record(entry)]


def silence(link: Link, session: Session, seconds: int, cause: SilenceCause | None) -> Record:
    """Record that a turn has been silent this long, and why if that is known."""
    if cause is None:
        return record(link, Kind.SILENCE, session, silent_seconds=seconds)
    program = plain_program(cause.program)
    tool = session.tools.longest() if cause.cause is Cause.TOOL else None
    kind = tool.kind if tool is not None and tool.kind in acp.TOOL_KIND_NAMES else None
    return record(
        link,
        Kind.SILENCE,
        session,
        silent_seconds=seconds,
        cause=cause.cause.value,
        cause_seconds=max(round(link.now - cause.since), 0),
        program=link.redactor(program) if program else None,
        call=short(tool.call_id) if tool is not None else None,
        tool=kind,
        tries=cause.tries,
    )


def waits(turn: Turn) -> dict[str, int]:
    """Return how long a turn has waited in silence and for what, as facts of its end."""
    return {name: round(seconds) for name, seconds in turn.evidence.waits.items() if seconds >= 1}


def agent_ready(link: Link) -> Record:
    """Record that the agent has answered `initialize`."""
    return record(
        link,
        Kind.AGENT_READY,
        name=short(link.agent.name),
        version=short(link.agent.version),
        protocol_version=link.dialect.version,
    )


def failure(link: Link, error: AgentError, *, worded_by_us: bool = False) -> dict[str, Any]:
    """Return the facts of a failure, with its text only if the user allows that.

    Our own sentence adds nothing to the other facts, so it is left out.
    """
    payload = msgspec.structs.replace(error, extra=None).payload()
    dropped = ("message",) if worded_by_us else ()
    for member in dropped if link.options.record_text else _TEXT:
        payload.pop(member, None)
    return payload


def failed_turn(link: Link, turn: Turn, error: AgentError, facts: dict[str, Any]) -> Record:
    """Record that a turn failed, with its texts as content if notifications contain text."""
    made = record(link, Kind.ERROR, turn.session, turn, **facts)
    if not link.options.notify_content:
        return made
    detail = (error.detail or {}).get("text")
    texts = {"message": error.message, "detail": detail if isinstance(detail, str) else ""}
    content = {name: text[:MAX_CONTENT_CHARS] for name, text in texts.items() if text}
    return Record(msgspec.structs.replace(made.entry, content=content))


def costs(link: Link, session: Session, turn: int) -> list[Effect]:
    """Record what a turn has cost since the last such entry, in each currency."""
    stated = link.costs.get(session.session_id)
    unrecorded = stated.pop_unrecorded() if stated is not None else {}
    model = session.choices.model
    effects: list[Effect] = []
    for currency, amount in unrecorded.items():
        named = None if model is None else short(model)
        made = record(link, Kind.COST, session, amount=amount, currency=currency, model=named)
        effects.append(Record(msgspec.structs.replace(made.entry, turn=turn)))
    return effects


def spend_limit(link: Link, session: Session, spending: Spending, what: str) -> Record:
    """Record what happened to the user's spending limit."""
    return record(
        link,
        Kind.SPEND_LIMIT,
        session,
        what=what,
        spent=spending.spent(link.bill_of(session)),
        limit=spending.limit.amount,
        currency=spending.limit.currency,
        scope=spending.limit.scope,
    )


def failed_request(
    link: Link, request_id: bytes, request: OpenRequest, error: AgentError
) -> Record:
    entry = Entry(
        kind=Kind.ERROR,
        at_seconds=link.now,
        session_id=request.session_id,
        request_id=short(request_id.decode(errors="replace")),
        facts=failure(link, error, worded_by_us=True) | {"method": short(request.method)},
    )
    return Record(entry)


def before_end(link: Link, turn: Turn) -> list[Effect]:
    """Record a turn's costs and stderr, which come before its end."""
    session = turn.session
    return [*costs(link, session, turn.number), *stderr_burst(link, session, turn)]


def stderr_burst(link: Link, session: Session | None, turn: Turn | None = None) -> list[Record]:
    """Record what arrived on stderr since the last such entry."""
    count = link.stderr.pop_unrecorded()
    if not count:
        return []
    tail = None
    if link.options.record_text:
        tail = link.redactor(link.stderr.tail(link.stderr.total - count))[-STDERR_TAIL_CHARS:]
    return [record(link, Kind.STDERR, session, turn, bytes=count, tail=tail)]


def short(identifier: str) -> str:
    """Return a peer's id, cut to its bound."""
    return identifier[:MAX_ID_CHARS]
