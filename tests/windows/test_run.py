"""`lastword run` on Windows: crashes and silent turns are reported, the rest is passed on."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.windows.kit import Editor, agent, all_gone, descendants, failure, lastword, said_by

if TYPE_CHECKING:
    from pathlib import Path

RUN = lastword("run", "--no-record", "--")
QUICK = ("--no-record", "--first-update-timeout", "1s", "--cancel-grace", "1s")


def test_the_successful_turns_of_two_sessions_are_passed_on() -> None:
    with Editor(*agent("fine")) as editor:
        first, second = editor.session(), editor.session()
        assert editor.prompt(first)["result"]["stopReason"] == "end_turn"
        assert editor.prompt(second)["result"]["stopReason"] == "end_turn"
        assert editor.leave() == 0


def test_an_access_violation_ends_the_turn_as_a_crash_and_the_agent_is_started_again() -> None:
    with Editor(*agent("crash once")) as editor:
        error = failure(editor.prompt(editor.session(), "crash"))
        assert error["type"] == "agent_crash"
        assert "out of luck" in json.dumps(error)
        assert editor.prompt(editor.session())["result"]["stopReason"] == "end_turn"
        editor.leave()
        assert "0xC0000005 (access violation)" in b"".join(editor.errors).decode()


def test_a_hanging_turn_is_ended_and_its_agent_ends_with_the_editor() -> None:
    with Editor(*agent("hang"), options=QUICK) as editor:
        session = editor.session()
        below = descendants(editor.process.pid)
        assert below
        assert failure(editor.prompt(session))["type"] == "agent_stalled"
        editor.leave()
        assert all_gone(below)


def test_a_cancel_that_the_agent_ignores_ends_the_turn() -> None:
    with Editor(*agent("hang"), options=("--no-record", "--cancel-grace", "1s")) as editor:
        session = editor.session()
        prompt = editor.ask(session)
        editor.notify("session/cancel", sessionId=session)
        assert editor.answer(prompt)["result"]["stopReason"] == "cancelled"


def test_a_process_that_the_agent_leaves_is_ended_with_lastword() -> None:
    with Editor(*agent("orphan")) as editor:
        failure(editor.prompt(editor.session()))
        below = descendants(editor.process.pid)
        editor.leave()
        assert all_gone(below)


def test_no_process_outlives_a_killed_lastword() -> None:
    with Editor(*agent("parent")) as editor:
        editor.session()
        below = descendants(editor.process.pid)
        assert len(below) >= 2
        editor.process.kill()
        assert all_gone(below)


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    """A folder with spaces and umlauts, and an agent's batch file as npm writes them."""
    folder = tmp_path / "Prógram Files (für alle)"
    folder.mkdir()
    words = subprocess.list2cmdline(agent("fine"))
    (folder / "shim.cmd").write_bytes(f"@chcp 65001 >nul\r\n@{words} %*\r\n".encode())
    return folder


def test_a_batch_file_of_an_agent_is_started(shims: Path) -> None:
    with Editor(str(shims / "shim"), "two words", "a&b", "c^d") as editor:
        session = editor.session()
        assert editor.prompt(session)["result"]["stopReason"] == "end_turn"
        assert "argument: two words|a&b|c^d" in b"".join(editor.errors).decode()


@pytest.mark.parametrize("word", ['a" & echo x', "%PATH%", "!PATH!", "a\nb"])
def test_an_argument_that_a_batch_file_would_expand_is_refused(shims: Path, word: str) -> None:
    status, errors = said_by(*RUN, str(shims / "shim.cmd"), word)
    assert status != 0
    assert "batch file" in errors


def test_a_program_in_the_working_directory_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "planted.cmd"
    planted.write_text("@echo planted 1>&2\r\n")
    monkeypatch.chdir(tmp_path)
    status, errors = said_by(*RUN, "planted")
    assert status != 0
    assert "planted" in errors
    assert "planted \r" not in errors
