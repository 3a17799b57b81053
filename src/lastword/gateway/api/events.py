"""Events from the entries of a session's log.

Owns what counts as content: only the frame, which is included on request. The facts are closed
sets of words, numbers, ids, and the names that programs give themselves. An event depends on its
entry alone, so it is the same whenever and however it is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.client.close_codes import plain
from lastword.core.failure.payload import read_payload, read_retry
from lastword.core.failure.sentences import sentence_of
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.core.timeline.entry import Kind, Level, level_of
from lastword.core.timeline.session_events import BY_WORD
from lastword.gateway.api.shapes import EventKind, EventLevel, SessionEvent
from lastword.gateway.log.entries import LogKind
from lastword.gateway.log.recorded_entries import recorded
from lastword.record.present.moments import moment

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import AgentError
    from lastword.gateway.log.entries import LogEntry, Numbered

MAX_NAME_CHARS = 128
"""As the record has it: of names, versions and ids that a peer chose."""

_WORD = re.compile(r"[a-z][a-z_/$]{0,63}", re.IGNORECASE)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

_KINDS = {Kind(kind.value): kind for kind in EventKind}
_LEVELS = {level: EventLevel(level.value) for level in Level}
"""Of the record, as the API has them."""

_LIFE_TEXTS = frozenset({"epoch", "source", "text", "word"})
"""The facts of `life` that may be text beside those of the record: words of ours, and the line that
tells of a wait, which is ours. Of every other fact only numbers are given, so that what is added to
an entry later does not give content away."""

Facts = dict[str, Any]


def event_of(numbered: Numbered, session_id: str, *, content: bool) -> SessionEvent:
    """Return the event of one entry, with its frame if `content` is set."""
    seq, entry = numbered
    kind, facts = _READERS[entry.kind](entry)
    about = entry.about
    is_turn = about.method == acp.PROMPT and entry.kind in {LogKind.IN, LogKind.END}
    return SessionEvent(
        seq=seq,
        kind=_KINDS[kind],
        level=_LEVELS[level_of(kind, facts)],
        at=moment(entry.at_ms),
        at_epoch_ms=entry.at_ms,
        at_seconds=entry.at_ms / 1000,
        session_id=session_id,
        turn=about.turn or None if is_turn else None,
        request_id=_name(about.request.decode(errors="replace")) if about.request else None,
        facts=facts,
        viewer=about.viewer or None,
        content=jsonrpc.loads(entry.frame) if content and entry.frame else UNSET,
    )


def failure_facts(error: AgentError) -> Facts:
    """Return a failure's facts, as the record has them without `--record-text`, and a sentence.

    The sentence is in lastword's words: an agent's may quote a prompt.
    """
    facts = msgspec.structs.replace(error, detail=None, extra=None).payload()
    del facts["message"]
    return facts | {"sentence": sentence_of(facts)}


def _out(entry: LogEntry) -> tuple[Kind, Facts]:
    frame = jsonrpc.decode(entry.frame)
    message = frame.message if isinstance(frame, jsonrpc.Frame) else None
    update = message.update if message else None
    if update is None:
        method = message.method if message else None
        return Kind.UPDATE, {"update": _word(method), "bytes": len(entry.frame)}
    kind = update.session_update
    if kind in acp.AGENT_RETRY_KINDS:
        return Kind.RETRY, _retry(entry)
    if kind in acp.TOOL_KINDS:
        known = {"call": _name(update.tool_call_id or "")}
        if update.status in acp.TOOL_ENDS:
            return Kind.TOOL_ENDED, known | {"status": update.status}
        if kind == "tool_call":
            tool = {"tool": update.kind} if update.kind in acp.TOOL_KIND_NAMES else {}
            return Kind.TOOL_STARTED, known | tool
    return Kind.UPDATE, {"update": _word(kind), "bytes": len(entry.frame)}


def _retry(entry: LogEntry) -> Facts:
    params = object_of(object_of(jsonrpc.loads(entry.frame)).get("params"))
    told = read_retry(object_of(params.get("update")))
    facts = {
        "type": told.error.type.value if told.error else None,
        "attempt": told.attempt,
        "max_attempts": told.max_attempts,
        "wait_seconds": told.wait_seconds,
        "source": "wire",
    }
    return {name: value for name, value in facts.items() if value is not None}


def _ask(entry: LogEntry) -> tuple[Kind, Facts]:
    about = entry.about
    question = {"question": about.number}
    if about.method in acp.USER_REQUESTS:
        what = "permission" if about.method == acp.PERMISSION else "form"
        return Kind.ASKED, {"what": what} | question
    what = "command" if about.method.startswith("terminal/") else "file"
    return Kind.DELEGATED, {"what": what, "method": _word(about.method)} | question


def _decided(entry: LogEntry) -> tuple[Kind, Facts]:
    _, facts = _as_recorded(entry)
    facts["question"] = entry.about.number
    answer = object_of(jsonrpc.loads(entry.frame)) if entry.frame else {}
    outcome = object_of(object_of(answer.get("result")).get("outcome")).get("outcome")
    if "error" in answer:
        facts["outcome"] = "error"
    elif outcome in {"selected", "cancelled"}:
        facts["outcome"] = outcome
    return Kind.QUESTION_DECIDED, facts


def _in(entry: LogEntry) -> tuple[Kind, Facts]:
    method = entry.about.method
    if method == acp.PROMPT:
        params = object_of(object_of(jsonrpc.loads(entry.frame)).get("params"))
        trace = object_of(params.get("_meta")).get("traceparent")
        known = isinstance(trace, str) and _TRACEPARENT.fullmatch(trace)
        return Kind.PROMPT, {"traceparent": trace} if known else {}
    if method in {acp.CANCEL, acp.CANCEL_REQUEST}:
        return Kind.CANCEL, {"by": "user"}
    return Kind.REQUEST, {"method": _word(method)}


def _end(entry: LogEntry) -> tuple[Kind, Facts]:
    about = entry.about
    frame = object_of(jsonrpc.loads(entry.frame))
    method = {} if about.method == acp.PROMPT else {"method": _word(about.method)}
    if about.failure is not None:
        return Kind.ERROR, failure_facts(read_payload(about.failure)) | {"by": "agent"}
    if "error" in frame:
        data = object_of(object_of(frame["error"]).get("data"))
        error = read_payload(object_of(data.get("agent_error")))
        return Kind.ERROR, failure_facts(error) | method
    if method:
        return Kind.RESULT, method
    reason = object_of(frame.get("result")).get("stopReason")
    told = {"stop_reason": reason} if reason in acp.STOP_REASONS else {}
    return Kind.ANSWER, told | {"by": "agent"}


def _life(entry: LogEntry) -> tuple[Kind, Facts]:
    about = entry.about
    facts: Facts = {"question": about.number} if about.number else {}
    for name, value in about.facts.items():
        if isinstance(value, str) and name in _LIFE_TEXTS:
            facts[name] = _name(value)
        elif isinstance(value, bool | int | float):
            facts[name] = value
    kind, recorded_facts = _as_recorded(entry)
    if kind is not None:
        facts.pop("status", None)  # of an agent's end, as exit_code or exit_signal
        return kind, facts | recorded_facts
    kind = BY_WORD.get(about.word, Kind.LIFE)
    if kind is Kind.LIFE:
        facts["word"] = _word(about.word)
    return kind, facts


def _as_recorded(entry: LogEntry) -> tuple[Kind | None, Facts]:
    """Return what the record has of an entry, if anything: its kind and the known facts."""
    told = recorded(entry, "", 0.0)
    if told is None:
        return None, {}
    facts = {
        name: _name(value) if isinstance(value, str) else value
        for name, value in told.facts.items()
        if value is not None and value != ""
    }
    return told.kind, facts


_READERS = {
    LogKind.OUT: _out,
    LogKind.ASK: _ask,
    LogKind.TOLD: _decided,
    LogKind.IN: _in,
    LogKind.END: _end,
    LogKind.LIFE: _life,
}


def _word(text: str | None) -> str:
    """Return a peer's value if it is a single word; a sentence might contain anything."""
    return text if text and _WORD.fullmatch(text) else "other"


def _name(text: str) -> str:
    return plain(text)[:MAX_NAME_CHARS]
