"""A handler that blocks the event loop: its author is told where, and the turn still ends."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

AGENT = Path(__file__).parent / "blocking_agent.py"
FUSE_SECONDS = 20.0


def blocked(
    seconds: float, *, idle: float, grace: float, times: int = 1
) -> tuple[list[dict[str, Any]], str]:
    """One turn of an agent that blocks: what the client read up to its answer, and stderr."""
    messages: list[dict[str, Any]] = []
    with subprocess.Popen(
        [sys.executable, AGENT, str(idle), str(grace), str(times)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        assert agent.stderr is not None
        fuse = threading.Timer(FUSE_SECONDS, agent.kill)
        fuse.start()
        prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": str(seconds)}]}
        for number, method, params in (
            (0, "initialize", {"protocolVersion": 1}),
            (1, "session/prompt", prompt),
        ):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            agent.stdin.write(json.dumps(message) + "\n")
            agent.stdin.flush()
        for line in agent.stdout:
            messages.append(json.loads(line))
            if messages[-1].get("id") == 1:
                break
        agent.stdin.close()
        messages += [json.loads(line) for line in agent.stdout]
        stderr = agent.stderr.read()
        fuse.cancel()
        return messages, stderr


def texts(messages: list[dict[str, Any]]) -> list[str]:
    updates = [message["params"]["update"] for message in messages if "params" in message]
    return [update["content"]["text"] for update in updates if "content" in update]


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
