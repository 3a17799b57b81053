"""What `lastword setup` writes on macOS and Windows; the platform is an argument."""

from __future__ import annotations

import ntpath
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.cli.setup import locations, programs
from lastword.platform.terminal import arguments, command_line
from lastword.quirks.setup import EDITORS

if TYPE_CHECKING:
    from pathlib import Path

ROAMING = "C:\\Users\\Jörg Müller\\AppData\\Roaming"


@pytest.mark.parametrize(
    ("editor", "path"),
    [
        ("zed", f"{ROAMING}\\Zed\\settings.json"),
        ("jetbrains", "C:\\Users\\Jörg Müller\\.jetbrains\\acp.json"),
        ("vscode", f"{ROAMING}\\Code\\User\\settings.json"),
        ("acpx", "C:\\Users\\Jörg Müller\\.acpx\\config.json"),
    ],
)
def test_editors_settings_are_in_windows_own_folders(editor: str, path: str) -> None:
    environment = {
        "APPDATA": ROAMING,
        "USERPROFILE": "C:\\Users\\Jörg Müller",
        "HOME": "/home/of/git",
    }
    places = locations.candidates(EDITORS[editor], environment, "win32")
    assert places[0] == path
    assert all(ntpath.isabs(each) for each in places)


@pytest.mark.parametrize(
    ("editor", "path"),
    [
        ("zed", "/Users/me/.config/zed/settings.json"),
        ("jetbrains", "/Users/me/.jetbrains/acp.json"),
        ("vscode", "/Users/me/Library/Application Support/Code/User/settings.json"),
    ],
)
def test_editors_settings_are_in_macos_own_folders(editor: str, path: str) -> None:
    environment = {"HOME": "/Users/me", "XDG_CONFIG_HOME": "/Users/me/xdg"}
    assert locations.candidates(EDITORS[editor], environment, "darwin")[0] == path


def test_macos_gives_a_script_of_env_the_path_that_leads_to_its_interpreter(tmp_path: Path) -> None:
    script, binary = tmp_path / "agent", tmp_path / "binary"
    script.write_text("#!/usr/bin/env node\n")
    binary.write_text("#!/bin/sh\n")
    environment = {"PATH": str(tmp_path)}
    zed, jetbrains = EDITORS["zed"], EDITORS["jetbrains"]
    assert programs.path_for(zed, [str(script)], environment, "darwin") == str(tmp_path)
    assert programs.path_for(zed, [str(binary)], environment, "darwin") == ""
    assert programs.path_for(zed, [str(script)], environment, "linux") == ""
    assert programs.path_for(jetbrains, [str(binary)], environment, "darwin") == str(tmp_path)
    assert programs.path_for(jetbrains, [str(binary)], environment, "win32") == ""


def test_macos_and_windows_have_programs_named_by_their_whole_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for system, whole in (("linux", False), ("darwin", True), ("win32", True)):
        monkeypatch.setattr(sys, "platform", system)
        assert programs.uses_whole_paths(EDITORS["zed"]) is whole


def test_a_program_off_path_is_written_by_its_whole_path(tmp_path: Path) -> None:
    path = tmp_path / ".volta/bin/opencode"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    environment = {"PATH": "/usr/bin", "HOME": str(tmp_path)}
    command = programs.agent_command(["opencode", "acp"], environment, "", whole=False)
    assert command.words == [str(path), "acp"]
    assert "is not on PATH" in command.note


def test_our_own_entry_is_recognised_with_windows_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["/x/Lastword.EXE", "run", "--", "opencode", "acp"]
    assert not programs.is_ours(words)
    monkeypatch.setattr(sys, "platform", "win32")
    assert programs.is_ours(words)
    assert locations.default_name(["/x/opencode.cmd", "acp"]) == "opencode-lastword"
    assert locations.default_name(["/x/npx.CMD", "-y", "@pi/pi-acp"]) == "pi-acp-lastword"


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ([r"C:\Users\me\bin\lastword.exe", "doctor", "--", "opencode", "acp"], None),
        (["npx", "-y", "pi-acp@1.2", "--model=x:1"], None),
        (["npx", "@pi/pi-acp", "a&b", "a,b", ""], 'npx "@pi/pi-acp" "a&b" "a,b" ""'),
        ([r"C:\Program Files\x.exe", "a b", ""], r"& 'C:\Program Files\x.exe' 'a b' ''"),
        ([r"C:\It's\x.exe", "setup"], r"& 'C:\It''s\x.exe' setup"),
        (["lastword", "$HOME", 'say "x"'], """lastword '$HOME' 'say "x"'"""),
    ],
)
def test_a_printed_command_has_the_quotes_of_windows_there(
    words: list[str], typed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert command_line(words) == (" ".join(words) if typed is None else typed)


def test_an_argument_that_is_printed_alone_is_no_program_to_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert arguments(["my agent"]) == '"my agent"'
