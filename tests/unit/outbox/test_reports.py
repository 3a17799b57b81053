"""Reports: what they say of a failure, what they never say, and how they look on the wire."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from lastword.core.timeline.entry import Kind
from lastword.outbox import report, sender
from lastword.outbox.report import FailureReport, ReportWriter, facts_of
from lastword.record.sink import StoreSink
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.recording import FOR_EVER, Book, a_run
from tests.kit.reports_made import a_report
from tests.kit.rows import every

WORDS = "Please write a poem about my cat"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def reports_of(book: Book) -> list[FailureReport]:
    return ReportWriter(a_run()).receive(book.rows)


def attributes(body: bytes) -> dict[str, Any]:
    (record,) = json.loads(body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    return {each["key"]: next(iter(each["value"].values())) for each in record["attributes"]}


def test_each_failure_gives_one_report_and_nothing_else_does() -> None:
    book = Book()
    book.ok("s", 1)
    book.failed("s", 2)
    book.note(Kind.CONTEXT_LOST, "s", why="timeout")
    book.note(Kind.AGENT_EXITED, exit_code=1)
    (report,) = reports_of(book)
    assert (report.what, report.turn) == ("turn", 2)
    assert report.facts["type"] == "rate_limit"
    book.failed("s", 3)
    again, other = reports_of(book)
    assert again.report_id == report.report_id != other.report_id


def test_a_request_that_fails_before_the_agent_is_ready_is_a_failed_start() -> None:
    book = Book()
    book.note(Kind.ERROR, type="agent_crash", method="initialize")
    book.note(Kind.AGENT_READY, name="An Agent", version="1.2")
    book.note(Kind.ERROR, type="auth", method="session/new")
    start, request = reports_of(book)
    assert (start.what, start.agent) == ("start", "")
    assert (request.what, request.agent, request.agent_version) == ("request", "An Agent", "1.2")


def test_no_words_are_reported_even_if_the_record_keeps_them() -> None:
    book = Book()
    book.note(Kind.PROMPT, WORDS, 1, traceparent=WORDS)
    book.note(
        Kind.ERROR,
        WORDS,
        1,
        type="auth",
        message=WORDS,
        detail={"text": WORDS},
        reason=WORDS,
        provider_code=WORDS,
        method=WORDS,
        source=WORDS,
        redactions={WORDS: 1},
    )
    (report,) = reports_of(book)
    assert WORDS not in msgspec.json.encode(report).decode()
    assert WORDS not in sender.body_of(report).decode()
    assert report.facts["reason"] == "other"


@every("canary", [*CANARIES.values(), *NAMED_CANARIES.values()])
def test_no_secret_is_reported_in_any_place(canary: str) -> None:
    taken: list[Any] = []
    sink = SimpleNamespace(is_stored=True, send=taken.extend, wake=int, close=int)
    book = Book()
    book.note(Kind.AGENT_READY, name=canary, version=canary)
    book.note(Kind.CLIENT_ATTACHED, name=canary, version=canary)
    book.note(Kind.ERROR, canary, 1, type="auth", provider_code=canary, source=canary, rule=canary)
    StoreSink(None, a_run(), FOR_EVER, reports=sink).send(book.rows)
    (report,) = ReportWriter(a_run()).receive(taken)
    said = sender.body_of(report).decode() + msgspec.json.encode(report).decode()
    secret = canary if canary in CANARIES.values() else PLAIN
    assert secret not in said


@pytest.mark.parametrize(
    ("name", "value"),
    [("exit_code", True), ("exit_code", float("nan")), ("exit_code", 2**60), ("attempts", "3"),
     ("retryable", "yes"), ("retryable", 1), ("type", ""), ("type", None), ("unheard_of", "x")],
)  # fmt: skip
def test_an_invalid_fact_is_left_out(name: str, value: object) -> None:
    assert facts_of({name: value}) == {}


def test_a_log_record_has_otlps_fields_and_conventional_names() -> None:
    report = msgspec.structs.replace(
        a_report(7, http_status=429, attempts=3, exit_code=0),
        at_epoch_ms=1_795_000_000_123,
        traceparent=TRACE,
        session="abc",
        turn=0,
    )
    body = json.loads(sender.body_of(report))
    (record,) = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert record["timeUnixNano"] == "1795000000123000000"
    assert record["severityNumber"] == 17
    assert record["traceId"] == TRACE.split("-")[1]
    assert record["spanId"] == TRACE.split("-")[2]
    assert record["body"] == {"stringValue": "turn failed: rate_limit"}
    known = attributes(sender.body_of(report))
    assert known["error.type"] == "rate_limit"
    assert known["lastword.retryable"] is True
    assert known["http.response.status_code"] == "429"  # 64 bits are a text
    assert known["lastword.turn"] == "0"
    assert known["process.exit.code"] == "0"
    assert known["lastword.report_id"] == report.report_id


def test_the_clients_span_is_the_reports() -> None:
    book = Book()
    book.note(Kind.PROMPT, "s", 1, traceparent=TRACE)
    book.note(Kind.ERROR, "s", 1, type="auth")
    book.note(Kind.ERROR, "s", 2, type="auth")
    traced, other = reports_of(book)
    assert traced.traceparent == TRACE
    assert other.traceparent == ""
    for turn in range(1000):
        book.note(Kind.PROMPT, "s", turn, traceparent=TRACE)
    for turn in range(1000):
        book.note(Kind.ERROR, "s", turn, type="auth")
    assert sum(bool(report.traceparent) for report in reports_of(book)[2:]) == 256, "a bound"


def test_a_sessions_id_cannot_be_recovered() -> None:
    book = Book()
    book.failed("session-of-ada", 1)
    book.failed("session-of-ada", 2)
    book.failed("another", 3)
    first, second, third = reports_of(book)
    assert first.session == second.session != third.session
    assert "ada" not in sender.body_of(first).decode()


def test_a_webhooks_signature_is_the_standards() -> None:
    # The example of the Standard Webhooks specification's own libraries.
    secret = report.secret_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = report.headers_of(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', secret, 1614265330
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    # Another secret signs as it is, and none signs nothing.
    assert report.secret_of(" mine \n") == b"mine"
    assert report.secret_of("whsec_no base64!") == b"whsec_no base64!"
    assert report.headers_of("id", b"{}", b"", 5) == {"webhook-id": "id", "webhook-timestamp": "5"}
