"""What is known on Windows of a turn that is silent: the agent's own words, and its processes."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.platform.process_tree import belongs_to, listens, owner_of, read_tree
from tests.windows.kit import AGENT, Editor, agent, descendants, failure

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--no-record", "--cancel-grace", "1s")


@pytest.mark.needs_windows
def test_a_retry_in_the_stream_of_events_is_why_the_turn_failed(tmp_path: Path) -> None:
    program = tmp_path / "opencode.py"
    shutil.copy(AGENT, program)
    options = (*QUICK, "--turn-timeout", "8s")
    with Editor(sys.executable, str(program), "acp", options=options) as editor:
        assert failure(editor.prompt(editor.session()))["type"] == "rate_limit"


def test_a_journal_is_read_after_a_silence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QWEN_HOME", str(tmp_path / "Müller"))
    with Editor(*agent("journal"), options=(*QUICK, "--turn-timeout", "12s")) as editor:
        assert failure(editor.prompt(editor.session()))["type"] == "rate_limit"


def test_a_running_program_is_found_below_the_agent() -> None:
    with Editor(*agent("parent")) as editor:
        editor.session()
        tree = read_tree(editor.process.pid)
        assert tree[0].pid == editor.process.pid
        assert {process.pid for process in tree[1:]} <= descendants(editor.process.pid)
        assert {process.name for process in tree[2:]} == {"python"}
        assert all(process.cpu_seconds > 0 for process in tree)
        assert belongs_to(tree[-1].pid, tree[1].pid)
        assert not belongs_to(os.getpid(), tree[1].pid)
    assert read_tree(editor.process.pid) == []


@pytest.mark.needs_windows
def test_an_agent_that_computes_is_busy() -> None:
    with Editor(*agent("spin"), options=("--no-record", "--warn-after", "6s")) as editor:
        session = editor.session(session={"notices": {}})
        prompt = editor.ask(session)
        assert prompt
        assert editor.update("notice")["title"].startswith("The agent itself has been busy for")


def test_a_listener_is_found_by_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert owner_of(port) is not None
    assert owner_of(port) is None
    assert not listens(port, os.getpid())


@pytest.mark.needs_windows
def test_a_listener_belongs_to_its_own_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(port, os.getpid())
        with Editor(*agent("fine")) as editor:
            assert not listens(port, editor.process.pid)
