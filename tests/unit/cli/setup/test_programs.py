"""Programs and locations: by which name an editor finds them, on each platform."""

from __future__ import annotations

import ntpath
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.cli.setup import programs
from lastword.platform.terminal import arguments, command_line
from lastword.quirks.setup import EDITORS
from tests.kit.rows import every

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
def test_editors_settings_are_in_windows_folders(editor: str, path: str) -> None:
    environment = {
        "APPDATA": ROAMING,
        "USERPROFILE": "C:\\Users\\Jörg Müller",
        "HOME": "/home/of/git",
    }
    places = programs.candidates(EDITORS[editor], environment, "win32")
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
def test_editors_settings_are_in_macos_folders(editor: str, path: str) -> None:
    environment = {"HOME": "/Users/me", "XDG_CONFIG_HOME": "/Users/me/xdg"}
    assert programs.candidates(EDITORS[editor], environment, "darwin")[0] == path


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
    assert programs.default_name(["/x/opencode.cmd", "acp"]) == "opencode-lastword"
    assert programs.default_name(["/x/npx.CMD", "-y", "@pi/pi-acp"]) == "pi-acp-lastword"


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


def test_a_single_printed_argument_is_not_a_program_to_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert arguments(["my agent"]) == '"my agent"'


def program(folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def test_lastword_is_named_without_a_path_where_editors_find_it(tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "lastword")
    environment = {"PATH": str(tmp_path / "bin")}
    found = programs.own_command(environment, whole=False)
    assert found.words == ["lastword"]
    assert path in found.note
    assert programs.own_command(environment, whole=True).words == [path]


def test_lastword_of_an_active_virtual_environment_is_named_by_its_path(tmp_path: Path) -> None:
    program(tmp_path / "venv/bin", "lastword")
    environment = {"PATH": f"{tmp_path}/venv/bin:.:bin", "VIRTUAL_ENV": f"{tmp_path}/venv"}
    assert programs.lasting_path(environment) == ""
    found = programs.own_command(environment, whole=False)
    assert found.words[0] != "lastword"
    assert "whole path" in found.note


def test_an_installation_without_its_script_is_run_as_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    found = programs.own_command({"PATH": str(tmp_path)}, whole=False)
    assert found.words == [str(tmp_path / "python"), "-P", "-m", "lastword"]
    assert programs.is_ours([*found.words, "run", "--", "x"])


def test_a_temporary_installation_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passing = tmp_path / "uv/archive-v0/x/bin"
    own = program(passing, "lastword")
    monkeypatch.setattr(sys, "executable", str(passing / "python"))
    found = programs.own_command({"PATH": str(passing)}, whole=False)
    assert found.words == [own]
    assert "may be deleted" in found.note


def test_the_advised_install_command_names_lastwords_own_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"PATH": str(tmp_path)}
    clone = {"url": "file:///home/ada/lastword", "dir_info": {}}
    monkeypatch.setattr("lastword._installation._origin", lambda: clone)
    note = programs.own_command(environment, whole=False).note
    assert "`uv tool install /home/ada/lastword` or `pipx install /home/ada/lastword`" in note


def test_an_agent_is_named_as_it_was_given_unless_its_path_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path / "bin", "agent")
    environment = {"PATH": str(tmp_path / "bin")}

    def words(*command: str, whole: bool = False) -> list[str]:
        return programs.agent_command(command, environment, "", whole=whole).words

    assert words("agent", "acp") == ["agent", "acp"]
    assert words("agent", "acp", whole=True) == [path, "acp"]
    monkeypatch.chdir(tmp_path / "bin")
    assert words("./agent") == [path]


def test_a_missing_agent_is_reported_with_how_to_get_it() -> None:
    found = programs.agent_command(["nowhere"], {"PATH": "/nowhere"}, "npm i x", whole=True)
    assert found.words == ["nowhere"]
    assert found.note == "`nowhere` was not found on PATH. To get it: npm i x."
    assert "whole path" in programs.agent_command(["no"], {"PATH": "/no"}, "", whole=False).note


