"""What the events API shows of a session: its state, and the events of its log.

A session in the list: its state, since when, and its last failure. Owns how the state is derived
from the log's pinned entries, so that a session whose process died is described in the same way as
a running one.

Events from the entries of a session's log. Owns what counts as content: only the frame, which is
included on request. The facts are closed sets of words, numbers, ids, and the names that programs
give themselves. An event depends on its entry alone, so it is always the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.client.close_codes import plain
from lastword.core.failure.payload import read_payload, read_retry
from lastword.core.failure.sentences import own_sentence, sentence_of
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind, Level, level_of
from lastword.core.timeline.session_events import BY_WORD
from lastword.gateway.api.shapes import (
    ActivityWord,
    AgentNamed,
    EventKind,
    EventLevel,
    LastFailure,
    OtherGateway,
    SessionEvent,
    SessionState,
    SessionView,
    ViewerCount,
)
from lastword.gateway.log.entries import LogKind, recorded
from lastword.gateway.log.files import owner_of
from lastword.gateway.log.session_log import reading
from lastword.record.present.moments import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.failure.taxonomy import AgentError
    from lastword.gateway.log.entries import LogEntry, Numbered
    from lastword.gateway.log.files import LogOwner
    from lastword.gateway.log.session_log import StoredLog
    from lastword.gateway.log.store import ReadableLog


MAX_TITLE_CHARS = 500


class SessionDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a session beside its entries.

    Attributes:
        id: its id.
        agent: the agent's own description, as in the result of `initialize`.
        cwd: its working directory.
        viewers: its viewers.
        refused: the error object of an agent that could not resume it.
        ended_ms: when it ended; 0 if it has not.
        lost_ms: when its lost process last ran; 0 if it is running or has ended.
        gateway: the other gateway that has it.
        activity: what the agent does without a turn.
    """

    id: str
    agent: dict[str, Any] = {}
    cwd: str | None = None
    viewers: ViewerCount = ViewerCount()
    refused: dict[str, Any] | None = None
    ended_ms: int = 0
    lost_ms: int = 0
    gateway: OtherGateway | None = None
    activity: str = ""


def view_of(log: ReadableLog, facts: SessionDetails) -> SessionView:
    """Return the session, including what only some may see; `visible` removes that."""
    ends = [each for each in log.pins.of("end:") if each.entry.about.method == acp.PROMPT]
    failed = next((each for each in reversed(ends) if each.entry.about.failure), None)
    updates: dict[str, tuple[Numbered, dict[str, Any]]] = {}
    for kept in log.pins.of("state:"):
        params = object_of(object_of(jsonrpc.loads(kept.entry.frame)).get("params"))
        update = object_of(params.get("update"))
        updates[str(update.get("sessionUpdate"))] = (kept, update)
    # In version 2 of the protocol, an update says that the agent is working.
    working, update = updates.get(acp.STATE_UPDATE, (None, {}))
    if not isinstance(update.get("state"), str) or update["state"] == acp.IDLE:
        working = None
    state, since = _state(log, facts, ends, working)
    _, info = updates.get("session_info_update", (None, {}))
    title = info.get("title")
    name, version = facts.agent.get("name"), facts.agent.get("version")
    continues_at: Any = UNSET
    if not facts.ended_ms:
        for pinned in log.pins.of("wait:"):
            continues_at = pinned.entry.about.facts.get("until_epoch_ms")
            break
    return SessionView(
        id=facts.id,
        state=state,
        since_epoch_ms=since,
        agent=AgentNamed(_short(name) or "", _short(version)) if _short(name) else None,
        viewers=facts.viewers,
        questions=len(log.pins.of("ask:")) if not facts.ended_ms else 0,
        epoch=log.epoch,
        head=log.head,
        first=max(log.first, 1),
        last_failure=_last_failure(facts, failed, ends, since),
        title=title[:MAX_TITLE_CHARS] if isinstance(title, str) else None,
        cwd=facts.cwd,
        gateway=facts.gateway or UNSET,
        activity=ActivityWord(facts.activity) if facts.activity else UNSET,
        continues_at_epoch_ms=continues_at if isinstance(continues_at, int) else UNSET,
    )


def visible(view: SessionView, *, controls: bool, content: bool) -> SessionView:
    """Return what a given requester may see of it."""
    return msgspec.structs.replace(
        view,
        title=view.title if controls and content else UNSET,
        cwd=view.cwd if controls else UNSET,
        gateway=view.gateway if controls else UNSET,
        node=view.node if controls else UNSET,
    )


