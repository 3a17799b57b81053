"""A missing extra, however lastword was installed: the command that is named adds it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.installs import INSTALL_TIMEOUT_SECONDS, require_packages
from tests.kit.places import ROOT
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.matrix

INSTALLERS = ROOT / "tests" / "interop" / "installers"

WAYS = {
    "pip": (["{python}", "-m", "pip", "install", "-q", "{root}"], "venv/bin"),
    "a clone": (["{python}", "-m", "pip", "install", "-q", "-e", "{root}"], "venv/bin"),
    "uv pip": (["uv", "pip", "install", "-q", "--python", "{python}", "{root}"], "venv/bin"),
    "uv tool": (["uv", "tool", "install", "-q", "{root}"], "bin"),
    "pipx": (["pipx", "install", "-q", "{root}"], "bin"),
}  # fmt: skip
"""How each way installs the checkout, and where the command is then."""


def run(command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return run_program(command, check=False, timeout=INSTALL_TIMEOUT_SECONDS, env=environment)


@pytest.mark.parametrize("way", WAYS)
def test_the_suggested_command_adds_the_extra_in_the_same_way(way: str, tmp_path: Path) -> None:
    tools = require_packages(INSTALLERS).parent
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "UV_TOOL_DIR": str(tmp_path / "uv"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "UV_PYTHON": sys.executable,
        "UV_NO_PROGRESS": "1",
    }
    environment.pop("VIRTUAL_ENV", None)
    environment.pop("PYTHONPATH", None)
    install, folder = WAYS[way]
    venv = tmp_path / "venv"
    if folder == "venv/bin":
        subprocess.run(
            [sys.executable, "-m", "venv", venv], check=True, timeout=INSTALL_TIMEOUT_SECONDS
        )
    done = run(
        [word.format(python=venv / "bin" / "python", root=ROOT) for word in install], environment
    )
    assert done.returncode == 0, done.stderr
    connect = [str(tmp_path / folder / "lastword"), "connect", "no address"]

    said = run(connect, environment)
    assert said.returncode == 2
    lead, _, command = said.stderr.partition(" brings: ")
    assert lead == "lastword: lastword connect needs the module websockets, which the extra gateway"
    assert f"{ROOT}[gateway]" in command
    added = run(shlex.split(command), environment)
    assert added.returncode == 0, added.stderr

    assert "URL cannot be 'no address'" in run(connect, environment).stderr
