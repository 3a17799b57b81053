"""`--continue-at-reset`: a turn that failed of a limit goes on when the limit ends."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import cycle
from random import Random
from typing import Any

import msgspec
import pytest

from lastword.core.failure.retry_policy import RetryBucket
from lastword.core.link import limits
from lastword.core.link.connection import Connection, Side
from lastword.core.link.waits import StoredWait
from lastword.core.protocol import jsonrpc
from lastword.core.restart.layer import RestartLayer
from lastword.core.timeline.entry import Kind
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    prompt,
    prompted,
    result,
    update,
)

WAIT = 40 * 60
LIMITED = f"429 Too Many Requests: try again in {WAIT}s"
SOON = "429 Too Many Requests: try again in 1s"
HOURS = 3600.0
EVENING = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
RETRIES = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


class Clock:
    """A clock on the wall, which can be set."""

    def __init__(self) -> None:
        self.now = EVENING

    def __call__(self) -> datetime:
        """The local time."""
        return self.now


def linked(capabilities: dict[str, Any] | None = None, **options: Any) -> Wire:
    """A link with a prompt at work, whose dice lengthen no wait."""
    limits = {"turn_timeout_seconds": 0.0, "continue_at_reset_seconds": 6 * HOURS}
    return prompted(capabilities, **(limits | {"roll": lambda: 0.0} | options))


def prompts(wire: Wire) -> list[str]:
    """The texts of the prompts that have reached the agent, each under the client's id."""
    frames = [json.loads(frame) for frame in wire.to_agent]
    sent = [frame for frame in frames if frame.get("method") == "session/prompt"]
    assert {frame["id"] for frame in sent} <= {1, 2}
    return ["".join(block["text"] for block in frame["params"]["prompt"]) for frame in sent]


@pytest.mark.parametrize(
    ("frames", "options", "again"),
    [
        ((chunk("Half of it."), error(message=LIMITED)), {}, "Continue."),
        ((error(message=LIMITED),), {}, "hi"),
        ((error(message=LIMITED), chunk("Something after all.")), {}, "Continue."),
        ((chunk(), error(message=LIMITED)), {"continue_with": "Go on, please."}, "Go on, please."),
    ],
    ids=["something was shown", "nothing was shown", "shown within the wait", "a chosen text"],
)
def test_a_turn_continues_with_a_new_prompt_or_with_the_users_own_if_nothing_was_shown(
    frames: tuple[dict[str, Any], ...], options: dict[str, Any], again: str
) -> None:
    wire = linked(**options).agent(*frames).time(WAIT - 1)
    assert (prompts(wire), wire.answers(1)) == (["hi"], [])
    wire.time(WAIT + 1)
    assert prompts(wire) == ["hi", again]
    wire.agent(chunk("The other half."), result())
    assert wire.answers(1) == [result()]


def test_a_running_tool_is_closed_and_the_prompt_not_repeated() -> None:
    wire = linked()
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "rm", "kind": "execute"}
    wire.agent(update(**call, status="in_progress"), error(message=LIMITED))
    calls = [each for each in wire.updates() if each.get("toolCallId") == "c"]
    assert [each["status"] for each in calls] == ["in_progress", "failed"]
    wire.time(WAIT + 1)
    assert prompts(wire) == ["hi", "Continue."]


def test_a_second_limit_waits_again_and_all_waits_together_are_bounded() -> None:
    wire = linked(continue_at_reset_seconds=1.5 * HOURS)
    for count in (1, 2):
        wire.agent(chunk("A part."), error(message=LIMITED)).time(count * (WAIT + 1))
    assert prompts(wire) == ["hi", "Continue.", "Continue."]
    wire.agent(error(message=LIMITED))
    assert failure(wire)["type"] == "rate_limit"


def test_a_failure_after_a_wait_counts_the_output_before_it() -> None:
    wire = linked().agent(chunk("Half of it."), error(message=LIMITED)).time(WAIT + 1)
    wire.agent(error(message="503 Service Unavailable"))
    fails = failure(wire)
    assert (fails["phase"], fails["retry_safety"]) == ("mid_output", "offer_continue")


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("429 Too Many Requests", {}),
        (LIMITED, {"continue_at_reset_seconds": 1800.0}),
        (LIMITED, {"continue_at_reset_seconds": 0.0}),
        ("401 Unauthorized: invalid API key", {}),
    ],
)
def test_a_limit_without_a_known_end_in_time_fails_at_once(
    message: str, options: dict[str, Any]
) -> None:
    wire = linked(**options).agent(error(message=message))
    assert len(wire.answers(1)) == 1
    wire.time(WAIT * 2)
    assert prompts(wire) == ["hi"]


