"""Clock times in prose: when a limit resets, by the words that agents use for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest

from lastword.core.classify.waits import reset_in

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
    assert moment("resets 11pm", LAST) is None, "beyond the calendar"


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
