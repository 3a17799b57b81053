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
DONE = "The agent seems to be done; its answer has not come yet."
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
    command = [*AGENT, "--file", str(script)]
    client = start.command(command, options=["--warn-after", "1"])
    client.open(**NOTICES)
    turn_seen = client.turn("hello")
    (notice,) = turn_seen.of_kind("notice")
    assert notice["title"].startswith('The tool "Run the tests" ')
    assert notice["title"].endswith(" has been running for 1 s.")


def test_an_agent_that_only_owes_its_answer_seems_to_be_done(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "done.json"
    usage = {"sessionUpdate": "usage_update", "used": 10, "size": 100}
    script.write_text(
        json.dumps({"turns": [[{"say": "All tests pass."}, {"update": usage}, {"silence": True}]]})
    )
    limits = {"core.link.clocks.DONE_SECONDS": 0.5}
    client = start.command([*AGENT, "--file", str(script)], limits=limits)
    client.open(**NOTICES)
    prompt = client.prompt("hello")
    client.expect(lambda frame: update_of(frame).get("title") == DONE)
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    shown = [update_of(frame) for frame in client.frames]
    kinds = [update["sessionUpdate"] for update in shown if update]
    assert kinds == ["agent_message_chunk", "usage_update", "notice"]


def test_an_agent_that_works_on_after_its_answer_is_active_and_then_quiet(start: Start) -> None:
    client = start.command([*AGENT, "works_on"])
    client.open(**ACTIVITY)
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}
    client.expect_text("The build has passed.")
    assert word(client.expect(word)) == "active"
    client.expect(lambda frame: word(frame) == "quiet")
    assert [word(frame) for frame in client.frames if word(frame)] == ["active", "quiet"]


def test_a_client_that_did_not_ask_gets_no_frame_more(start: Start) -> None:
    client = start.command([*AGENT, "works_on"])
    client.open()
    client.turn("hello")
    client.expect_text("The build has passed.")
    client.turn("again")
    assert not any(map(word, client.frames))
