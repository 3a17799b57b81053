"""Events of a log: what is told of each entry, which part a request gets, how a session is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import GATEWAY, RECORDED, problems_of
from lastword.gateway.api.openapi import OPERATIONS, document
from lastword.gateway.api.requests import (
    MAX_SCANNED,
    EventQuery,
    ProblemError,
    Scan,
    count_report,
    failure_of,
    read_report,
    whole_page,
)
from lastword.gateway.api.shapes import (
    ClientEvent,
    ClientSource,
    EventKind,
    EventsPage,
    SessionState,
    ViewerCount,
)
from lastword.gateway.api.views import SessionDetails, event_of, view_of, visible
from lastword.gateway.log.entries import About, LogEntry, LogKind, Numbered
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import CursorError
from lastword.record.present.moments import moment
from tests.kit.rows import every

SECRET = "canary-of-the-conversation"
RATE_LIMIT = {
    "type": "rate_limit",
    "message": f"{SECRET} 429",
    "retryable": True,
    "action": "wait",
    "detail": {"text": SECRET},
    "reason": "too_fast",
    "x_theirs": SECRET,
}


def update(**members: Any) -> bytes:
    return jsonrpc.notification(acp.UPDATE, {"sessionId": "s", "update": members})


def chunk(text: str = SECRET) -> LogEntry:
    content = {"type": "text", "text": text}
    return out(update(sessionUpdate="agent_message_chunk", content=content))


def out(frame: bytes, at: int = 1) -> LogEntry:
    return LogEntry(LogKind.OUT, at, frame)


def asked_in(method: str = acp.PROMPT, number: int = 7, at: int = 1, **params: Any) -> LogEntry:
    frame = jsonrpc.request(b"1", method, {"sessionId": "s", "text": SECRET} | params)
    about = About(viewer="v", request=b"1", number=number, turn=2, method=method)
    return LogEntry(LogKind.IN, at, frame, about)


def ended(result: dict[str, Any], *, number: int = 7, at: int = 2, **about: Any) -> LogEntry:
    known = {"viewer": "v", "request": b"1", "number": number, "turn": 2, "method": acp.PROMPT}
    return LogEntry(LogKind.END, at, jsonrpc.result(b"7", result), About(**(known | about)))


def failed(at: int = 2) -> LogEntry:
    frame = jsonrpc.error(b"7", {"code": -1, "message": SECRET})
    return replace(ended({}, at=at, failure=dict(RATE_LIMIT)), frame=frame)


def life(word: str, /, at: int = 1, **facts: Any) -> LogEntry:
    return LogEntry(LogKind.LIFE, at, b"", About(viewer="v", word=word, facts=facts))


def question(method: str, number: int = 1, at: int = 1) -> LogEntry:
    frame = jsonrpc.request(b'"a"', method, {"sessionId": "s", "content": SECRET})
    return LogEntry(LogKind.ASK, at, frame, About(number=number, method=method))


def answered(answer: dict[str, Any], **about: Any) -> LogEntry:
    frame = msgspec.json.encode({"jsonrpc": "2.0", "id": 1} | answer)
    return LogEntry(LogKind.TOLD, 1, frame, About(number=1, word="viewer", **about))


TOOL = {"toolCallId": "call", "title": SECRET, "rawInput": {"command": SECRET}}
SELECTED = {"result": {"outcome": {"outcome": "selected", "optionId": SECRET}}}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

TOLD: list[tuple[LogEntry, str, dict[str, Any]]] = [
    (asked_in(), "prompt", {}),
    (asked_in(_meta={"traceparent": TRACE}), "prompt", {"traceparent": TRACE}),
    (asked_in(_meta={"traceparent": SECRET}), "prompt", {}),
    (asked_in(acp.CANCEL), "cancel", {"by": "user"}),
    (asked_in(acp.SET_MODE), "request", {"method": acp.SET_MODE}),
    (asked_in(f"{SECRET} method"), "request", {"method": "other"}),
    (ended({"stopReason": "end_turn"}), "answer", {"stop_reason": "end_turn", "by": "agent"}),
    (ended({"stopReason": SECRET}), "answer", {"by": "agent"}),
    (ended({}, method=acp.SET_MODE), "result", {"method": acp.SET_MODE}),
    (out(update(sessionUpdate="tool_call", kind="edit", **TOOL)), "tool_started",
     {"call": "call", "tool": "edit"}),
    (out(update(sessionUpdate="tool_call", kind=SECRET, **TOOL)), "tool_started", {"call": "call"}),
    (out(update(sessionUpdate="tool_call_update", status="failed", **TOOL)), "tool_ended",
     {"call": "call", "status": "failed"}),
    (out(update(sessionUpdate="agent_retry", attempt=2, max_attempts=5, wait_seconds=4,
                error={"type": "rate_limit", "message": SECRET})), "retry",
     {"type": "rate_limit", "attempt": 2, "max_attempts": 5, "wait_seconds": 4, "source": "wire"}),
    (question(acp.PERMISSION), "asked", {"what": "permission", "question": 1}),
    (question(acp.ELICITATION), "asked", {"what": "form", "question": 1}),
    (question(acp.WRITE_FILE), "delegated",
     {"what": "file", "method": acp.WRITE_FILE, "question": 1}),
    (question(acp.TERMINAL_CREATE), "delegated",
     {"what": "command", "method": acp.TERMINAL_CREATE, "question": 1}),
    (answered(SELECTED, method=acp.PERMISSION), "question_decided",
     {"question": 1, "what": "permission", "how": "answered", "outcome": "selected"}),
    (answered({"error": {"code": 1, "message": SECRET}}), "question_decided",
     {"question": 1, "how": "answered", "outcome": "error"}),
    (answered({"result": {"content": SECRET}}), "question_decided",
     {"question": 1, "how": "answered"}),
    (LogEntry(LogKind.TOLD, 1, b"", About(number=1, word="lost")), "question_decided",
     {"question": 1, "how": "lost"}),
    (answered({}, method="fs/read_text_file"), "question_decided",
     {"question": 1, "what": "file", "how": "answered"}),
    (answered({}, method="terminal/create"), "question_decided",
     {"question": 1, "what": "command", "how": "answered"}),
    (answered({}, method="own/method"), "question_decided",
     {"question": 1, "what": "other", "how": "answered"}),
    (LogEntry(LogKind.TOLD, 1, b"", About(number=1, word="policy", facts={"why": "expired"})),
     "question_decided", {"question": 1, "how": "expired"}),
    (LogEntry(LogKind.LIFE, 1, b"", About(number=1, method=acp.PERMISSION, word="question_held")),
     "question_held", {"question": 1, "what": "permission"}),
    (life("viewer_came", after=3, role="observer", client="zed", back=True), "viewer_came",
     {"viewer": "v", "after": 3, "role": "observer", "client": "zed", "back": True}),
    (life("viewer_left", code=1006, cause=SECRET, pos=4), "viewer_left",
     {"viewer": "v", "code": 1006, "cause": "link_cut", "pos": 4}),
    (life("viewer_lags", entries=5, bytes=6), "viewer_lags",
     {"viewer": "v", "entries": 5, "bytes": 6}),
    (life("viewer_caught_up"), "viewer_caught_up", {"viewer": "v"}),
    (life("gap_told", first=1, last=2, reason="trimmed"), "gap_told",
     {"viewer": "v", "first": 1, "last": 2, "reason": "trimmed"}),
    (life("agent_ended", status=3, exit_code=3), "supervisor_exited", {"exit_code": 3}),
        (life("agent_ended", status=-9, exit_signal="SIGKILL"), "supervisor_exited",
     {"exit_signal": "SIGKILL"}),
    (life("holder_died", open_turns=1, incident_id="i-1"), "holder_died",
     {"open_turns": 1, "incident_id": "i-1"}),
    (life("restored", history="full"), "session_restored", {"history": "full"}),
    (life("not_restored", type="auth", reason="expired"), "session_not_restored",
     {"type": "auth", "reason": "expired"}),
    (life("log_reset", reason="disk", first=9), "log_reset", {"reason": "disk", "first": 9}),
    (life("session_ended", cause="closed"), "session_ended", {"cause": "closed"}),
    (life("client_error", source="page", word="stalled", status=502, code=4408), "client_error",
     {"source": "page", "word": "stalled", "status": 502, "code": 4408}),
    (life("something_new", said=SECRET, often=2), "life", {"often": 2, "word": "something_new"}),
]  # fmt: skip


@every(("entry", "kind", "facts"), TOLD)
def test_an_entry_is_described_by_words_and_numbers(
    entry: LogEntry, kind: str, facts: dict[str, Any]
) -> None:
    event = event_of(Numbered(5, entry), "s", content=False)
    assert (event.seq, event.kind, event.facts) == (5, kind, facts)
    assert SECRET not in msgspec.json.encode(event).decode()
    assert event.at_seconds * 1000 == event.at_epoch_ms
    assert event.at == moment(event.at_epoch_ms)
    assert event.at.endswith("Z")


def test_an_event_of_a_kind_of_the_records_has_its_level_and_its_facts() -> None:
    kinds = {each.value: each for each in Kind}
    found = set()
    for entry, kind, _ in TOLD:
        event = event_of(Numbered(5, entry), "s", content=False)
        if kinds[kind] in RECORDED:
            found.add(kind)
            own = {"question", "outcome", "after", "pos", "method"}
            kept = {name: value for name, value in event.facts.items() if name not in own}
            told = Entry(kind=kinds[kind], at_seconds=0.0, facts=kept)
            wrong = [each for each in problems_of(told) if entry.about.word != "log_reset"]
            assert (wrong, event.level) == ([], told.level.value)
    of_no_log = {"session_held", "session_fenced"}
    assert {each.value for each in GATEWAY} - found == of_no_log


def test_an_update_is_described_by_its_kind_and_its_size() -> None:
    for entry, word in (
        (chunk(), "agent_message_chunk"),
        (out(update(sessionUpdate=f"{SECRET} kind")), "other"),
        (out(jsonrpc.notification("_theirs/progress", {"text": SECRET})), "_theirs/progress"),
        (out(b"no frame at all"), "other"),
    ):
        told = event_of(Numbered(1, entry), "s", content=False)
        assert told.kind is EventKind.UPDATE
        wanted = "other" if word.startswith("_") else word
        assert told.facts == {"update": wanted, "bytes": len(entry.frame)}


def test_a_failure_is_described_by_its_type_and_our_own_sentence() -> None:
    event = event_of(Numbered(1, failed()), "s", content=False)
    assert event.kind is EventKind.ERROR
    assert SECRET not in msgspec.json.encode(event).decode()
    assert event.facts["type"] == "rate_limit"
    assert event.facts["reason"] == "too_fast"
    assert event.facts["sentence"].endswith(".")
    assert event.turn == 2
    older = ended({}, turn=0)
    assert event_of(Numbered(1, older), "s", content=False).turn is None
    whole = event_of(Numbered(1, failed()), "s", content=True)
    assert SECRET in msgspec.json.encode(whole).decode()
    frame = jsonrpc.error(b"8", {"code": -32602, "message": SECRET})
    request = replace(ended({}, method=acp.SET_MODE), frame=frame)  # no turn's
    event = event_of(Numbered(1, request), "s", content=False)
    assert (event.kind, event.turn) == (EventKind.ERROR, None)
    assert event.facts["method"] == acp.SET_MODE
    assert SECRET not in msgspec.json.encode(event).decode()


# Pages.


def log_of(*entries: LogEntry) -> MemoryLog:
    log = MemoryLog(epoch="abc")
    log.append(entries)
    return log


def all_pages(log: MemoryLog, query: EventQuery) -> list[EventsPage]:
    pages = [whole_page(log, "s", query)]
    while pages[-1].more:
        epoch, _, seq = pages[-1].after.rpartition(":")
        query = replace(query, epoch=epoch, seq=int(seq))
        pages.append(whole_page(log, "s", query))
    return pages


@pytest.mark.parametrize("limit", [1, 3, 64, 1000])
def test_pages_give_each_event_once_and_in_order(limit: int) -> None:
    log = log_of(*(chunk(str(number)) for number in range(200)))
    pages = all_pages(log, EventQuery(limit=limit, content=True))
    assert [event.seq for page in pages for event in page.events] == list(range(1, 201))
    assert all(len(page.events) <= limit for page in pages)
    assert pages[-1].after == "abc:200"


def test_a_page_with_content_is_bounded_and_a_larger_entry_comes_alone() -> None:
    log = log_of(chunk("x" * 700_000), chunk("x" * 700_000), chunk("x" * 3_000_000), chunk())
    pages = all_pages(log, EventQuery(content=True))
    assert [len(page.events) for page in pages] == [1, 1, 1, 1]
    assert len(all_pages(log, EventQuery())) == 1


def test_a_rare_kind_is_sought_in_several_requests() -> None:
    log = log_of(*[chunk("")] * MAX_SCANNED, failed())
    first, second = all_pages(log, EventQuery(kinds=frozenset({EventKind.ERROR})))
    assert (first.events, first.more) == ([], True)
    assert [event.seq for event in second.events] == [MAX_SCANNED + 1]


def test_trimmed_entries_are_a_gap_only_for_readers_that_asked_for_them() -> None:
    log = log_of(*(chunk(str(number)) for number in range(20)))
    log.trim(limit_bytes=log.size_bytes // 2)
    page = whole_page(log, "s", EventQuery(epoch="abc", seq=2))
    assert not isinstance(page.gap, msgspec.UnsetType)
    assert (page.gap.first, page.gap.last) == (3, log.first - 1)
    assert page.events[0].seq == log.first
    assert whole_page(log, "s", EventQuery()).gap is msgspec.UNSET
    reset = whole_page(log, "s", EventQuery(epoch="other", seq=2))
    assert (reset.reset, reset.gap, reset.first) == (True, msgspec.UNSET, log.first)


def test_a_gap_that_opens_while_a_page_is_read_begins_the_next_one() -> None:
    log = log_of(*(chunk(str(number)) for number in range(400)))
    scan = Scan(log, "s", EventQuery())
    assert not scan.step()
    log.trim(limit_bytes=log.size_bytes // 2)
    assert scan.step()
    page = scan.page()
    assert [event.seq for event in page.events] == list(range(1, 65))
    assert (page.gap, page.after, page.more) == (msgspec.UNSET, "abc:64", True)
    scan = Scan(log, "s", EventQuery(epoch="abc", seq=64, kinds=frozenset({EventKind.ERROR})))
    assert not scan.step()
    began = log.first
    log.trim(limit_bytes=log.size_bytes // 3)
    assert scan.step(), "nor are two gaps in one page"
    page = scan.page()
    assert not isinstance(page.gap, msgspec.UnsetType)
    assert (page.gap.first, page.gap.last, page.after) == (65, began - 1, f"abc:{began + 63}")


def test_a_cursor_ahead_of_the_log_is_refused() -> None:
    with pytest.raises(CursorError):
        Scan(log_of(chunk()), "s", EventQuery(epoch="abc", seq=2))
    page = whole_page(log_of(), "s", EventQuery())
    assert (page.first, page.head, page.after, page.events) == (1, 0, "abc:0", [])


def test_a_scan_stops_where_the_epoch_changes() -> None:
    log = log_of(*(chunk() for _ in range(200)))
    scan = Scan(log, "s", EventQuery())
    assert not scan.step()
    log.epoch = "def"
    assert scan.step()
    page = scan.page()
    assert page.epoch == "abc"
    assert len(page.events) == 64
    assert scan.is_news


# Sessions.


def state_of(*entries: LogEntry, **known: Any) -> tuple[SessionState, int]:
    view = view_of(log_of(*entries), SessionDetails(id="s", **known))
    return view.state, view.since_epoch_ms


def test_a_session_is_as_its_last_entries_say() -> None:
    came = life("viewer_came", at=1)
    done = ended({"stopReason": "end_turn"}, at=3)
    assert state_of() == (SessionState.IDLE, 0)
    assert state_of(came) == (SessionState.IDLE, 1)
    assert state_of(came, asked_in(at=2)) == (SessionState.RUNNING, 2)
    assert state_of(came, asked_in(at=2), done) == (SessionState.IDLE, 3)
    asking = (came, asked_in(at=2), question(acp.PERMISSION, at=4))
    assert state_of(*asking) == (SessionState.WAITING_FOR_ANSWER, 4)
    failing = (asked_in(at=2), failed(at=5))
    assert state_of(*failing) == (SessionState.FAILED, 5)
    assert state_of(*failing, asked_in(number=9, at=6)) == (SessionState.RUNNING, 6)
    working = out(update(sessionUpdate="state_update", state="running"), at=8)
    assert state_of(came, working) == (SessionState.RUNNING, 8)
    resting = out(update(sessionUpdate="state_update", state="idle"), at=9)
    assert state_of(came, working, resting)[0] is SessionState.IDLE
    assert state_of(*asking, ended_ms=10) == (SessionState.ENDED, 10)
    assert state_of(*asking, lost_ms=11) == (SessionState.LOST, 11)


def test_the_last_failure_stays_visible_after_successful_turns() -> None:
    log = log_of(asked_in(), failed(at=5), ended({"stopReason": "end_turn"}, number=9, at=6))
    view = view_of(log, SessionDetails(id="s"))
    assert view.state is SessionState.IDLE
    assert view.last_failure is not None
    assert (view.last_failure.type, view.last_failure.at_epoch_ms) == ("rate_limit", 5)
    assert (view.last_failure.seq, view.last_failure.retryable) == (2, True)
    assert view.last_failure.recovered
    assert SECRET not in view.last_failure.sentence
    # One that its agent could not restore has failed.
    refused = {"code": 1, "message": "no", "data": {"agent_error": {"type": "agent_crash"}}}
    view = view_of(log_of(life("holder_died", at=4)), SessionDetails(id="s", refused=refused))
    assert view.state is SessionState.FAILED
    assert view.last_failure is not None
    assert view.last_failure.type == "agent_crash"


def test_title_and_folder_are_shown_only_to_viewers_with_the_right() -> None:
    log = log_of(out(update(sessionUpdate="session_info_update", title=SECRET)))
    agent = {"name": "opencode", "version": 7}
    known = SessionDetails(id="s", cwd="/w", agent=agent, viewers=ViewerCount(1, 2))
    view = view_of(log, known)
    assert view.agent is not None
    assert (view.agent.name, view.agent.version) == ("opencode", None)
    whole = msgspec.to_builtins(visible(view, controls=True, content=True))
    assert (whole["title"], whole["cwd"]) == (SECRET, "/w")
    without = msgspec.to_builtins(visible(view, controls=True, content=False))
    assert "title" not in without
    assert without["cwd"] == "/w"
    observed = msgspec.to_builtins(visible(view, controls=False, content=False))
    assert not {"title", "cwd"} & observed.keys()


# Reports, and the document.


def test_a_report_is_small_and_has_no_place_for_a_text() -> None:
    assert read_report(b'{"source":"page","word":"stalled"}').source is ClientSource.PAGE
    for body, status in (
        (b"", 400),
        (b"\xff", 400),
        (b"[]", 400),
        (b'{"source":"page","word":"stalled","text":"x"}', 400),
        (b'{"source":"page","word":"a sentence"}', 400),
        (b" " * 5000, 413),
    ):
        with pytest.raises(ProblemError) as caught:
            read_report(body)
        assert caught.value.status == status


def test_a_report_without_a_session_is_a_failure_of_its_words_type() -> None:
    told = failure_of(ClientEvent(source=ClientSource.PAGE, word="unauthorized", status=401))
    assert told == {"type": "auth", "reason": "unauthorized", "by": "page", "http_status": 401}
    told = failure_of(ClientEvent(source=ClientSource.CONNECT, word="gave_up", tries=6))
    assert told == {"type": "unknown", "reason": "gave_up", "by": "connect", "attempts": 6}
    counts: Counter[str] = Counter()
    for number in range(300):
        count_report(counts, ClientEvent(source=ClientSource.PAGE, word=f"w{number}"))
    assert len(counts) == 257
    assert counts["other"] == 44


def test_the_document_names_every_operation_and_shape_that_it_refers_to() -> None:
    told = msgspec.json.decode(document("c"))
    assert told["openapi"] == "3.1.0"
    found = {(path, method) for path, methods in told["paths"].items() for method in methods}
    assert found == {(each.path, each.method.lower()) for each in OPERATIONS}
    text = document("c").decode()
    for name in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in told["components"]["schemas"]
