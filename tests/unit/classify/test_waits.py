"""Waits and reset moments: which value counts, and which is no value."""

from __future__ import annotations

import pytest

from lastword.core.classify.waits import parse_moment, parse_wait, wait_in_text
from tests.kit.rows import every


@every(
    ("value", "seconds"),
    [
        (7, 7), ("7", 7), ("0.75", 0.75), (" 12 ", 12), ("1.5s", 1.5), ("250ms", 0.25),
        ("7h10m2s", 25802), ("34.07s", 34.07), ("58 hours", 208800), ("1 day 2 hours", 93600),
        ("0", 0), (0, 0), ("5 minutes", 300), ("-5", None), (-5, None), ("nan", None),
        (float("nan"), None), (float("inf"), None), (True, None), (None, None), ("", None),
        ("soon", None), ("9" * 400, None), (10**400, None), ("1e99", None), ("5 parsecs", None),
        ([], None), ("1m1m1m1m1m1m1m", None), ("\u0665", None),
    ],
)  # fmt: skip
def test_a_duration_is_parsed_or_refused(value: object, seconds: float | None) -> None:
    assert parse_wait(value) == (pytest.approx(seconds) if seconds is not None else None)


@every(
    ("value", "milliseconds"),
    [
        (1777936568, 1777936568000), ("1777936568", 1777936568000),
        ("1788220800000", 1788220800000), (1788220800000, 1788220800000),
        ("2025-10-20T19:14:08Z", 1760987648000), ("2025-10-20T19:14:08+02:00", 1760980448000),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 946684799000),
        ("2025-10-20T19:14:08", None), ("tomorrow", None), ("", None), (None, None), (5, None),
        ("60", None), (-1, None), (10**30, None), (float("nan"), None), ("0" * 70, None),
        ("9999-12-31T23:59:59Z", None), (True, None), ("Fri, 31 Feb 2026 23:59:59 GMT", None),
        ("2026-13-01T00:00:00Z", None),
    ],
)  # fmt: skip
def test_a_moment_is_parsed_or_refused(value: object, milliseconds: int | None) -> None:
    assert parse_moment(value) == milliseconds


@every(
    ("text", "seconds"),
    [
        ("please try again in 9m38.016s.", 578.016),
        ("please retry after 86400 seconds.", 86400),
        ("try again in 5 seconds. passed model=x", 5),
        ("try again in 999999999 days. try again in 20 seconds", 20),
        ("your quota will reset after 10m.", 600),
        ("(reset after 10s)", 10),
        ("please wait 30 seconds", 30),
        ("try again in 2 days 3 hours 4 minutes.", 183840),
        ("retry-after: 20", None),
        ("resets 3:45pm", None),
        ("try again at nov 20th, 2025 3:05 pm", None),
        ("retry 3 times", None),
        ("try again later", None),
        ("retry in 2026-01-01", None),
        ("limit 30000, used 29000", None),
    ],
)
def test_a_wait_is_read_from_prose_or_none_is(text: str, seconds: float | None) -> None:
    assert wait_in_text(text) == (pytest.approx(seconds) if seconds is not None else None)
