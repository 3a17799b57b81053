"""The editors with settings on this machine, the agents that can be started, and the next command.

Owns the output of `lastword` alone, and the choice of the editor in `lastword doctor`. Changes
nothing.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.cli.page import Page
from lastword.cli.setup import programs
from lastword.cli.setup.actions import words_of
from lastword.cli.setup.settings import NESTED, SettingsError, check_writable, load, read
from lastword.core.redact.redactor import redact_text
from lastword.platform.terminal import command_line
from lastword.quirks.setup import COMMANDS, EDITORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.quirks.setup import AgentCommand, Editor

_NOT_ITS_OWN = {"npx", "agent"}
"""Programs that do not show by themselves which agent is used."""


@dataclass(frozen=True, slots=True)
class InstalledEditor:
    """An editor with settings on this machine.

    Attributes:
        editor: its row.
        path: its settings file.
        entries: the agents in the settings, by name, with their commands.
        problem: why the file cannot be changed; empty if it can.
    """

    editor: Editor
    path: str
    entries: dict[str, list[str]]
    problem: str = ""


def editors(environment: Mapping[str, str], folder: str) -> list[InstalledEditor]:
    """Return the editors with settings here, the likeliest first.

    The one with settings for this folder is first, then those with agents.
    """
    installed: dict[str, InstalledEditor] = {}
    for editor in EDITORS.values():
        path = programs.settings_paths(editor, environment)[0] if editor.is_json else ""
        if not os.path.isdir(os.path.dirname(path) or path):
            continue
        members, problem = [], ""
        try:
            file = load(path)
            settings = read(file.text, editor.section)
            members = (settings.agents.members if settings.agents else None) or []
            check_writable(file)
        except SettingsError as error:
            problem = str(error)
        except RecursionError:
            problem = NESTED
        entries = {each.key: words for each in members if (words := words_of(each.value.plain))}
        each = InstalledEditor(editor, path, entries, problem)
        # Two extensions of VS Code have one file.
        if path not in installed or (each.entries and not installed[path].entries):
            installed[path] = each
    return sorted(
        installed.values(), key=lambda each: (not _is_for(each, folder), not each.entries)
    )


def _is_for(installed: InstalledEditor, folder: str) -> bool:
    own = installed.editor.project_folder
    return bool(own) and os.path.isdir(os.path.join(folder, own))


def agents(environment: Mapping[str, str], folder: str) -> list[AgentCommand]:
    """Return the agents that can be started here, without those that need `npx`."""
    path = environment.get("PATH", os.defpath)
    homes = (folder, programs.home_of(environment))
    installed: dict[tuple[str, ...], AgentCommand] = {}
    for agent in COMMANDS:
        program = agent.command[0]
        is_used = (
            program not in _NOT_ITS_OWN
            or shutil.which(agent.name, path=path)
            or any(os.path.isdir(os.path.join(home, f".{agent.name}")) for home in homes)
        )
        if is_used and shutil.which(program, path=path):
            installed.setdefault(agent.command, agent)
    return list(installed.values())


def plan(environment: Mapping[str, str], folder: str) -> str:
    """Return the page about this machine; empty if no known editor or agent was found."""
    installed, startable = editors(environment, folder), agents(environment, folder)
    if not installed and not startable:
        return ""
    page = Page(keeps_words=True)
    names = [
        f"{each.editor.title} ({programs.shown(each.path, environment)})" for each in installed
    ]
    page.row("Editors:  ", "; ".join(names) or "none that lastword knows")
    page.row(
        "Agents:   ", "; ".join(each.title for each in startable) or "none that lastword knows"
    )
    page.line()
    purpose, words, effect = _next(installed, startable, environment)
    page.line(purpose)
    page.line()
    typed = programs.typed_command(environment)
    page.verbatim((f"  {redact_text(command_line([*typed, *words]))}", ""))
    page.line()
    page.line(f"{effect} Nothing has been changed so far.".lstrip())
    page.line("Other editors and agents: `lastword setup --list`; all commands: `lastword --help`.")
    return page.drain()


def _next(
    installed: Sequence[InstalledEditor],
    startable: Sequence[AgentCommand],
    environment: Mapping[str, str],
) -> tuple[str, list[str], str]:
    """Return a purpose, the words of its command after `lastword`, and the command's effect."""
    examines = "This starts the agent and sends it no prompt."
    if not installed:
        purpose = f"To check that {startable[0].title} starts, and what your editor would show:"
        return purpose, ["doctor", "--", *startable[0].command], examines
    editor, entries = installed[0].editor, installed[0].entries
    for name, words in entries.items():
        if programs.is_ours(words) and "--" in words:
            purpose = f"{editor.title} already starts {name} behind lastword. To check the agent:"
            return purpose, ["doctor", "--", *programs.behind(words)], examines
    path = programs.shown(installed[0].path, environment)
    other = next((name for name, words in entries.items() if not programs.is_ours(words)), "")
    if other:
        agent, words, effect = other, ["--wrap", other], f"changes {other} in"
    elif startable:
        agent, words = startable[0].title, [startable[0].name]
        effect = f"adds {startable[0].name}{programs.SUFFIX} to"
    else:
        agent, words, effect = "your agent", ["--", "CMD"], "adds your agent, started by CMD, to"
    saves = ", and saves a copy of the file first" if os.path.exists(installed[0].path) else ""
    purpose = f"To put lastword in front of {agent} in {editor.title}:"
    effect = f"This {effect} {path}{saves}."
    if installed[0].problem:
        purpose = f"{path} cannot be changed: {installed[0].problem}. Once it can be, run:"
        effect = ""
    return purpose, ["setup", editor.name, "--write", *words], effect
