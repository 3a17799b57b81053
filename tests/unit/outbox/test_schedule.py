"""The schedule: what an answer means, and when a report is tried again."""

from __future__ import annotations

import json

import pytest

from lastword.outbox.post import (
    MAX_REQUESTED_SECONDS,
    CollectorAnswer,
    Fate,
    fate_of,
    is_due,
    requested_wait,
    wait_seconds,
)
from tests.kit.rows import every

NOW = 1_795_000_000.0
DAY_MS = 24 * 3600 * 1000


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_success_status_means_delivered(status: int) -> None:
    assert fate_of(CollectorAnswer(status), is_otlp=True) == (Fate.DELIVERED, "")
    assert fate_of(CollectorAnswer(status, b"thanks!"), is_otlp=False) == (Fate.DELIVERED, "")


@every("status", [400, 401, 403, 404, 405, 410, 413, 422, 451, 499])
def test_a_report_that_is_refused_for_good_is_never_retried(status: int) -> None:
    assert fate_of(CollectorAnswer(status), is_otlp=True)[0] is Fate.REFUSED


@every("status", [408, 425, 429, 500, 501, 502, 503, 504, 599, 0, 101, 999])
def test_a_transient_failure_is_retried(status: int) -> None:
    assert fate_of(CollectorAnswer(status), is_otlp=True)[0] is Fate.FAILED


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_temporary_failure(status: int) -> None:
    assert fate_of(CollectorAnswer(status), is_otlp=False)[0] is Fate.FAILED


@pytest.mark.parametrize("body", [b"", b" \n", b"{}", b'{"partialSuccess":{}}', b'{"new":1}'])
def test_a_collector_may_accept_a_report_in_these_ways(body: bytes) -> None:
    assert fate_of(CollectorAnswer(200, body), is_otlp=True) == (Fate.DELIVERED, "")


@pytest.mark.parametrize("body", [b"<html>Log in", b"[" * 100_000, b"\xff\xfe", b"[]", b"{", b"7"])
def test_a_page_in_the_collectors_place_is_a_failure(body: bytes) -> None:
    assert fate_of(CollectorAnswer(200, body), is_otlp=True)[0] is Fate.FAILED


@pytest.mark.parametrize("count", [1, "1"])
def test_a_report_that_the_collector_rejects_is_not_retried(count: object) -> None:
    body = json.dumps({"partialSuccess": {"rejectedLogRecords": count, "errorMessage": "x"}})
    assert fate_of(CollectorAnswer(200, body.encode()), is_otlp=True)[0] is Fate.REFUSED


def test_a_warning_beside_a_success_rejects_nothing() -> None:
    body = b'{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"a warning"}}'
    assert fate_of(CollectorAnswer(200, body), is_otlp=True)[0] is Fate.DELIVERED


def test_waits_double_from_one_second_up_to_five_minutes() -> None:
    waits = [wait_seconds(failures, None, 0.5) for failures in range(1, 12)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert wait_seconds(10**9, None, 1.0) == 300


def test_jitter_is_a_quarter_at_most() -> None:
    assert wait_seconds(3, None, 0.0) == 3
    assert wait_seconds(3, None, 1.0) == 5


@every(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("99999999", MAX_REQUESTED_SECONDS),
        ("9" * 5000, MAX_REQUESTED_SECONDS),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("²", None),
        ("Wed, 99 Foo 2026 99:99:99 GMT", None),
    ],
)
def test_the_wait_that_the_collector_requests_is_read(header: str, seconds: float | None) -> None:
    assert requested_wait(CollectorAnswer(503, b"", header), NOW) == seconds


def test_a_date_is_read_by_the_collectors_own_clock() -> None:
    until, theirs = "Thu, 19 Nov 2026 10:01:30 GMT", "Thu, 19 Nov 2026 10:00:00 GMT"
    assert requested_wait(CollectorAnswer(503, b"", until, theirs), 0.0) == 90.0
    assert requested_wait(CollectorAnswer(503, b"", theirs, until), 0.0) == 0.0


def test_a_date_without_the_collectors_clock_is_read_by_ours() -> None:
    answer = CollectorAnswer(503, b"", "Thu, 01 Jan 1970 00:01:30 GMT", "")
    assert requested_wait(answer, 60.0) == 30.0
    assert requested_wait(answer, NOW) == 0.0
    assert requested_wait(CollectorAnswer(503, b"", "Fri, 01 Jan 9999 00:00:00 GMT"), NOW) == (
        MAX_REQUESTED_SECONDS
    )


def test_the_collectors_wait_is_a_minimum() -> None:
    assert wait_seconds(1, 60.0, 0.5) == 60.0
    assert wait_seconds(7, 1.0, 0.5) == 64.0
    assert wait_seconds(1, 3600.0, 0.5) == 3600.0


def test_a_moment_that_a_clock_set_back_has_left_behind_is_due() -> None:
    now = 1_000 * DAY_MS
    assert is_due(now, now)
    assert not is_due(now + 1, now)
    assert not is_due(now + DAY_MS, now)
    assert is_due(now + 365 * DAY_MS, now)
