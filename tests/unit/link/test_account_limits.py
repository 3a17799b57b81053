"""Limits of the account that an agent states beside the conversation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from lastword.core.link import limits
from tests.kit.rows import every
from tests.kit.wire import Wire, chunk, error, failure, prompted, result, update

CET = timezone(timedelta(hours=1))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RESETS_AT = int(NOW.timestamp()) + 7200
FAILS = error(message="Internal error") | {
    "error": {
        "code": -32603,
        "message": "API Error: Request rejected (429)",
        "data": {"errorKind": "rate_limit"},
    }
}


def usage(**info: Any) -> dict[str, Any]:
    """An update with what Anthropic's SDK knows of the plan's windows."""
    stated = {"status": "rejected", "resetsAt": RESETS_AT, "rateLimitType": "five_hour"} | info
    return update(sessionUpdate="usage_update", used=1, size=2, _meta={"_claude/rateLimit": stated})


def window(
    used: object = 100, resets_at: object = RESETS_AT, minutes: object = 300
) -> dict[str, Any]:
    """A window of a plan, as Codex states it."""
    return {"usedPercent": used, "windowDurationMins": minutes, "resetsAt": resets_at}


def codex(*others: dict[str, Any], **windows: Any) -> dict[str, Any]:
    """An update with what Codex knows of the plan's windows."""
    limits = [{"limitId": "codex", "limitName": None} | windows, *others]
    return update(sessionUpdate="usage_update", used=1, size=2, _meta={"_codex/rateLimits": limits})


