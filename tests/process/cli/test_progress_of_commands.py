"""What a command that takes long says meanwhile on a terminal, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lastword.cli import record_access
from lastword.record.trends import PROGRESS_EVERY, trends_of
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import a_book, now_ms, write

if TYPE_CHECKING:
    from pathlib import Path

SILENT = [sys.executable, "-c", "import time; time.sleep(60)"]


def _shown(fd: int, text: str) -> str:
    """What stands on a terminal, up to a text."""
    seen = ""
    fuse = time.monotonic() + FUSE_SECONDS
    while text not in seen and time.monotonic() < fuse:
        if select.select([fd], [], [], 1.0)[0]:
            try:
                seen += os.read(fd, 65536).decode(errors="replace")
            except OSError:  # Linux says so of a terminal that nobody has open any more
                break
    assert text in seen, seen
    return seen


@pytest.mark.parametrize(
    ("arguments", "shown", "said"),
    [
        (
            ("check", "--only", "opens-session", "--", *SILENT),
            "0 of 1 checks done; playing ",
            "stopped",
        ),
        (
            ("doctor", "--", *SILENT),
            "Waiting for the agent's first answer (",
            "the agent has been ended",
        ),
        (("demo",), "Three agents fail", "stopped"),
    ],
)
def test_a_slow_command_shows_its_progress_and_ctrl_c_ends_it_with_one_line(
    arguments: tuple[str, ...], shown: str, said: str
) -> None:
    ours, theirs = pty.openpty()
    line = [sys.executable, "-P", "-m", "lastword", *arguments]
    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        _shown(ours, shown)
        process.send_signal(signal.SIGINT)
        after = _shown(ours, said)
        after += "" if after.endswith("\n") else _shown(ours, "\n")
        assert process.wait(FUSE_SECONDS) == 130
        assert after.rpartition("\033[K")[2].count("\n") == 1, "one line, in place of the other"
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(ours)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("export", "lastword export: stopped; no file was written\n"),
        ("stats", "lastword stats: stopped\n"),
        ("log", ""),
    ],
)
def test_an_interrupted_record_command_reports_it_with_status_130(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    def stopped() -> int:
        raise KeyboardInterrupt

    assert record_access.answer(command, str(tmp_path / "record.db"), stopped) == 130
    assert capsys.readouterr().err == said


def test_a_sum_over_many_turns_reports_its_progress(tmp_path: Path) -> None:
    path = write(tmp_path, a_book(2 * PROGRESS_EVERY, began_ms=now_ms() - 3_600_000))
    told: list[str] = []
    trends_of(str(path), 1, now_ms() + 1, told.append)
    assert [words.partition(" since ")[0] for words in told] == ["200 turns", "400 turns"]
