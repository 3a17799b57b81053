"""A handler that blocks the event loop: its author is told where, and the turn still ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.client import texts
from tests.kit.crowded import CROWDED
from tests.kit.doors import command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.conftest import Start


def test_a_blocked_turn_ends_typed_while_the_loop_is_still_blocked(
    start: Start, tmp_path: Path
) -> None:
    client = start("blocked=0.2,0.1").opened()
    answered = tmp_path / "answered"
    error = client.take(f"block_for 1.0 1 {answered}")["error"]["data"]["agent_error"]
    answered.touch()
    assert (error["type"], error["reason"]) == ("agent_stalled", "idle_timeout")
    assert (error["phase"], error["retry_safety"]) == ("mid_output", "offer_continue")
    assert texts(client.frames) == ["before"]
    # Even where a frame is half written: more than a pipe takes at once, less than asyncio waits
    # for, so that the loop has the rest of it.
    again = tmp_path / "again"
    prompt = client.prompt(f"block_for 1.0 15000 {again}", "s2")
    client.expect_line("Session s2 failed: the handler was silent")
    again.touch()
    answer = client.answer(prompt)
    assert answer["error"]["data"]["agent_error"]["reason"] == "idle_timeout"
    assert texts(client.frames) == ["before", "before" * 15_000]
    client.end()
    # The author is told the line that blocks.
    assert "The event loop has been blocked" in client.said
    assert "time.sleep(float(seconds))" in client.said
    assert "asyncio.to_thread" in client.said


@pytest.mark.parametrize("door", ["asyncio"])
def test_a_blocked_turn_is_answered_in_a_process_with_more_descriptors_than_select_allows(
    start: Start, door: str, tmp_path: Path
) -> None:
    client = start.run(*CROWDED, *command(door, "blocked=0.2,0.1"))
    client.initialize()
    answered = tmp_path / "answered"
    answer = client.take(f"block_for 1.0 1 {answered}")
    answered.touch()
    assert answer["error"]["data"]["agent_error"]["reason"] == "idle_timeout"
    # The thread that stands in for the loop has answered, and not the loop afterwards.
    assert texts(client.frames) == ["before"]
    client.end()


def test_a_blocked_loop_that_resumes_in_time_keeps_its_turn_unless_it_was_cancelled(
    start: Start, tmp_path: Path
) -> None:
    client = start("blocked=30,10")
    client.initialize()
    assert client.take("block_for 1.0 1")["result"] == {"stopReason": "end_turn"}
    assert texts(client.frames) == ["before", "after"]
    cancelled = tmp_path / "cancelled"
    since = len(client.frames)
    prompt = client.prompt(f"block_for 0.05 1 {cancelled}")
    client.expect(lambda frame: texts([frame]) == ["before"], since=since)
    client.cancel()
    cancelled.touch()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert client.end() == 0
