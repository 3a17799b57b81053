"""Limits of the account that an agent states beside the conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from lastword.core.link import account_limits
from tests.kit.wire import INITIALIZE, INITIALIZED, Wire, chunk, error, prompt, result, update

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
    meta = {"_claude/rateLimit": stated}
    return update(sessionUpdate="usage_update", used=1, size=2, _meta=meta)


def failed(*updates: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The payload of a turn that fails of a limit after these updates."""
    wire = linked(**options)
    for each in updates:
        wire.agent(each)
    wire.agent(FAILS)
    (answer,) = wire.answers()
    data: dict[str, Any] = answer["error"]["data"]["agent_error"]
    return data


def linked(**options: Any) -> Wire:
    """A link with a prompt at work, at noon."""
    wire = Wire(**({"wall_clock": lambda: NOW} | options))
    wire.client(INITIALIZE)
    wire.agent(INITIALIZED)
    wire.client(prompt())
    return wire


def test_a_limit_without_an_end_of_its_own_has_that_of_the_account() -> None:
    fails = failed(usage())
    assert fails["type"] == "rate_limit"
    assert fails["retry_after_seconds"] == 7200
    assert fails["reset_at_epoch_ms"] == RESETS_AT * 1000
    assert (fails["retryable"], fails["retry_safety"]) == (False, "never")
    assert "14:00" in fails["message"]


def test_a_limit_that_ends_within_minutes_is_retryable() -> None:
    fails = failed(usage(resetsAt=RESETS_AT - 7000))
    assert (fails["retry_after_seconds"], fails["retryable"]) == (200, True)


def test_without_a_clock_the_moment_alone_is_stated() -> None:
    fails = failed(usage(), wall_clock=None)
    assert fails["reset_at_epoch_ms"] == RESETS_AT * 1000
    assert "retry_after_seconds" not in fails


@pytest.mark.parametrize(
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
        [usage(resetsAt=5)],
        [usage(resetsAt=1e300)],
    ],
)
def test_what_is_not_used_up_or_has_no_end_adds_nothing(updates: list[dict[str, Any]]) -> None:
    fails = failed(*updates)
    assert not {"retry_after_seconds", "reset_at_epoch_ms"} & fails.keys()


def test_another_failure_has_nothing_to_do_with_it() -> None:
    wire = linked()
    wire.agent(usage())
    wire.agent(error(message="401 Unauthorized: invalid API key"))
    (answer,) = wire.answers()
    fails = answer["error"]["data"]["agent_error"]
    assert (fails["type"], "retry_after_seconds" in fails) == ("auth", False)


def test_an_end_that_the_error_states_itself_stands() -> None:
    wire = linked()
    wire.agent(usage())
    wire.agent(error(message="429 Too Many Requests: try again in 20s"))
    (answer,) = wire.answers()
    assert answer["error"]["data"]["agent_error"]["retry_after_seconds"] == 20


def test_a_turn_that_succeeds_is_untouched() -> None:
    wire = linked()
    wire.agent(usage())
    wire.agent(chunk("Done."))
    wire.agent(result())
    (answer,) = wire.answers()
    assert answer["result"]["stopReason"] == "end_turn"


def test_the_turn_waits_for_it_where_that_was_chosen() -> None:
    wire = linked(continue_at_reset_seconds=21_600.0, roll=lambda: 0.0)
    wire.agent(usage())
    wire.agent(FAILS)
    assert wire.answers() == []
    wire.time(7199)
    assert sum(b"session/prompt" in frame for frame in wire.to_agent) == 1
    wire.time(7201)
    assert sum(b"session/prompt" in frame for frame in wire.to_agent) == 2


@pytest.mark.parametrize(
    "hostile", [None, 5, [], {"_meta": 5}, {"_meta": {"_claude/rateLimit": 5}}]
)
def test_whatever_stands_there_reads_as_none(hostile: object) -> None:
    assert account_limits.read(hostile) is None
