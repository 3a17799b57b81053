"""What `lastword` alone prints: the editors and agents of this machine, and one command."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.cli.setup import here, programs

if TYPE_CHECKING:
    from pathlib import Path


class Machine:
    """A home with editors' settings, a folder of programs, and a project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.bin, self.project = folder / "home", folder / "bin", folder / "project"
        for each in (self.home, self.bin, self.project):
            each.mkdir()
        self.environment = {"HOME": str(self.home), "PATH": str(self.bin)}

    def program(self, name: str) -> None:
        file = self.bin / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)

    def zed(self, agents: dict[str, list[str]] | None = None) -> Path:
        return self.settings(".config/zed/settings.json", "agent_servers", agents)

    def settings(self, place: str, section: str, agents: dict[str, list[str]] | None) -> Path:
        file = self.home / place
        file.parent.mkdir(parents=True)
        if agents is not None:
            entries = {
                name: {"command": first, "args": rest} for name, (first, *rest) in agents.items()
            }
            file.write_text(json.dumps({section: entries}))
        return file

    def plan(self) -> str:
        return " ".join(here.plan(self.environment, str(self.project)).split())


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(programs, "typed_command", lambda _: ["lastword"])
    return Machine(tmp_path)


def test_an_editor_without_an_agent_is_given_the_one_that_can_be_started(machine: Machine) -> None:
    machine.zed({})
    machine.program("opencode")
    assert machine.plan() == (
        "Editors: Zed (~/.config/zed/settings.json) Agents: OpenCode "
        "To put lastword in front of OpenCode in Zed: lastword setup zed --write opencode "
        "This adds opencode-lastword to ~/.config/zed/settings.json, and saves a copy of the file "
        "first. Nothing has been changed so far. "
        "Other editors and agents: `lastword setup --list`; all commands: `lastword --help`."
    )


def test_settings_that_cannot_be_changed_are_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = machine.zed({})
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *given: given[1] != os.W_OK)  # root may write all
        assert "settings.json cannot be changed: it is read-only. Once" in machine.plan()
    file.write_text("{")
    assert "settings.json cannot be changed: it is not valid JSON" in machine.plan()
    assert "saves a copy" not in machine.plan()


def test_an_agent_in_the_settings_is_wrapped(machine: Machine) -> None:
    machine.zed({"My Agent": ["my-agent", "acp"]})
    machine.program("opencode")
    assert "lastword setup zed --write --wrap 'My Agent' This changes My Agent in" in machine.plan()


def test_an_agent_behind_lastword_is_checked(machine: Machine) -> None:
    machine.zed(
        {"oc": ["lastword", "run", "--", "opencode", "acp"], "opencode": ["opencode", "acp"]}
    )
    plan = machine.plan()
    assert "Zed already starts oc behind lastword. To check the agent: lastword doctor" in plan
    assert "lastword doctor -- opencode acp This starts the agent" in plan


def test_the_command_has_a_placeholder_without_a_known_agent(machine: Machine) -> None:
    machine.zed()
    plan = machine.plan()
    assert "Agents: none that lastword knows" in plan
    assert "lastword setup zed --write -- CMD This adds your agent, started by CMD, to" in plan
    assert "copy" not in plan  # there is no file yet


def test_the_agent_is_checked_where_no_editor_is_found(machine: Machine) -> None:
    machine.program("gemini")
    plan = machine.plan()
    assert "Editors: none that lastword knows Agents: Gemini CLI" in plan
    assert "lastword doctor -- gemini --acp" in plan


def test_no_plan_is_printed_where_nothing_is_recognised(machine: Machine) -> None:
    machine.program("npx")
    assert machine.plan() == ""


@pytest.mark.parametrize("place", ["home", "project"])
def test_an_agent_run_by_npx_counts_if_it_has_left_settings(machine: Machine, place: str) -> None:
    machine.program("npx")
    (getattr(machine, place) / ".claude").mkdir()
    assert "Agents: Claude Code To check" in machine.plan()


def test_the_editor_with_settings_in_this_folder_comes_first(machine: Machine) -> None:
    machine.zed({"a": ["a"]})
    machine.settings(".jetbrains/acp.json", "agent_servers", {})
    (machine.project / ".idea").mkdir()
    assert "in JetBrains IDEs: lastword setup jetbrains" in machine.plan()


def test_the_extension_with_agents_is_chosen_where_two_share_a_file(machine: Machine) -> None:
    place = ".config/Code/User/settings.json"
    if sys.platform == "darwin":
        place = "Library/Application Support/Code/User/settings.json"
    machine.settings(place, "agent_servers", {"a": ["a"]})
    assert "lastword setup vscode-acp-plugin --write --wrap a" in machine.plan()


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"agent_servers": 1}', ""])
def test_unreadable_settings_count_as_none(machine: Machine, text: str) -> None:
    machine.zed().write_text(text)
    assert "lastword setup zed --write -- CMD" in machine.plan()


def test_a_plan_changes_no_file(machine: Machine) -> None:
    settings = machine.zed({"a": ["a"]})
    before = sorted(machine.home.rglob("*")), settings.read_text()
    machine.plan()
    assert (sorted(machine.home.rglob("*")), settings.read_text()) == before
    assert os.listdir(machine.project) == []
