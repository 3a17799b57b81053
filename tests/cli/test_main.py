"""The command line as a whole: odd places, odd terminals, readers that leave."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

FUSE_SECONDS = 60


def lastword(
    *arguments: str, cwd: Path | None = None, data: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "lastword", *arguments],
        input=data,
        capture_output=True,
        cwd=cwd,
        env=os.environ | environment,
        timeout=FUSE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("--nonsense",)])
def test_a_command_that_is_not_there_is_answered_with_what_there_is(
    arguments: tuple[str, ...],
) -> None:
    done = lastword(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"lastword run -- opencode acp" in done.stderr


def test_the_demo_shows_the_defaults_wherever_and_however_it_is_run(tmp_path: Path) -> None:
    for name in ("json.py", "lastword.py", "select.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    done = lastword("demo", cwd=tmp_path, LASTWORD_PASSTHROUGH="1", LASTWORD_FALLBACK="text")
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert b"type: rate_limit" in done.stdout


@pytest.mark.parametrize("command", [("demo",), ("--help",), ("explain", "--status", "429")])
def test_a_reader_that_leaves_is_no_reason_for_a_traceback(command: tuple[str, ...]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "lastword", *command],
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=FUSE_SECONDS,
        check=False,
    )
    os.close(write_end)
    assert done.stderr == b""


def test_what_a_program_that_is_no_agent_prints_arrives_as_it_printed_it() -> None:
    text = b"usage: agent\n\n  --help   this\n\n"
    done = lastword("run", "--", "printf", "%s", text.decode())
    assert done.stdout == text
    assert done.returncode == 0


def test_what_a_program_that_is_no_agent_prints_is_bounded_and_the_cut_is_said() -> None:
    script = (
        "import sys; sys.stdout.write('x' * 99 + '\\n'); sys.stdout.write('y' * 3000000 + '\\n')"
    )
    done = lastword("run", "--", sys.executable, "-c", script)
    assert done.stdout == b"x" * 99 + b"\n"
    assert b"left out" in done.stderr