def failed(*updates: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The payload of a turn that fails of a limit after these updates."""
    wire = linked(**options)
    for each in updates:
        wire.agent(each)
    wire.agent(FAILS)
    return failure(wire)


def linked(**options: Any) -> Wire:
    """A link with a prompt at work, at noon."""
    return prompted(**({"wall_clock": lambda: NOW} | options))


def test_a_limit_without_an_end_gets_that_of_the_account() -> None:
    fails = failed(usage())
    assert (fails["type"], fails["retry_after_seconds"]) == ("rate_limit", 7200)
    assert fails["reset_at_epoch_ms"] == RESETS_AT * 1000
    assert (fails["retryable"], fails["retry_safety"]) == (False, "never")
    assert "14:00" in fails["message"]
    soon = failed(usage(resetsAt=RESETS_AT - 7000))
    assert (soon["retry_after_seconds"], soon["retryable"]) == (200, True)


@every(
    "updates",
    [
        [],
        [usage(status="allowed")],
        [usage(status="allowed_warning")],
        [usage(), usage(status="allowed")],
        [usage(resetsAt=int(NOW.timestamp()) - 5)],
        [usage(resetsAt=None)],
        [usage(resetsAt=True)],
        [usage(resetsAt="soon")],
        [codex(primary=window(used=99.9))],
        [codex(primary=window(used="100"))],
        [codex(primary=window(resets_at=None), secondary=None)],
        [codex(primary=window()), codex(primary=window(used=0))],
        [usage(resetsAt=5)],
        [usage(resetsAt=1e300)],
    ],
)
def test_an_unused_or_endless_limit_adds_nothing(updates: list[dict[str, Any]]) -> None:
    assert not {"retry_after_seconds", "reset_at_epoch_ms"} & failed(*updates).keys()


DAY = 86_400


def test_the_last_of_codexs_used_up_windows_to_open_counts() -> None:
    week = window(resets_at=RESETS_AT + 3600, minutes=10_080)
    assert failed(codex(primary=window(), secondary=week))["retry_after_seconds"] == 10_800
    other = {"limitId": "codex_other", "primary": week}
    assert failed(codex(other, primary=window()))["retry_after_seconds"] == 7200
    assert failed(codex(other, primary=window(used=5)))["retry_after_seconds"] == 10_800


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        (usage(resetsAt=RESETS_AT - 7200 + DAY - 1), "rate_limit"),
        (usage(resetsAt=RESETS_AT - 7200 + DAY), "budget"),
        (usage(rateLimitType="seven_day"), "rate_limit"),
        (codex(secondary=window(resets_at=RESETS_AT + 3 * DAY, minutes=10_080)), "budget"),
    ],
)
def test_the_type_follows_from_when_the_window_opens(stated: dict[str, Any], kind: str) -> None:
    fails = failed(stated)
    assert (fails["type"], fails["reason"]) == (kind, "usage_window")
    assert fails["retryable"] is False


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        (usage(), "rate_limit"),
        (usage(rateLimitType="seven_day"), "budget"),
        (codex(primary=window()), "rate_limit"),
        (codex(primary=window(minutes=None)), "budget"),
    ],
)
def test_the_type_follows_from_the_windows_length_without_a_clock(
    stated: dict[str, Any], kind: str
) -> None:
    fails = failed(stated, wall_clock=None)
    assert (fails["type"], fails["reset_at_epoch_ms"]) == (kind, RESETS_AT * 1000)
    assert "retry_after_seconds" not in fails
    assert said("You've hit your limit · resets 3pm", wall_clock=None)["type"] == "budget"


def said(text: str, **options: Any) -> dict[str, Any]:
    """The payload of a turn that fails with these words."""
    wire = linked(**options)
    wire.agent(
        {"id": 1, "error": {"code": -32603, "message": text, "data": {"errorKind": "rate_limit"}}}
    )
    return failure(wire)


@pytest.mark.parametrize(
    ("words", "kind", "seconds"),
    [
        ("resets in 2s", "rate_limit", 2),
        ("resets in 2h 14m", "rate_limit", 8040),
        ("resets in 26h", "budget", 93_600),
        ("resets 3pm (Europe/Berlin)", "rate_limit", 7200),
        ("resets 3pm", "rate_limit", 10_800),
        ("resets 12:04pm (UTC)", "rate_limit", 240),
        ("resets Mar 4, 3pm (UTC)", "budget", 270_000),
        ("", "budget", None),
        ("resets 3pm (Nowhere/Land)", "budget", None),
    ],
)
def test_the_end_of_a_limit_is_read_from_its_words(
    words: str, kind: str, seconds: int | None
) -> None:
    fails = said(f"You've hit your limit · {words}", zone_of={"Europe/Berlin": CET}.get)
    assert (fails["type"], fails.get("retry_after_seconds")) == (kind, seconds)
    near = kind == "rate_limit" and seconds is not None and seconds <= 300
    assert fails["retryable"] is near
    assert fails["retry_safety"] == ("auto" if near else "never")


@every(
    ("text", "kind", "seconds"),
    [
        ("Individual quota reached. Ask for more. Resets in 7m11s", "rate_limit", 431),
        ("Individual quota reached. Resets in 3 days", "budget", 259_200),
        ("Team quota limit reached, resets at 2026-03-01T13:00:05Z", "rate_limit", 3605),
        (
            "429 Usage limit reached for 5 hour. It will reset at 2026-03-01 13:42:16",
            "rate_limit",
            6136,
        ),
        (
            "429: 已达到 5 小时的使用上限。您的限额将在 2026-03-01 13:42:16 重置。",
            "rate_limit",
            6136,
        ),
        ("已达到每周使用上限。您的限额将于 2026-03-04 13:42:16 重置。", "budget", 265_336),
        ("You have hit your usage limit, try again at Mar 4th, 2026 12:00 PM.", "budget", 259_200),
        ("You've reached your usage limit for this billing cycle.", "budget", None),
    ],
)
def test_a_used_up_window_of_a_plan_ends_when_its_words_say(
    text: str, kind: str, seconds: int | None
) -> None:
    fails = said(text)
    assert (fails["type"], fails.get("retry_after_seconds")) == (kind, seconds)
    assert (fails["reason"], fails["retryable"]) == ("usage_window", False)


def test_a_window_whose_words_say_that_it_has_opened_is_not_a_budget() -> None:
    fails = said("429 Usage limit reached for 5 hour. It will reset at 2026-03-01 11:42:16")
    assert (fails["type"], fails["retryable"]) == ("rate_limit", True)


def test_a_limit_that_is_called_a_success_ends_when_its_words_say() -> None:
    wire = linked().agent(chunk("You've hit your session limit · resets 3pm (UTC)"), result())
    fails = wire.time(wire.now + 1).answers()[0]["error"]["data"]["agent_error"]
    assert (fails["type"], fails["retry_after_seconds"]) == ("rate_limit", 10_800)


@pytest.mark.parametrize(
    ("left", "kind", "seconds"),
    [(3600, "rate_limit", 3600), (86_400, "budget", 86_400), (0, "rate_limit", None)],
)
def test_a_moment_that_the_failure_states_is_placed_by_the_clock(
    left: int, kind: str, seconds: int | None
) -> None:
    fails = said(f"Claude AI usage limit reached|{int(NOW.timestamp()) + left}")
    assert (fails["type"], fails.get("retry_after_seconds")) == (kind, seconds)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Your credit balance is too low", "budget"),
        ("401 Unauthorized: invalid API key", "auth"),
    ],
)
def test_a_failure_that_no_window_lifts_does_not_get_its_end(message: str, kind: str) -> None:
    fails = failure(linked().agent(usage(), error(message=message)))
    assert (fails["type"], "retry_after_seconds" in fails) == (kind, False)


def test_an_end_in_the_error_itself_takes_precedence() -> None:
    wire = linked().agent(usage(), error(message="429 Too Many Requests: try again in 20s"))
    (answer,) = wire.answers()
    assert answer["error"]["data"]["agent_error"]["retry_after_seconds"] == 20


def test_the_turn_waits_for_the_limit_if_configured() -> None:
    wire = linked(continue_at_reset_seconds=21_600.0, roll=lambda: 0.0).agent(usage(), FAILS)
    assert wire.answers() == []
    wire.time(7199)
    assert sum(b"session/prompt" in frame for frame in wire.to_agent) == 1
    wire.time(7201)
    assert sum(b"session/prompt" in frame for frame in wire.to_agent) == 2


@pytest.mark.parametrize(
    "hostile", [None, 5, [], {"_meta": 5}, {"_meta": {"_claude/rateLimit": 5}}]
)
def test_any_hostile_value_reads_as_no_limit(hostile: object) -> None:
    assert limits.read_account_limit(hostile) is None


def test_credits_that_come_at_a_known_time_stay_a_budget() -> None:
    fails = said("Your credit balance is too low, it resets 3pm")
    assert (fails["type"], fails["retry_after_seconds"]) == ("budget", 10_800)
