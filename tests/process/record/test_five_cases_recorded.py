"""The cases that matter most, recorded by a real sidecar: the export alone tells what happened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.kit.desk import Desk, members, summary_of
from tests.kit.recording import problems_in

if TYPE_CHECKING:
    from pathlib import Path

Step = dict[str, Any]

SAY: Step = {"say": "Let me look. "}
PLAN: Step = {"update": {"sessionUpdate": "plan", "entries": []}}
EDIT: Step = {"tool": {"title": "Edit a.py", "kind": "edit"}}
READ: Step = {"tool": {"title": "Read a.py", "kind": "read"}}
DONE: Step = {"tool": {"status": "completed"}}
SILENCE: Step = {"silence": True}
LOST: Step = {"fail": {"exception": "APIConnectionError: Connection error. ECONNRESET"}}
CUT: Step = {"fail": {"exception": "peer closed connection (incomplete chunked read)"}}

LEAVES, CANCELS = "leaves", "cancels"

NOTHING_YET = "Nothing had come from the agent yet."
IN_THE_ANSWER = "That was in the middle of the answer. Until then text had been shown"
AFTER_TOOL = "That was after a tool had run, between two steps of the agent."
CHANGED = "1 tool call (edit), which may have changed something."
SAFE = "Sending the prompt again is safe"
REPEATS = "asking the agent to continue does not."
TWICE = "may do twice what a tool has done: look first."
NETWORK = "The fault lies between the agent and the model provider."
AGENT_TOLD = "The agent ended the turn with this error."
NO_FAULT = "No fault of the agent's or the model provider's is recorded"
WATCHDOG = "lastword's watchdog stopped the turn after a silence"
CANNOT_SAY = "its silence does not say which."
LEFT = "The client left"
USER = "The user cancelled the turn"
LOOK = "Open the session again and look at what has been done."

IDLE_LIMITS = ("--first-update-timeout", "1", "--idle-timeout", "1", "--cancel-grace", "1")


class Case(msgspec.Struct, frozen=True):
    """A turn, and what a person should read of it.

    Attributes:
        steps: what the agent does.
        tells: pieces of sentences, in the order in which they stand.
        until: the update that the client waits for before it acts.
        act: what the client does then; nothing, and it waits for the answer.
        ended: how the table says that it ended.
    """

    steps: tuple[Step, ...]
    tells: tuple[str, ...]
    ended: str
    until: str = ""
    act: str = ""
    options: tuple[str, ...] = ()


CASES = {
    "the provider is lost early": Case(
        (LOST,),
        (
            *("The connection to the model provider failed.", NOTHING_YET, AGENT_TOLD),
            *(NETWORK, SAFE, "Try again."),
        ),
        "network error: connection lost",
    ),
    "the provider is lost in the answer": Case(
        (SAY, CUT),
        (
            *("The model provider's answer was cut off.", IN_THE_ANSWER, AGENT_TOLD),
            *(NETWORK, REPEATS, "Ask the agent to continue."),
        ),
        "network error: truncated stream",
    ),
    "the provider is lost after a tool": Case(
        (EDIT, DONE, LOST),
        (
            *("The connection to the model provider failed.", AFTER_TOOL, CHANGED, AGENT_TOLD),
            *(NETWORK, TWICE, "Check what has already been done before you try again."),
        ),
        "network error: connection lost",
    ),
    "the provider is lost after a tool that read": Case(
        (READ, DONE, LOST),
        (AFTER_TOOL, "which only read.", NETWORK, "recorded only read.", "Check what"),
        "network error: connection lost",
    ),
    "the provider is lost while a tool runs": Case(
        (EDIT, LOST),
        ("A tool was running (edit).", CHANGED, NETWORK, TWICE, "Check what has already"),
        "network error: connection lost",
    ),
    "the client leaves early": Case(
        (PLAN, SILENCE),
        (LEFT, "The agent had begun; no text and", NO_FAULT, SAFE, "Open the session again"),
        "cancelled by the client, which left",
        until="plan",
        act=LEAVES,
    ),
    "the client leaves in the answer": Case(
        (SAY, SILENCE),
        (LEFT, IN_THE_ANSWER, NO_FAULT, REPEATS, "Open the session again to go on."),
        "cancelled by the client, which left",
        until="agent_message_chunk",
        act=LEAVES,
    ),
    "the client leaves after a tool": Case(
        (EDIT, DONE, SILENCE),
        (LEFT, AFTER_TOOL, CHANGED, NO_FAULT, TWICE, LOOK),
        "cancelled by the client, which left",
        until="tool_call_update",
        act=LEAVES,
    ),
    "the user cancels early": Case(
        (PLAN, SILENCE),
        (USER, "no text and no tool call had come yet.", "No failure is recorded.", SAFE),
        "cancelled by the user",
        until="plan",
        act=CANCELS,
    ),
    "the user cancels in the answer": Case(
        (SAY, SILENCE),
        (USER, IN_THE_ANSWER, "No failure is recorded.", REPEATS),
        "cancelled by the user",
        until="agent_message_chunk",
        act=CANCELS,
    ),
    "the user cancels after a tool": Case(
        (EDIT, DONE, SILENCE),
        (USER, AFTER_TOOL, CHANGED, "No failure is recorded.", TWICE, "Look at what has been"),
        "cancelled by the user",
        until="tool_call_update",
        act=CANCELS,
    ),
    "the watchdog ends a turn without output": Case(
        (SILENCE,),
        (
            *("The agent stopped making progress.", NOTHING_YET),
            *(f"{WATCHDOG} since the prompt", CANNOT_SAY, SAFE, "Try again."),
        ),
        "agent stalled: first update timeout",
        options=IDLE_LIMITS,
    ),
    "the watchdog ends an answer": Case(
        (SAY, SILENCE),
        (
            *("The agent stopped making progress.", IN_THE_ANSWER, WATCHDOG, CANNOT_SAY),
            *(REPEATS, "Ask the agent to continue."),
        ),
        "agent stalled: idle timeout",
        options=IDLE_LIMITS,
    ),
    "the watchdog ends a turn after a tool": Case(
        (EDIT, DONE, SILENCE),
        (
            *("The agent stopped making progress.", AFTER_TOOL, CHANGED, WATCHDOG, CANNOT_SAY),
            *(TWICE, "Check what has already been done"),
        ),
        "agent stalled: idle timeout",
        options=IDLE_LIMITS,
    ),
}


def played(case: Case, folder: Path, **script: Any) -> Path:
    """Play a turn to its end; gives the state folder."""
    desk = Desk(folder, {"turns": [list(case.steps)], **script}, *case.options)
    number = desk.prompt()
    if case.until:
        desk.until(case.until)
    if case.act == CANCELS:
        desk.cancel()
    if case.act != LEAVES:
        desk.answer(number)
    desk.leave()
    assert problems_in(desk.state / "record.db") == []
    return desk.state


def assert_in_order(pieces: tuple[str, ...], text: str) -> None:
    place = 0
    for piece in pieces:
        found = text.find(piece, place)
        assert found >= 0, f"{piece!r} does not stand there, or too early: {text}"
        place = found + len(piece)


@pytest.mark.parametrize("name", CASES)
def test_the_export_says_what_where_whose_fault_by_whom_and_what_to_do(
    name: str, tmp_path: Path
) -> None:
    case = CASES[name]
    state = played(case, tmp_path)
    text = re.sub(r"\\(.)", r"\1", summary_of(state))  # Markdown's marks of plain characters
    assert_in_order(case.tells, text)
    assert f"`{case.ended}`" in text
    assert "Let me look" not in text
    assert "SECRET-WORDS" not in text


def test_a_cancel_that_the_agent_ignores_is_told_with_who_ended_the_turn(tmp_path: Path) -> None:
    case = msgspec.structs.replace(
        CASES["the user cancels in the answer"], options=("--cancel-grace", "0.3")
    )
    text = summary_of(played(case, tmp_path, on_cancel="ignore"))
    assert_in_order((USER, "The agent did not confirm that; lastword answered for it."), text)


def test_an_agent_that_ignores_the_watchdog_too_is_told_the_same(tmp_path: Path) -> None:
    case = CASES["the watchdog ends an answer"]
    text = summary_of(played(case, tmp_path, on_cancel="ignore"))
    assert_in_order(("failed after", "stopped making progress", WATCHDOG), text)


def test_what_failed_is_not_hidden_by_turns_that_the_user_cancelled(tmp_path: Path) -> None:
    turns = [[LOST], *[[SAY, SILENCE]] * 12]
    desk = Desk(tmp_path, {"turns": turns})
    desk.answer(desk.prompt())
    for _ in range(12):
        number = desk.prompt()
        desk.until("agent_message_chunk")
        desk.cancel()
        desk.answer(number)
    desk.leave()
    text = summary_of(desk.state)
    assert_in_order(("10 of 13 turns", "## Turn 1\n", "## Turn 5\n", "## Turn 13\n"), text)
    assert "## Turn 4\n" not in text


def test_the_summary_and_the_timeline_of_an_export_tell_the_same(tmp_path: Path) -> None:
    state = played(CASES["the provider is lost after a tool"], tmp_path)
    found = members(state, tmp_path)
    assert found["summary.md"] == summary_of(state)
    kinds = re.findall(r'"kind":"(\w+)"', found["timeline.jsonl"])
    assert kinds[-2:] != []
    assert [
        kind for kind in kinds if kind in {"prompt", "tool_started", "tool_ended", "error"}
    ] == [
        *("prompt", "tool_started", "tool_ended", "error"),
    ]