@every(
    ("words", "ours"),
    [
        (["lastword", "run", "--", "x"], True),
        (["/opt/bin/lastword", "run", "--retry", "2", "--", "x"], True),
        (["/usr/bin/python3", "-m", "lastword", "run", "--", "x"], True),
        (["/usr/bin/python3", "-P", "-m", "lastword", "run", "--", "x"], True),
        (["lastword", "connect", "http://x"], False),
        (["lastword", "connect", "--ssh", "box", "http://x"], True),
        (["/usr/bin/python3", "-P", "-m", "lastword", "connect", "--ssh", "box"], True),
        (["lastword", "run"], False),
        (["opencode", "acp"], False),
        (["lastword"], False),
        ([], False),
    ],
)
def test_an_own_command_is_one_that_runs_an_agent_behind_lastword(
    words: list[str], ours: bool
) -> None:
    assert programs.is_ours(words) is ours


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["opencode", "acp"], "opencode-lastword"),
        (["npx", "-y", "@agentclientprotocol/codex-acp@latest"], "codex-acp-lastword"),
        (["npx", "pi-acp"], "pi-acp-lastword"),
        (["python3", "./my agent.py"], "my-agent-lastword"),
        (["/opt/bin/goose"], "goose-lastword"),
        (["env"], "env-lastword"),
        (["--odd"], "agent-lastword"),
        (["npx", "@scope"], "scope-lastword"),
    ],
)
def test_an_entry_is_named_for_its_agent(command: list[str], name: str) -> None:
    assert programs.default_name(command) == name


def test_zeds_settings_are_located_where_zed_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    home = str(tmp_path)
    zed = EDITORS["zed"]

    def path(**more: str) -> str:
        return programs.settings_paths(zed, {"HOME": home} | more)[0]

    assert path() == f"{home}/.config/zed/settings.json"
    assert path(XDG_CONFIG_HOME="/x") == "/x/zed/settings.json"
    assert path(XDG_CONFIG_HOME="relative") == f"{home}/.config/zed/settings.json"
    assert path(FLATPAK_XDG_CONFIG_HOME="/f", XDG_CONFIG_HOME="/x") == "/f/zed/settings.json"
    flatpak = tmp_path / ".var/app/dev.zed.Zed/config/zed"
    flatpak.mkdir(parents=True)
    assert path() == f"{flatpak}/settings.json"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert path(XDG_CONFIG_HOME="/x") == f"{home}/.config/zed/settings.json"


def test_an_existing_settings_file_is_preferred(tmp_path: Path) -> None:
    there = tmp_path / ".config/VSCodium/User/settings.json"
    there.parent.mkdir(parents=True)
    there.write_text("{}")
    environment = {"HOME": str(tmp_path)}
    assert programs.settings_paths(EDITORS["vscode"], environment) == [str(there)]
    assert programs.shown(str(there), environment) == "~/.config/VSCodium/User/settings.json"
    assert programs.shown("/etc/x", environment) == "/etc/x"


def test_an_unknown_name_is_answered_with_the_nearest_and_all() -> None:
    assert programs.unknown("editor", "zde", ["zed", "toad"]) == (
        "there is no editor 'zde'; did you mean zed? There are: zed, toad"
    )
    assert programs.unknown("editor", "qqq", ["zed"]) == "there is no editor 'qqq'. There are: zed"


def test_a_command_to_type_after_uvx_starts_with_uvx_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "uvx_command", lambda: ["uvx", "--from", "/clone", "lastword"])
    for folder, words in {
        "uv/archive-v0/a/bin": ["uvx", "--from", "/clone", "lastword"],
        "uv/tools/a/bin": ["lastword"],
    }.items():
        program = tmp_path / folder / "lastword"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert programs.typed_command({"PATH": str(program.parent)}) == words
