"""`lastword explain` as a process: a terminal, a pipe, a reader that leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_terminal_gets_colours_unless_they_are_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    command = [sys.executable, "-m", "lastword", "explain", "--status", "429"]
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | environment
        subprocess.run(command, stdout=slave, check=True, timeout=60, env=env)
        os.write(slave, b"<end>")
        shown = b""
        while not shown.endswith(b"<end>"):
            shown += os.read(master, 65_536)
        assert (b"\x1b[" in shown) is coloured
    os.close(master)
    os.close(slave)


def test_a_reader_that_leaves_early_is_not_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_bytes(b'{"message": "429"}\n' * 20_000)
    command = [sys.executable, "-m", "lastword", "explain", "--jsonl", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stderr
        assert json.loads(child.stdout.readline())["type"] == "rate_limit"
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 0


def test_a_line_is_answered_before_the_next_one_comes() -> None:
    command = [sys.executable, "-m", "lastword", "explain", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        for number in range(3):
            child.stdin.write(b'{"id": %d}\n' % number)
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["id"] == number
        child.stdin.close()
        assert child.wait(60) == 0
