"""`lastword run --continue-at-reset`: a turn goes on by itself when its limit ends."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.kit.client import RETRY, update_of
from tests.kit.gateway.limited_agent import prompts_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

GOES_ON = ["--continue-at-reset"]
LIMITED = {"fail": {"http": 429, "message": "Rate limited: try again in 2s"}}
TURNS = [
    [{"say": "The first part. "}, {"tool": {"title": "Build", "kind": "execute"}}, LIMITED],
    [{"say": "The last part."}, {"result": "end_turn"}],
]


def test_a_turn_that_had_begun_goes_on_when_the_limit_ends(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "limits.json"
    script.write_text(json.dumps({"turns": TURNS}))
    agent = [sys.executable, "-m", "lastword", "agent", "--bare", "--file", str(script)]
    client = start.command(agent, options=GOES_ON)
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == "The first part. The last part."
    assert [update["status"] for update in turn.of_kind("tool_call_update")] == ["failed"]
    (wait,) = [update["wait_seconds"] for update in turn.of_kind("agent_retry")]
    assert 2 <= wait <= 3
    assert client.end() == 0


def test_sessions_at_one_limit_send_one_prompt_each(start: Start, tmp_path: Path) -> None:
    noted = tmp_path / "prompts"
    words = [sys.executable, "-m", "tests.kit.gateway.limited_agent", str(noted), "1", "2"]
    client = start.command(words, options=GOES_ON)
    client.open(**RETRY)
    opened = [client.call("session/new", cwd="/", mcpServers=[]) for _ in range(4)]
    sessions = [client.session, *(each["result"]["sessionId"] for each in opened)]
    prompts = [client.prompt("hello", session) for session in sessions]
    for prompt in prompts:
        assert client.answer(prompt)["result"] == {"stopReason": "end_turn"}
    for session in sessions:
        first, then = [each for each in prompts_in(noted) if each["session"] == session]
        assert (first["text"], then["text"]) == ("hello", "Continue.")
        assert then["at"] - first["at"] >= 2


def test_a_client_that_leaves_within_the_wait_ends_it(start: Start, tmp_path: Path) -> None:
    noted = tmp_path / "prompts"
    words = [sys.executable, "-m", "tests.kit.gateway.limited_agent", str(noted), "1", "600"]
    client = start.command(words, options=GOES_ON)
    client.open(**RETRY)
    client.prompt("hello")
    client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "agent_retry")
    assert client.end() == 0
    assert [each["text"] for each in prompts_in(noted)] == ["hello"]
