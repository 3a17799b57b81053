"""A handler that blocks the event loop: its author is told where, and the turn still ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.client import texts
from tests.kit.crowded import CROWDED
from tests.kit.doors import command

if TYPE_CHECKING:
    from tests.kit.client import Frame
    from tests.process.inprocess.conftest import Start


def blocked(
    start: Start, seconds: float, *, idle: float, grace: float, times: int = 1
) -> tuple[Frame, list[str], str]:
    """One turn of an agent that blocks: its answer, the texts of it, and stderr."""
    client = start(f"blocked={idle},{grace}")
    client.initialize()
    answer = client.take(f"block_for {seconds} {times}")
    client.end()
    return answer, texts(client.frames), client.said


def test_a_blocked_turn_ends_typed_while_the_loop_is_still_blocked(start: Start) -> None:
    answer, shown, stderr = blocked(start, 3.0, idle=0.2, grace=0.1)
    error = answer["error"]["data"]["agent_error"]
    assert (error["type"], error["reason"]) == ("agent_stalled", "idle_timeout")
    assert (error["phase"], error["retry_safety"]) == ("mid_output", "offer_continue")
    assert shown == ["before"]
    assert "The event loop has been blocked" in stderr


def test_a_blocked_turn_is_answered_even_where_a_frame_is_half_written(start: Start) -> None:
    # More than a pipe takes at once, less than asyncio waits for: the loop has the rest of it.
    answer, shown, _ = blocked(start, 3.0, idle=0.2, grace=0.1, times=15_000)
    assert answer["error"]["data"]["agent_error"]["reason"] == "idle_timeout"
    assert shown == ["before" * 15_000]


def test_a_blocked_turn_is_answered_in_a_process_with_more_descriptors_than_select_takes(
    start: Start, door: str
) -> None:
    agent = command(door, "blocked=0.2,0.1")
    client = start.run(*CROWDED, *agent)
    client.initialize()
    answer = client.take("block_for 3.0 1")
    assert answer["error"]["data"]["agent_error"]["reason"] == "idle_timeout"
    # The thread that stands in for the loop has answered, and not the loop afterwards.
    assert texts(client.frames) == ["before"]
    client.end()


def test_the_author_is_told_the_line_that_blocks(start: Start) -> None:
    _, _, stderr = blocked(start, 3.0, idle=0, grace=10)
    assert "time.sleep(float(seconds))" in stderr
    assert "asyncio.to_thread" in stderr


def test_a_loop_that_runs_again_before_its_limit_keeps_its_turn(start: Start) -> None:
    answer, shown, _ = blocked(start, 1.0, idle=30, grace=10)
    assert answer["result"] == {"stopReason": "end_turn"}
    assert shown == ["before", "after"]
