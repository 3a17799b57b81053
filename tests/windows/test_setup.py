"""Setting up editors on Windows, and what the other commands say there."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.windows.kit import Editor, agent, lastword, run, said_by

if TYPE_CHECKING:
    from pathlib import Path

ZED = "Zed/settings.json"
VSCODE = "Code/User/settings.json"


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The profile of a user with an umlaut and a space, in the code page of Western Europe."""
    home = tmp_path / "Jürgen Müller"
    for variable, folder in (("APPDATA", "Roaming"), ("LOCALAPPDATA", "Local")):
        (home / "AppData" / folder).mkdir(parents=True)
        monkeypatch.setenv(variable, str(home / "AppData" / folder))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    monkeypatch.chdir(home)
    return home


def said(*arguments: str) -> tuple[int, str]:
    """Return the exit status and the output of lastword."""
    return said_by(*lastword(*arguments), encoding="cp1252")


def test_zed_gets_its_entry_and_keeps_the_users_comments_and_line_ends(profile: Path) -> None:
    file = profile / "AppData" / "Roaming" / ZED
    file.parent.mkdir()
    before = b'// m\xc3\xbcde\r\n{\r\n  "theme": "One Dark", // for the night\r\n}\r\n'
    file.write_bytes(before)
    status, told = said("setup", "zed", "--write", "--", *agent("fine"))
    assert status == 0, told
    written = file.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n")
    assert b"// for the night" in written
    assert "müde".encode() in written
    assert b'"run", "--"' in written


@pytest.mark.parametrize(
    ("editor", "place", "member"),
    [
        ("jetbrains", ".jetbrains/acp.json", "agent_servers"),
        ("vscode", f"AppData/Roaming/{VSCODE}", "acp.agents"),
    ],
)
def test_an_editor_without_settings_gets_them_in_the_right_place(
    profile: Path, editor: str, place: str, member: str
) -> None:
    status, told = said("setup", editor, "--write", "--create", "--", *agent("fine"))
    assert status == 0, told
    (entry,) = json.loads((profile / place).read_text(encoding="utf-8"))[member].values()
    started = [entry["command"], *entry["args"]]
    assert started[-len(agent("fine")) :] == agent("fine")
    assert os.path.isabs(entry["command"])
    run(*started, "--version")


def test_the_doctor_finds_an_agent_usable(profile: Path) -> None:
    assert profile.is_dir()
    status, told = said("doctor", "--", *agent("fine"))
    assert status == 0, told
    assert "tested in Wine" in told


def test_the_gateway_states_its_system_requirement() -> None:
    status, told = said("gateway")
    assert status != 0
    assert "needs Linux or macOS" in told


def test_a_folder_may_have_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["Aufzeichnungen für Müller"] * 10)
    assert len(str(folder)) > 260
    with Editor(*agent("silent"), options=("--record", str(folder))) as editor:
        editor.prompt(editor.session())
        editor.leave()
    status, told = said("log", "--record", str(folder))
    assert status == 0, told
    assert "unknown error" in told


def test_the_console_script_starts_lastword() -> None:
    script = os.path.join(os.path.dirname(sys.executable), "Scripts", "lastword.exe")
    assert run(script, "--version").stdout.startswith(b"lastword ")
