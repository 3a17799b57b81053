"""The cases that matter most, recorded by a real sidecar: the export alone tells what happened.

Each of its sentences is decided in `tests/unit/timeline/test_summary.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.kit.desk import Desk, members, summary_of
from tests.kit.recording import problems_in

if TYPE_CHECKING:
    from pathlib import Path

Step = dict[str, Any]

SAY: Step = {"say": "Let me look. "}
EDIT: Step = {"tool": {"title": "Edit a.py", "kind": "edit"}}
DONE: Step = {"tool": {"status": "completed"}}
SILENCE: Step = {"silence": True}
LOST: Step = {"fail": {"exception": "APIConnectionError: Connection error. ECONNRESET"}}

TURNS = [
    [EDIT, DONE, LOST],
    [SAY, SILENCE],
    [EDIT, DONE, SILENCE],
    [SAY, SILENCE],
]
"""The provider is lost, the user cancels, the watchdog ends a turn, the client leaves."""

TELLS = (
    ("The connection to the model provider failed.", "network error: connection lost"),
    ("The user cancelled the turn", "cancelled by the user"),
    ("lastword's watchdog stopped the turn", "agent stalled: idle timeout"),
    ("The client left", "cancelled by the client, which left"),
)


def test_the_export_says_what_happened_whose_fault_it_was_and_what_to_do(tmp_path: Path) -> None:
    options = ("--idle-timeout", "5", "--cancel-grace", "60")
    desk = Desk(tmp_path, {"turns": TURNS}, *options)
    desk.answer(desk.prompt())
    cancelled = desk.prompt()
    desk.until("agent_message_chunk")
    desk.cancel()
    desk.answer(cancelled)
    desk.answer(desk.prompt())
    desk.prompt()
    desk.until("agent_message_chunk")
    desk.leave()
    assert problems_in(desk.state / "record.db") == []
    # Without Markdown's marks of plain characters.
    text = re.sub(r"\\(.)", r"\1", summary_of(desk.state))
    _, *turns = re.split(r"^## Turn \d+$", text, flags=re.MULTILINE)
    for (tells, ended), turn in zip(TELLS, turns, strict=True):
        assert tells in turn
        assert f"`{ended}`" in text
    assert "Check what has already been done before you try again." in turns[0]
    assert "asking the agent to continue does not." in turns[1]
    assert "Let me look" not in text
    assert "SECRET-WORDS" not in text
    # The summary and the timeline of an export tell the same.
    found = members(desk.state, tmp_path)
    assert found["summary.md"] == summary_of(desk.state)
    kinds = re.findall(r'"kind":"(\w+)"', found["timeline.jsonl"])
    told = [k for k in kinds if k in {"prompt", "tool_started", "tool_ended", "error"}]
    assert told[:4] == ["prompt", "tool_started", "tool_ended", "error"]