@pytest.mark.parametrize("word", [cancel(), prompt(2, text="Something else."), None])
def test_a_cancel_another_prompt_and_a_client_that_leaves_end_the_wait(word: Any) -> None:
    wire = linked().agent(error(message=LIMITED))
    wire.client(word) if word else wire.eof(Side.CLIENT)
    assert [answer["result"]["stopReason"] for answer in wire.answers(1)] == ["cancelled"]
    follows = word is not None and "id" in word
    wire.agent(*([chunk("Done."), result(2)] if follows else [])).time(WAIT * 2)
    assert prompts(wire) == (["hi", "Something else."] if follows else ["hi"])


def test_retries_come_first_if_their_wait_is_short_enough() -> None:
    wire = linked(retry=1).agent(error(message=SOON)).time(2)
    assert Kind.LIMIT_WAIT.value not in wire.kinds
    wire.agent(error(message=LIMITED))
    assert wire.kinds.count(Kind.LIMIT_WAIT.value) == 1
    wire.time(WAIT + 3)
    assert prompts(wire) == ["hi"] * 3


def test_the_wait_is_announced_and_recorded() -> None:
    wire = linked(RETRIES).agent(chunk("Half."), error(message=LIMITED))
    announced = wire.updates()[-1]
    assert (announced["sessionUpdate"], announced["wait_seconds"]) == ("agent_retry", WAIT)
    wire.time(WAIT + 1)
    assert wire.kinds.count(Kind.LIMIT_WAIT.value) == 1
    (entry,) = [each for each in wire.entries if each.kind is Kind.CONTINUED]
    assert entry.facts["what"] == "new_prompt"


@pytest.mark.parametrize(("seconds", "when"), [(2400, "at 22:40"), (3 * 3600, "tomorrow at 01:00")])
def test_a_client_without_the_update_reads_it_in_a_thought(seconds: int, when: str) -> None:
    wire = linked(wall_clock=Clock()).agent(chunk("Half."))
    wire.agent(error(message=f"429 Too Many Requests: try again in {seconds}s")).time(30)
    thoughts = wire.updates("agent_thought_chunk")
    assert f"Continuing {when}, when the limit ends." in thoughts[-1]["content"]["text"]
    wire = linked().agent(error(message=LIMITED)).time(30)
    assert "Continuing in 40 minutes, when the limit ends." in json.dumps(wire.updates())


@pytest.mark.parametrize(("seconds", "when"), [(1e12, "11574075 days"), (0.0, "1 second")])
def test_an_inexpressible_moment_is_stated_as_a_duration(seconds: float, when: str) -> None:
    now = datetime(2026, 11, 25, tzinfo=UTC)
    assert limits.sentence_of_wait(seconds, now) == f"Continuing in {when}, when the limit ends."


@pytest.mark.parametrize(
    ("moved", "seconds"),
    [(timedelta(hours=2), 16), (timedelta(days=-1), WAIT + 1)],
    ids=["a computer that slept past the end", "a clock that was set back"],
)
def test_the_wait_ends_by_the_wall_clock_or_by_its_own(moved: timedelta, seconds: float) -> None:
    clock = Clock()
    wire = linked(wall_clock=clock).agent(error(message=LIMITED))
    clock.now += moved
    assert prompts(wire.time(seconds)) == ["hi", "hi"]


def test_a_limit_that_always_ends_at_once_does_not_lead_to_one_request_after_another() -> None:
    wire = linked().agent(error(message=SOON))
    for second in range(1, 61):
        before = len(prompts(wire))
        wire.time(second)
        if len(prompts(wire)) > before:
            wire.agent(error(message=SOON))
    assert len(prompts(wire)) <= 5


def test_sessions_at_one_limit_send_one_prompt_each_and_not_all_at_once() -> None:
    rolls = cycle(range(33))
    wire = linked(roll=lambda: next(rolls) / 33).agent(result())
    sessions = [f"s{number}" for number in range(32)]
    for number, session in enumerate(sessions):
        wire.client(prompt(100 + number, session)).agent(error(100 + number, message=LIMITED))
    before = len(wire.to_agent)
    wire.time(WAIT + 30)
    assert 0 < len(wire.to_agent) - before < 32
    wire.time(WAIT + 61)
    again = [json.loads(frame) for frame in wire.to_agent[before:]]
    assert sorted(frame["params"]["sessionId"] for frame in again) == sorted(sessions)


