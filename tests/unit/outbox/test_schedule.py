"""The schedule: what an answer means, and when a report is tried again."""

from __future__ import annotations

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


REJECTED = b'{"partialSuccess":{"rejectedLogRecords":%s,"errorMessage":"x"}}'
FATES = [
    *((Fate.DELIVERED, status, b"") for status in (200, 201, 202, 204)),
    *((Fate.DELIVERED, 200, body) for body in (b" \n", b'{"partialSuccess":{}}', b'{"new":1}')),
    (Fate.DELIVERED, 200, REJECTED % b'"0"'),  # a warning beside a success
    *((Fate.REFUSED, 200, REJECTED % count) for count in (b"1", b'"1"')),
    *((Fate.REFUSED, status, b"") for status in (400, 401, 404, 410, 413, 451, 499)),
    # Whatever may be well the next time: a redirect, a page in the collector's place, too.
    *((Fate.FAILED, status, b"") for status in (301, 307, 408, 425, 429, 500, 503, 599, 0, 999)),
    *((Fate.FAILED, 200, body) for body in (b"<html>Log in", b"[" * 100_000, b"\xff", b"[]", b"7")),
]


@every(("fate", "status", "body"), FATES)
def test_an_answer_decides_whether_a_report_is_retried(
    fate: Fate, status: int, body: bytes
) -> None:
    assert fate_of(CollectorAnswer(status, body), is_otlp=True)[0] is fate


def test_a_webhook_answers_by_its_status_alone() -> None:
    assert fate_of(CollectorAnswer(200, b"thanks!"), is_otlp=False) == (Fate.DELIVERED, "")
    assert fate_of(CollectorAnswer(302), is_otlp=False)[0] is Fate.FAILED


def test_waits_double_from_one_second_up_to_five_minutes_with_a_quarter_of_jitter() -> None:
    waits = [wait_seconds(failures, None, 0.5) for failures in range(1, 12)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert wait_seconds(10**9, None, 1.0) == 300
    assert [wait_seconds(3, None, dice) for dice in (0.0, 1.0)] == [3, 5]
    # The collector's own wait is a minimum.
    assert wait_seconds(1, 60.0, 0.5) == 60.0
    assert wait_seconds(7, 1.0, 0.5) == 64.0
    assert wait_seconds(1, 3600.0, 0.5) == 3600.0


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


def test_a_date_is_read_by_the_collectors_own_clock_or_else_by_ours() -> None:
    until, theirs = "Thu, 19 Nov 2026 10:01:30 GMT", "Thu, 19 Nov 2026 10:00:00 GMT"
    assert requested_wait(CollectorAnswer(503, b"", until, theirs), 0.0) == 90.0
    assert requested_wait(CollectorAnswer(503, b"", theirs, until), 0.0) == 0.0
    answer = CollectorAnswer(503, b"", "Thu, 01 Jan 1970 00:01:30 GMT", "")
    assert [requested_wait(answer, now) for now in (60.0, NOW)] == [30.0, 0.0]
    far = CollectorAnswer(503, b"", "Fri, 01 Jan 9999 00:00:00 GMT")
    assert requested_wait(far, NOW) == MAX_REQUESTED_SECONDS


def test_a_moment_that_a_clock_set_back_has_left_behind_is_due() -> None:
    now = 1_000 * DAY_MS
    assert is_due(now, now)
    assert not is_due(now + 1, now)
    assert not is_due(now + DAY_MS, now)
    assert is_due(now + 365 * DAY_MS, now)
