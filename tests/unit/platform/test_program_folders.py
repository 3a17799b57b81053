"""Programs that an editor's PATH lacks, on each system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.platform import program_folders
from lastword.platform.program_folders import folders, is_a_script_of_env, located_off_path

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path, text: str = "#!/bin/sh\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "place",
    [".local/bin", ".volta/bin", ".nvm/versions/node/v22.1.0/bin", ".local/share/mise/shims"],
)
def test_a_version_managers_program_is_located_off_path(tmp_path: Path, place: str) -> None:
    path = program(tmp_path / place / "opencode")
    for system in ("linux", "darwin"):
        assert located_off_path("opencode", {"HOME": str(tmp_path)}, system) == path


def test_windows_folders_come_from_its_variables_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "npm").mkdir()
    assert folders({"AppData": str(tmp_path)}, "win32") == [str(tmp_path / "npm")]
    assert folders({}, "win32") == []


def test_the_docks_path_matters_only_on_macos() -> None:
    beyond = program_folders.is_beyond_the_dock
    assert beyond("/opt/homebrew/bin/opencode", "darwin")
    assert not beyond("/usr/bin/python3", "darwin")
    assert not beyond("/opt/homebrew/bin/opencode", "linux")


@pytest.mark.parametrize(
    ("text", "needs_path"),
    [("#!/usr/bin/env node\n", True), ("#!/bin/sh\n", False), ("\x7fELF", False), ("", False)],
)
def test_a_script_of_env_needs_path(tmp_path: Path, text: str, needs_path: bool) -> None:
    assert is_a_script_of_env(program(tmp_path / "agent", text)) is needs_path
    assert not is_a_script_of_env(str(tmp_path / "nothing"))
