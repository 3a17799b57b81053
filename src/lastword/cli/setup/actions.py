"""The actions of `lastword setup` on an editor's settings: show, write, remove, wrap.

Owns the decisions, and the messages for refusals. Changes of the text are in `settings_text`,
access to the file is in `settings_file`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lastword.cli.setup import entries, locations, programs, remote, settings_text
from lastword.cli.setup.jsonc import as_json
from lastword.cli.setup.settings_file import load, save
from lastword.cli.setup.settings_text import AgentSettings, SettingsError
from lastword.platform.terminal import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.cli.setup.remote import Remote
    from lastword.cli.setup.settings_file import SettingsFile
    from lastword.quirks.setup import AgentCommand, Editor


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """The request of the command line.

    Attributes:
        editor: whose settings to change.
        agent: the agent, if it is a known one.
        command: its command; empty if none was given.
        run_words: the options of `lastword run`, as words.
        name: the name for the entry; empty if none was given.
        file: another settings file; empty for the editor's own.
        create: create the folder of the settings file if it does not exist.
        force: replace or remove an entry that lastword did not write.
        environment: the variables of this process.
        remote: the machine of the agent, if it is another one.
        connect_words: the words of `lastword connect` for it, in place of `lastword run` and the
            agent's command.
    """

    editor: Editor
    agent: AgentCommand | None
    command: list[str]
    run_words: list[str]
    name: str
    file: str
    create: bool
    force: bool
    environment: Mapping[str, str]
    remote: Remote | None = None
    connect_words: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The settings file."""
        if self.file:
            return os.path.abspath(os.path.expanduser(self.file))
        return locations.settings_paths(self.editor, self.environment)[0]

    @property
    def entry_name(self) -> str:
        """Return the entry's name; empty if neither a name nor an agent was given."""
        name = self.name
        suffix = self.remote.suffix if self.remote else locations.SUFFIX
        if not name and self.agent:
            name = self.agent.name + suffix
        elif not name and self.command:
            name = locations.default_name(self.command).removesuffix(locations.SUFFIX) + suffix
        # acpx knows no capital letters.
        return name.strip().lower() if self.editor.form == "argv" else name


@dataclass(slots=True)
class SetupOutcome:
    """The outcome: what was done, or what the user must do by hand.

    Attributes:
        action: `print`, `written`, `replaced`, `unchanged`, `wrapped`, `unwrapped`, `removed` or
            `absent`.
        name: the entry's name.
        path: the settings file; empty if there is none.
        snippet: what was put in, or should be.
        backup: the copy of the old settings; empty if there were none.
        notes: what the user should know, in sentences.
        entry: the entry, if it is JSON.
    """

    action: str
    name: str
    path: str
    snippet: entries.Snippet | None = None
    backup: str = ""
    notes: list[str] = field(default_factory=list[str])
    entry: dict[str, Any] | None = None


def show(request: SetupRequest) -> SetupOutcome:
    """Return what to put into the editor's configuration, and change nothing."""
    words, notes = _words(request)
    env = _env(request, words)
    snippet = entries.snippet(request.editor, request.entry_name, words, request.agent, env)
    if not request.editor.is_json:
        return SetupOutcome("print", _called(request), "", snippet, notes=notes)
    entry = entries.entry(request.editor.form, words, env)
    notes += _other_places(request)
    return SetupOutcome(
        "print", request.entry_name, request.path, snippet, notes=notes, entry=entry
    )


def write(request: SetupRequest) -> SetupOutcome:
    """Put the entry into the settings file.

    Raises:
        SettingsError: it cannot be done; nothing has changed.
    """
    outcome, file, text = _prepared(request)
    if outcome.action != "unchanged":
        outcome.backup = save(file, text, may_create=request.create)
    return outcome


def check(request: SetupRequest) -> None:
    """Check that the entry can be put into the settings file, and change nothing.

    Raises:
        SettingsError: it cannot.
    """
    _prepared(request)


