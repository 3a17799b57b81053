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

AFTER_TOOL = "That was after a tool had run, between two steps of the agent."
CHANGED = "1 tool call (edit), which may have changed something."
IN_THE_ANSWER = "That was in the middle of the answer. Until then text had been shown"
REPEATS = "asking the agent to continue does not."
TWICE = "may do twice what a tool has done: look first."
LEFT = "The client left"
USER = "The user cancelled the turn"
WATCHDOG = "lastword's watchdog stopped the turn: the agent was silent"

TURNS = [
    [EDIT, DONE, LOST],
    [SAY, SILENCE],
    [EDIT, DONE, SILENCE],
    [SAY, SILENCE],
]
"""The provider is lost, the user cancels, the watchdog ends a turn, the client leaves."""

TELLS = (
    (
        *("The connection to the model provider failed.", AFTER_TOOL, CHANGED),
        *("The agent ended the turn with this error.", TWICE),
        "Check what has already been done before you try again.",
    ),
    (USER, IN_THE_ANSWER, "No failure is recorded.", REPEATS),
    ("The agent stopped making progress.", AFTER_TOOL, CHANGED, WATCHDOG, TWICE),
    (LEFT, IN_THE_ANSWER, "No fault of the agent's or the model provider's is recorded", REPEATS),
)
ENDS = (
    "network error: connection lost",
    "cancelled by the user",
    "agent stalled: idle timeout",
    "cancelled by the client, which left",
)


def text_of(state: Path) -> str:
    """The summary without Markdown's marks of plain characters."""
    return re.sub(r"\\(.)", r"\1", summary_of(state))


def assert_in_order(pieces: tuple[str, ...], text: str) -> None:
    place = 0
    for piece in pieces:
        found = text.find(piece, place)
        assert found >= 0, f"{piece!r} does not stand there, or too early: {text}"
        place = found + len(piece)


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
    text = text_of(desk.state)
    _, *turns = re.split(r"^## Turn \d+$", text, flags=re.MULTILINE)
    assert len(turns) == len(TURNS)
    for tells, ended, turn in zip(TELLS, ENDS, turns, strict=True):
        assert_in_order(tells, turn)
        assert f"`{ended}`" in text
    assert "Let me look" not in text
    assert "SECRET-WORDS" not in text
    # The summary and the timeline of an export tell the same.
    found = members(desk.state, tmp_path)
    assert found["summary.md"] == summary_of(desk.state)
    kinds = re.findall(r'"kind":"(\w+)"', found["timeline.jsonl"])
    told = [k for k in kinds if k in {"prompt", "tool_started", "tool_ended", "error"}]
    assert told[:4] == ["prompt", "tool_started", "tool_ended", "error"]
