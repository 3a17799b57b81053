"""acpx, as `lastword setup acpx --write` configured it: the agent starts, and failures are told."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

from tests.interop import toolchain
from tests.interop.client_acpx import PROGRAM
from tests.kit.client import clean_environment
from tests.kit.programs import run_program

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

LASTWORD = [sys.executable, "-m", "lastword"]


def run(command: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(HOME=str(home), NO_COLOR="1")
    return run_program(command, check=False, cwd=home, env=environment)


def acpx(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    toolchain.require_node()
    return run([shutil.which("node") or "node", str(PROGRAM), "--approve-all", *words], home)


def setup(home: Path, *words: str) -> None:
    done = run([*LASTWORD, "setup", "acpx", *words], home)
    assert done.returncode == 0, done.stderr


def test_a_silent_end_behind_the_settings_that_were_written_is_an_error(tmp_path: Path) -> None:
    agent = [*LASTWORD, "agent", "silent_success", "--bare"]
    setup(tmp_path, "--write", "--create", "--name", "Silent", "--", *agent)
    behind = acpx(tmp_path, "silent", "exec", "hi")
    assert "[error] RUNTIME: The agent ended the turn without an answer" in behind.stdout
    assert behind.returncode == 1
    bare = acpx(tmp_path, "--agent", shlex.join(agent), "exec", "hi")
    assert "[done] end_turn" in bare.stdout
    assert bare.returncode == 0


def test_agents_that_acpx_had_are_wrapped_in_each_form_of_theirs(tmp_path: Path) -> None:
    agent = [*LASTWORD, "agent", "silent_success", "--bare"]
    had = {
        "argv": {"argv": agent},
        "command": {"command": shlex.join(agent)},
        "args": {"command": agent[0], "args": agent[1:]},
    }
    file = tmp_path / ".acpx" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"agents": had}))
    for form in had:
        setup(tmp_path, "--wrap", form, "--write")
        behind = acpx(tmp_path, form, "exec", "hi")
        assert "without an answer" in behind.stdout, form
        assert behind.returncode == 1, form
        setup(tmp_path, "--wrap", form, "--remove")
    assert json.loads(file.read_text()) == {"agents": had}