def _prepared(request: SetupRequest) -> tuple[SetupOutcome, SettingsFile, str]:
    """Return the outcome of `write`, the settings file, and its new text; save nothing.

    Raises:
        SettingsError: The entry cannot be put in.
    """
    outcome = show(request)
    file, settings = _open(request)
    old, new = settings.entry(outcome.name), outcome.entry or {}
    if old is not None and not request.force:
        new, variables = _with_variables(old.plain, new)
        # Their values may be keys: what is shown of the entry is lastword's own part.
        outcome.notes += [f"Its own variables stay: {', '.join(variables)}."] if variables else []
    if old is not None and old.plain == new:
        outcome.action = "unchanged"
        return outcome, file, file.text
    if old is not None and not request.force:
        _may_be_replaced(outcome.name, old.plain, new)
    outcome.action = "written" if old is None else "replaced"
    return outcome, file, settings_text.put(settings, outcome.name, new)


def remove(request: SetupRequest) -> SetupOutcome:
    """Take the entry out of the settings file.

    Raises:
        SettingsError: it is not ours, or cannot be taken out; nothing has changed.
    """
    file, settings = _open(request)
    name = request.entry_name or _only_one(settings, request.remote)
    outcome = SetupOutcome("absent", name, request.path)
    old = settings.entry(name) if name else None
    if old is None:
        return outcome
    if not request.force and not programs.is_ours(entries.words_of(old.plain)):
        raise SettingsError(f"its entry {name!r} does not run lastword; --force removes it")
    outcome.backup = save(file, settings_text.remove_entry(settings, name))
    outcome.action = "removed"
    outcome.notes += remote.forgotten(entries.words_of(old.plain), request.environment)
    return outcome


def wrap(request: SetupRequest, name: str, *, is_written: bool) -> SetupOutcome:
    """Put lastword in front of an agent that the settings have.

    Raises:
        SettingsError: there is no such agent, or it has no command; nothing has changed.
    """
    file, settings, words = _existing(request, name)
    whole = programs.uses_whole_paths(request.editor)
    own = programs.own_command(request.environment, whole=whole)
    outcome = SetupOutcome("unchanged", name, request.path, notes=[own.note])
    if programs.is_ours(words):
        return outcome
    new = [*own.words, "run", *request.run_words, "--", *words]
    return _rewritten(outcome, file, settings, new, "wrapped" if is_written else "print")


def unwrap(request: SetupRequest, name: str) -> SetupOutcome:
    """Take lastword away from in front of an agent, and leave the agent.

    Raises:
        SettingsError: there is no such agent, or it has no command; nothing has changed.
    """
    file, settings, words = _existing(request, name)
    outcome = SetupOutcome("unchanged", name, request.path)
    if not programs.is_ours(words) or "--" not in words:
        return outcome
    return _rewritten(outcome, file, settings, programs.behind(words), "unwrapped")


def _words(request: SetupRequest) -> tuple[list[str], list[str]]:
    """Return the whole command line, and notes about it."""
    whole = programs.uses_whole_paths(request.editor)
    own = programs.own_command(request.environment, whole=whole)
    if request.connect_words:
        return [*own.words, *request.connect_words], [own.note] if own.note else []
    install = request.agent.install if request.agent else ""
    agent = programs.agent_command(request.command, request.environment, install, whole=whole)
    words = [*own.words, "run", *request.run_words, "--", *agent.words]
    return words, [note for note in (own.note, agent.note) if note]


def _env(request: SetupRequest, words: list[str]) -> dict[str, str]:
    # Where programs are named by whole paths, the editor's own PATH is rarely the terminal's; the
    # agent, and what it runs, are looked for there.
    if request.connect_words:
        return {}  # `ssh` is where every system has it
    path = programs.path_for(request.editor, programs.behind(words), request.environment)
    return {"PATH": path} if path else {}


def _other_places(request: SetupRequest) -> list[str]:
    if request.file:
        return []
    paths = locations.settings_paths(request.editor, request.environment)[1:]
    others = [locations.shown(path, request.environment) for path in paths]
    return [f"There is also {' and '.join(others)}; --file PATH chooses."] if others else []