def _state(
    log: ReadableLog,
    facts: SessionDetails,
    ends: Sequence[Numbered],
    working: Numbered | None,
) -> tuple[SessionState, int]:
    if facts.ended_ms:
        return SessionState.ENDED, facts.ended_ms
    if facts.lost_ms:
        return SessionState.LOST, facts.lost_ms
    asks = log.pins.of("ask:")
    if asks:
        return SessionState.WAITING_FOR_ANSWER, asks[0].entry.at_ms
    prompts = [each for each in log.pins.of("open:") if each.entry.about.method == acp.PROMPT]
    prompts += [working] if working is not None else []
    if prompts:
        return SessionState.RUNNING, prompts[0].entry.at_ms
    is_failed = facts.refused is not None or bool(ends and ends[-1].entry.about.failure)
    state = SessionState.FAILED if is_failed else SessionState.IDLE
    if ends:
        return state, ends[-1].entry.at_ms
    oldest = log.read(log.first - 1, max_entries=1)
    return state, oldest[0].entry.at_ms if oldest else 0


def _last_failure(
    facts: SessionDetails, end: Numbered | None, ends: Sequence[Numbered], since: int
) -> LastFailure | None:
    payload = end.entry.about.failure if end is not None else None
    at_ms, seq = (end.entry.at_ms, end.seq) if end is not None else (since, 0)
    if facts.refused is not None:
        payload = object_of(object_of(facts.refused.get("data")).get("agent_error"))
        at_ms, seq = since, 0
    if payload is None:
        return None
    error = read_payload(payload)
    return LastFailure(
        type=error.type,
        sentence=own_sentence(error.type, error.action, error.reason),
        retryable=error.retryable,
        at_epoch_ms=at_ms,
        reason=error.reason,
        action=error.action,
        incident_id=error.incident_id,
        seq=seq,
        recovered=facts.refused is None and not ends[-1].entry.about.failure,
    )


def _short(text: object) -> str | None:
    return text[:MAX_NAME_CHARS] if isinstance(text, str) and text else None


MAX_NAME_CHARS = 128
"""The record's limit for names, versions and ids that a peer chose."""

_WORD = re.compile(r"[a-z][a-z_/$]{0,63}", re.IGNORECASE)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

_KINDS = {Kind(kind.value): kind for kind in EventKind}
_LEVELS = {level: EventLevel(level.value) for level in Level}
"""The API's kinds and levels, by the record's."""

_LIFE_TEXTS = frozenset({"epoch", "source", "text", "word"})
"""The facts of `life` that may be text, besides those of the record: our own words, and our line
about a wait. Other facts are given only if they are numbers, so that a fact that is added to an
entry later reveals no content."""

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
    """Return a failure's facts, as recorded without `--record-text`, and lastword's sentence.

    The agent's sentence may quote a prompt.
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
    retry = read_retry(object_of(params.get("update")))
    facts = {
        "type": retry.error.type.value if retry.error else None,
        "attempt": retry.attempt,
        "max_attempts": retry.max_attempts,
        "wait_seconds": retry.wait_seconds,
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
    stop = {"stop_reason": reason} if reason in acp.STOP_REASONS else {}
    return Kind.ANSWER, stop | {"by": "agent"}


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
    """Return an entry's kind and facts in the record; `None` if the record does not have it."""
    row = recorded(entry, "", 0.0)
    if row is None:
        return None, {}
    facts = {
        name: _name(value) if isinstance(value, str) else value
        for name, value in row.facts.items()
        if value is not None and value != ""
    }
    return row.kind, facts


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


def view_in(path: str) -> SessionView:
    """Return the session of a log that has no holder.

    Raises:
        FileNotFoundError: There is none.
        StoreError: It cannot be read.
    """
    owner = owner_of(path)
    return reading(path, lambda log: stored_view(log, owner))


def stored_view(log: StoredLog, owner: LogOwner | None = None) -> SessionView:
    """Return the session of a log, which another gateway's process may own."""
    ended = _object(log.remembered("ended")).get("at_ms")
    # A full disk stores no end; then the log was closed, and not left to a later process.
    is_closed = log.facts.get("clean") == "1" and owner is None and not log.remembered("left")
    is_over = isinstance(ended, int) or is_closed
    cwd = _object(log.remembered("params")).get("cwd")
    return view_of(
        log,
        SessionDetails(
            id=log.remembered("id"),
            agent=_object(log.remembered("agent")),
            cwd=cwd if isinstance(cwd, str) else None,
            ended_ms=ended if isinstance(ended, int) else (log.last_ms if is_over else 0),
            lost_ms=0 if is_over or owner is not None else log.last_ms or 1,
            gateway=OtherGateway(owner.pid, owner.address) if owner and not is_over else None,
        ),
    )


def _object(text: str) -> dict[str, Any]:
    return object_of(jsonrpc.loads(text.encode()))