@every("seed", range(12))
def test_a_turn_never_waits_longer_than_it_may_whatever_the_limits(seed: int) -> None:
    dice = Random(seed)
    most = dice.choice([30.0, 600.0, 6 * HOURS])
    wire = linked(continue_at_reset_seconds=most, roll=dice.random)
    failed_at, waited = 0.0, 0.0
    while not wire.answers(1):
        before = len(wire.to_agent)
        if dice.random() < 0.5:
            wire.agent(chunk("A part."))
        wire.agent(error(message=f"429 Too Many Requests: try again in {dice.randint(1, 900)}s"))
        failed_at = wire.now
        while not wire.answers(1) and len(wire.to_agent) == before:
            wire.time(wire.core.next_timeout() or wire.now + 1)
        assert len(wire.to_agent) <= before + 1, "twice for one limit"
        waited += wire.now - failed_at
    assert waited <= most + len(prompts(wire)), "a second of each wait may be the clock's"


def test_a_turn_that_was_stopped_does_not_wait() -> None:
    wire = linked(idle_timeout_seconds=60.0).agent(chunk("Half.")).time(61)
    wire.agent(error(message=LIMITED))
    assert len(wire.answers(1)) == 1


def resumed(wire: Wire, clock: Clock, **options: Any) -> Wire:
    """Another process's link, in which the wait of this one's goes on."""
    stored = wire.core.stored_wait("s")
    assert stored is not None
    stored = msgspec.json.decode(msgspec.json.encode(stored), type=StoredWait)
    limits = {"turn_timeout_seconds": 0.0, "continue_at_reset_seconds": 6 * HOURS}
    other = Wire(**(limits | {"roll": lambda: 0.0, "wall_clock": clock} | options))
    other.client(INITIALIZE | {"params": {"protocolVersion": 1, "clientCapabilities": RETRIES}})
    other.agent(INITIALIZED)
    frame = jsonrpc.decode(json.dumps({"jsonrpc": "2.0"} | prompt()).encode())
    assert isinstance(frame, jsonrpc.Frame)
    other.carry_out(other.core.resume_wait(frame, stored, other.now))
    return other


@pytest.mark.parametrize("shown", [True, False])
def test_another_process_resumes_the_wait_where_it_was(shown: bool) -> None:
    clock = Clock()
    wire = linked(wall_clock=clock)
    if shown:
        wire.agent(chunk("Half."))
    wire.agent(error(message=LIMITED))
    clock.now += timedelta(seconds=WAIT - 100)
    other = resumed(wire, clock)
    assert other.updates()[-1]["wait_seconds"] == 100
    other.time(99)
    assert prompts(other) == []
    other.time(101)
    assert prompts(other) == ["Continue." if shown else "hi"]
    assert other.core.stored_wait("s") is None
    other.agent(chunk("Done."), result())
    assert len(other.answers(1)) == 1


def test_the_waits_of_all_processes_together_are_bounded() -> None:
    clock = Clock()
    wire = linked(wall_clock=clock, continue_at_reset_seconds=1.5 * HOURS).agent(chunk("Half."))
    wire.agent(error(message=LIMITED))
    other = resumed(wire, clock, continue_at_reset_seconds=1.5 * HOURS)
    for count in (1, 2):
        other.time(count * (WAIT + 1))
        clock.now += timedelta(seconds=WAIT + 1)
        other.agent(error(message=LIMITED))
    assert prompts(other) == ["Continue.", "Continue."]
    assert failure(other)["phase"] == "mid_output"


def test_a_clock_that_was_set_back_or_unknown_does_not_lengthen_the_wait_elsewhere() -> None:
    clock = Clock()
    wire = linked(wall_clock=clock).agent(error(message=LIMITED))
    clock.now -= timedelta(days=1)
    assert prompts(resumed(wire, clock).time(WAIT + 1)) == ["hi"]
    wire = linked().agent(error(message=LIMITED))
    assert prompts(resumed(wire, Clock()).time(WAIT + 1)) == ["hi"]


@pytest.mark.parametrize("restarted", [True, False])
def test_a_turn_does_not_continue_after_the_time_that_the_user_allows(*, restarted: bool) -> None:
    clock = Clock()
    wire = linked(wall_clock=clock).agent(chunk("Half."), error(message=LIMITED))
    clock.now += timedelta(days=3)
    if restarted:
        connection = wire.core.connection
        assert isinstance(connection, Connection)
        wire.carry_out(RestartLayer(connection).handle_timeout(16.0))
    else:
        wire.time(16)
    assert (prompts(wire), failure(wire)["type"]) == (["hi"], "rate_limit")


def test_a_turn_fails_if_the_process_has_no_retries_left() -> None:
    wire = linked(retry_bucket=RetryBucket(0)).agent(error(message=LIMITED))
    assert len(wire.answers(1)) == 1
    (entry,) = [each for each in wire.entries if each.kind is Kind.ERROR]
    assert entry.facts["retry_refused"] is True