def _called(request: SetupRequest) -> str:
    """Return the name that the user sees, in an editor whose configuration is a program."""
    if request.editor.form == "agent-shell" and request.agent and request.agent.agent_shell:
        return request.agent.title
    return request.entry_name


def _open(request: SetupRequest) -> tuple[SettingsFile, AgentSettings]:
    file = load(request.path)
    return file, settings_text.read(file.text, request.editor.section)


def _with_variables(plain: Any, new: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the entry with the variables that the user gave the old one, and their names."""
    old = plain.get("env") if isinstance(plain, dict) else None
    own = new.get("env", {})
    if not isinstance(old, dict):
        return new, []
    return new | {"env": old | own}, sorted(set(old) - set(own))


def _may_be_replaced(name: str, plain: Any, new: Mapping[str, Any]) -> None:
    if not programs.is_ours(entries.words_of(plain)):
        raise SettingsError(
            f"it has an entry {name!r} that does not run lastword: choose another --name, put "
            f"lastword in front of it with --wrap {arguments([name])}, or replace it with "
            "--force"
        )
    more = sorted(set(plain) - set(new))
    if more:
        raise SettingsError(
            f"its entry {name!r} has {', '.join(more)} besides the command, which would be lost: "
            "change it by hand, or replace it with --force"
        )


def _only_one(settings: AgentSettings, machine: Remote | None) -> str:
    """Return the name of the one entry that a bare `--remove` can mean, or nothing.

    Args:
        settings: The settings.
        machine: The other machine that it is about, if it is about one.

    Raises:
        SettingsError: There are several, or the entry may predate lastword.
    """
    members = settings.agents.members or () if settings.agents else ()
    commands = {member.key: entries.words_of(member.value.plain) for member in members}
    names = [name for name, words in commands.items() if programs.is_ours(words)]
    if machine is not None:
        names = [name for name in names if remote.host_of(commands[name]) == machine.host]
    if len(names) > 1:
        raise SettingsError(
            f"several of its entries run lastword ({', '.join(names)}): say which, with --name"
        )
    if names and "--" in commands[names[0]] and not names[0].endswith(locations.SUFFIX):
        named = arguments([names[0]])
        raise SettingsError(
            f"its entry {names[0]!r} runs lastword: --wrap {named} --remove leaves the agent "
            f"without lastword, --name {named} --remove takes both out"
        )
    return names[0] if names else ""


def _existing(request: SetupRequest, name: str) -> tuple[SettingsFile, AgentSettings, list[str]]:
    file, settings = _open(request)
    old = settings.entry(name)
    if old is None:
        names = [member.key for member in settings.agents.members or ()] if settings.agents else []
        there = f"it has {', '.join(names)}" if names else "it has none"
        raise SettingsError(f"there is no entry {name!r} in it ({there})")
    words = entries.words_of(old.plain)
    if not words:
        raise SettingsError(
            f"its entry {name!r} has no command (the editor starts that agent by itself): add the "
            f"agent from scratch, as in `lastword setup {request.editor.name} claude`"
        )
    return file, settings, words


def _rewritten(
    outcome: SetupOutcome,
    file: SettingsFile,
    settings: AgentSettings,
    words: list[str],
    action: str,
) -> SetupOutcome:
    old = settings.entry(outcome.name)
    plain = old.plain if old else {}
    changes = entries.changed_words(plain, words)
    text = settings_text.rewrite(settings, outcome.name, changes)
    after = settings_text.read(text, settings.section)
    entry = after.entry(outcome.name)
    shown = _dedented(text[entry.start : entry.end]) if entry else ""
    outcome.snippet = entries.Snippet(shown, "json")
    outcome.entry = as_json(entry.plain) if entry else None
    outcome.action = action
    if action != "print":
        outcome.backup = save(file, text)
    return outcome


def _dedented(text: str) -> str:
    """Return an object's text without its indentation."""
    first, *rest = text.splitlines()
    indent = rest[-1][: len(rest[-1]) - len(rest[-1].lstrip())] if rest else ""
    return "\n".join([first, *(line.removeprefix(indent) for line in rest)])
