"""Clock times in prose: when a limit resets, by the words that agents use for it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest

from lastword.core.classify.waits import parse_moment, parse_wait, reset_in, wait_in_text
from lastword.core.failure.phrases import LOCAL_ZONE, plain_moment
from tests.kit.rows import every

BERLIN = timezone(timedelta(hours=1), "CET")
NOW = datetime(2026, 11, 25, 22, 28, 19, tzinfo=UTC)


def zone_of(name: str) -> tzinfo | None:
    return {"Europe/Berlin": BERLIN}.get(name)


def moment(text: str, now: datetime = NOW) -> datetime | None:
    stated = reset_in(text, now, zone_of)
    return None if stated is None else datetime.fromtimestamp(stated / 1000, UTC)


def at(day: int, hour: int, minute: int = 0, *, month: int = 11, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("resets 12:27am (UTC)", at(26, 0, 27)),
        # Codex says 10:28 PM of a limit that ends at 22:28:36.
        ("try again at 10:28 PM.", at(25, 22, 29)),
        ("resets at 2026-11-25 22:28:20", NOW + timedelta(seconds=1)),
        ("resets at 2026-11-25 22:28:18", NOW - timedelta(seconds=1)),
        ("resets 11pm", at(25, 23)),
        ("resets 3pm (Europe/Berlin)", at(26, 14)),
        ("resets at 23:05 UTC", at(25, 23, 5)),
        ("try again at 11:05 PM.", at(25, 23, 5)),
        ("try again at Nov 26th, 2026 12:28 AM.", at(26, 0, 28)),
        ("resets Dec 1, 3pm (Europe/Berlin)", at(1, 14, month=12)),
        ("resets Jan 2 at 9am (UTC)", at(2, 9, month=1, year=2027)),
        ("resets Nov 25 at 9pm (UTC)", at(25, 21)),
        ("resets 2026-11-29 10:00 UTC", at(29, 10)),
        ("将在 2026-11-29 10:00 重置", at(29, 10)),
        ("2026-11-29 10:00 にリセットされます", at(29, 10)),
        ("2026-11-29 10:00에 초기화됩니다", at(29, 10)),
    ],
)
def test_a_time_of_day_is_the_next_one_in_the_zone_that_is_stated(
    words: str, expected: datetime
) -> None:
    assert moment(f"You've hit your limit · {words}") == expected


LAST = datetime(9999, 12, 31, 23, 30, tzinfo=UTC)


def test_a_time_is_placed_by_the_clock_and_the_zones_that_there_are() -> None:
    assert moment("resets 3pm", NOW.astimezone(BERLIN)) == at(26, 14), "a time of no zone is local"
    assert reset_in("resets 3pm", NOW.replace(tzinfo=None)) is None
    assert reset_in("resets 3pm (Europe/Berlin)", NOW) is None, "a link that knows no zones"
    new_year = at(1, 0, 10, month=1)
    assert moment("resets Dec 31, 11pm", new_year) == at(31, 23, month=12, year=2025)
    assert moment("resets 11pm", LAST) is None, "beyond the calendar"


@pytest.mark.parametrize(
    ("evening", "shown", "resets"),
    [
        ((2026, 10, 24, 21), "23 CEST", at(25, 7, month=10)),
        ((2026, 3, 28, 22), "23 CET", at(29, 6, month=3)),
    ],
    ids=["summer time ends in that night", "it begins"],
)
def test_a_local_time_of_day_is_by_the_clock_of_its_own_day(
    evening: tuple[int, int, int, int],
    shown: str,
    resets: datetime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as environment:
        environment.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        now = datetime(*evening, tzinfo=UTC).astimezone(LOCAL_ZONE)
        stated = moment("You've hit your limit · resets 8am", now)
        told = plain_moment(round(resets.timestamp() * 1000), now)
        assert f"{now:%H %Z}" == shown
    time.tzset()
    assert (stated, told) == (resets, "tomorrow at 08:00")


@pytest.mark.parametrize(
    "text",
    [
        "You've hit your limit",
        "resets Dec 1",
        "resets 3pm (Middle-earth/Shire)",
        "resets 13pm (UTC)",
        "resets 25:00 UTC",
        "resets Feb 30, 3pm (UTC)",
    ],
)
def test_a_text_without_a_moment_gives_none(text: str) -> None:
    assert moment(text) is None


# --- durations and moments


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
