"""`lastword export` of a session that a sidecar recorded, and on a disk that is full."""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import TYPE_CHECKING

from tests.kit.desk import Editor
from tests.kit.programs import run_program
from tests.kit.recording import Book, a_run, lastword, write
from tests.unit.cli.test_export import exported, state

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["state"]


def test_a_real_session_is_exported_in_sentences(tmp_path: Path) -> None:
    state = tmp_path / "state"
    editor = Editor(state, "--record-text")
    for scenario in ("rate_limit", "healthy_tool", "crash_after_text"):
        editor.play(scenario)
    editor.leave()
    members = exported(state, "scripted-1-1")
    summary = members["summary.md"]
    assert summary.startswith("# Session `scripted-1-1`\n")
    assert "`rate limit: tokens per minute`" in summary
    assert "## Turn 1\n" in summary
    assert "## Turn 2\n" not in summary  # it went well
    assert "## Turn 3\n" in summary
    assert "killed" in summary
    assert "SECRET" not in "".join(members.values())
    printed = lastword("export", "--last", "-o", "-", state=state)
    assert printed.stdout == summary
    assert printed.stderr == ""


def test_a_full_disk_leaves_the_existing_file(state: Path) -> None:
    book = Book()
    for turn in range(1, 3000):
        book.failed("long", turn, f"type-{os.urandom(64).hex()}")
    write(state, book, a_run("01LONG"))
    target = state.parent / "out.zip"
    target.write_text("what was there before")

    def bounded() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

    done = run_program(
        [sys.executable, "-m", "lastword", "export", "--last", "--force", "-o", str(target)],
        check=False,
        env=os.environ | {"LASTWORD_STATE_DIR": str(state)},
        preexec_fn=bounded,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"lastword export: cannot write {target}: file too large\n" == done.stderr
    assert target.read_text() == "what was there before"
    assert sorted(os.listdir(state.parent)) == ["out.zip", "state"]
