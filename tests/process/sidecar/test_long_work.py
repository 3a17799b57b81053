"""What still runs: a tool that takes long, and an agent that works on after its answer."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tests.kit.client import NOTICES, update_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

AGENT = [sys.executable, "-m", "lastword", "agent", "--bare"]
ACTIVITY = {"_meta": {"agent_error": {"version": 1, "session": True}}}


def word(frame: dict[str, Any]) -> str | None:
    """What a frame says of the agent's work beside its turns."""
    said: str | None = (update_of(frame).get("_meta") or {}).get("lastword", {}).get("session")
    return said


def test_a_tool_that_runs_long_is_named_by_its_title(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "tool.json"
    tool = {"title": "Run the tests", "kind": "execute", "status": "in_progress"}
    turn = [{"tool": tool}, {"wait": 2}, {"tool": {"status": "completed"}}, {"say": "Done."}]
    script.write_text(json.dumps({"turns": [[*turn, {"result": "end_turn"}]]}))
    client = start.command([*AGENT, "--file", str(script)], options=["--warn-after", "1"])
    client.open(**NOTICES)
    (notice,) = client.turn("hello").of_kind("notice")
    assert notice["title"].startswith('The tool "Run the tests" ')
    assert notice["title"].endswith(" has been running for 1 s.")


def test_an_agent_that_works_on_after_its_answer_is_active_and_then_quiet(start: Start) -> None:
    client = start.command([*AGENT, "works_on"])
    client.open(**ACTIVITY)
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}
    client.expect_text("The build has passed.")
    assert word(client.expect(word)) == "active"
    client.expect(lambda frame: word(frame) == "quiet")
    assert [word(frame) for frame in client.frames if word(frame)] == ["active", "quiet"]
