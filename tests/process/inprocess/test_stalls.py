"""A handler that blocks the event loop: its author is told where, and the turn still ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.client import Client, texts

if TYPE_CHECKING:
    from tests.kit.client import Frame


AGENT = Path(__file__).parent / "blocking_agent.py"


def blocked(
    seconds: float, *, idle: float, grace: float, times: int = 1
) -> tuple[list[Frame], str]:
    """One turn of an agent that blocks: every frame of it, and stderr."""
    client = Client([sys.executable, str(AGENT), str(idle), str(grace), str(times)], session="s")
    try:
        client.request("initialize", protocolVersion=1)
        client.answer(client.prompt(str(seconds)))
        client.end()
    finally:
        client.kill()
    return client.frames, client.said


def test_a_blocked_turn_ends_typed_while_the_loop_is_still_blocked() -> None:
    messages, stderr = blocked(3.0, idle=0.2, grace=0.1)
    (answer,) = [message for message in messages if message.get("id") == 1]
    error = answer["error"]["data"]["agent_error"]
    assert (error["type"], error["reason"]) == ("agent_stalled", "idle_timeout")
    assert (error["phase"], error["retry_safety"]) == ("mid_output", "offer_continue")
    assert texts(messages) == ["before"]
    assert "The event loop has been blocked" in stderr


def test_a_blocked_turn_is_answered_even_where_a_frame_is_half_written() -> None:
    # More than a pipe takes at once, less than asyncio waits for: the loop has the rest of it.
    messages, _ = blocked(3.0, idle=0.2, grace=0.1, times=15_000)
    (answer,) = [message for message in messages if message.get("id") == 1]
    assert answer["error"]["data"]["agent_error"]["reason"] == "idle_timeout"
    assert texts(messages) == ["before" * 15_000]


def test_the_author_is_told_the_line_that_blocks() -> None:
    _, stderr = blocked(3.0, idle=0, grace=10)
    assert "time.sleep(float(prompt[0].text))" in stderr
    assert "asyncio.to_thread" in stderr


def test_a_loop_that_runs_again_before_its_limit_keeps_its_turn() -> None:
    messages, _ = blocked(1.0, idle=30, grace=10)
    (answer,) = [message for message in messages if message.get("id") == 1]
    assert answer["result"] == {"stopReason": "end_turn"}
    assert texts(messages) == ["before", "after"]
