"""The plans of `lastword setup` for an editor's settings: show, write, remove, wrap.

Owns the forms of an entry, as JSON or as code, the decisions, and the messages for refusals. A plan
changes nothing until it is carried out.
`quirks.setup` says which editor uses which form, with the evidence; the settings file is changed
in `settings`.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lastword.cli.setup import programs, remote
from lastword.cli.setup.settings import (
    AgentSettings,
    SettingsError,
    load,
    put,
    read,
    remove_entry,
    render,
    rewrite,
    save,
)
from lastword.platform.terminal import arguments
from lastword.quirks.setup import AGENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.cli.setup.remote import Remote
    from lastword.cli.setup.settings import SettingsFile
    from lastword.quirks.setup import AgentCommand, Editor


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text for an editor's configuration, and its language."""

    text: str
    language: str


def entry_of(form: str, words: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return an agent's entry as JSON, in this form."""
    if form == "argv":
        return {"argv": list(words)}
    kind = {"type": "custom"} if form == "custom" else {}
    command = {"command": words[0], "args": list(words[1:])}
    return kind | command | ({"env": dict(env)} if env else {})


def words_of(value: Any) -> list[str]:
    """Return the command that an entry runs; nothing if its form is unknown."""
    if not isinstance(value, dict):
        return []
    if "argv" not in value and "args" not in value and isinstance(value.get("command"), str):
        return _split(value["command"])
    args = value.get("args") or []
    words = value.get("argv") or (isinstance(args, list) and [value.get("command"), *args])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return []
    return words


def changed_words(value: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the changes that make an entry run another command."""
    if "argv" in value:
        return {"argv": list(words)}
    if "args" not in value and len(_split(value["command"])) > 1:
        return {"command": shlex.join(words)}
    return {"command": words[0], "args": list(words[1:])}


def _split(command: str) -> list[str]:
    """Return a command's words: acpx puts several in one string, others a path with spaces."""
    if os.path.exists(command):
        return [command]
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def snippet_of(
    editor: Editor,
    name: str,
    words: Sequence[str],
    agent: AgentCommand | None,
    env: Mapping[str, str],
) -> Snippet:
    """Return the text that a user adds to the editor's configuration by hand."""
    if editor.is_json:
        whole = {editor.section: {name: entry_of(editor.form, words, env)}}
        return Snippet(render(whole, "", "  ", "\n"), "json")
    if editor.form == "codecompanion":
        # opencode's preset asks for no key and no login, so it suits any agent.
        preset = (agent.codecompanion if agent else "") or "opencode"
        text = f"""\
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      [{_lua(name)}] = function()
        return require("codecompanion.adapters").extend({_lua(preset)}, {{
          name = {_lua(name)},
          formatted_name = {_lua(name)},
          commands = {{
            default = {{ {", ".join(map(_lua, words))} }},
          }},
        }})
      end,
    }},
  }},
}})"""
        return Snippet(text, "lua")
    if editor.form == "avante":
        keys = ("HOME", *(agent.keys if agent else ()))
        variables = ", ".join(f'{key} = os.getenv("{key}")' for key in keys)
        text = f"""\
require("avante").setup({{
  provider = {_lua(name)},
  acp_providers = {{
    [{_lua(name)}] = {{
      command = {_lua(words[0])},
      args = {{ {", ".join(map(_lua, words[1:]))} }},
      env = {{ {variables} }},
    }},
  }},
}})"""
        return Snippet(text, "lua")
    if editor.form == "agent-shell":
        return Snippet(_agent_shell(name, words, agent), "elisp")
    return Snippet(shlex.join(["toad", "acp", shlex.join(words), "--title", name]), "sh")


def _agent_shell(name: str, words: Sequence[str], agent: AgentCommand | None) -> str:
    if agent and agent.agent_shell:
        command = " ".join(map(_elisp, words))
        return f"""\
(with-eval-after-load 'agent-shell
  (setq {agent.agent_shell}
        '({command})))"""
    return f"""\
(with-eval-after-load 'agent-shell
  (add-to-list
   'agent-shell-agent-configs
   (lambda ()
     (agent-shell-make-agent-config
      :identifier (intern {_elisp(name)})
      :mode-line-name {_elisp(name)}
      :buffer-name {_elisp(name)}
      :shell-prompt {_elisp(name + "> ")}
      :shell-prompt-regexp (regexp-quote {_elisp(name + "> ")})
      :client-maker
      (lambda (buffer)
        (agent-shell--make-acp-client
         :command {_elisp(words[0])}
         :command-params '({" ".join(map(_elisp, words[1:]))})
         :context-buffer buffer))))
   t))"""


def _lua(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.replace("\r", "\\r").replace("\0", "\\0")


def _elisp(text: str) -> str:
    """Return an Emacs Lisp string, which may continue on the next line."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """The request of the command line.

    Attributes:
        editor: the editor.
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
        if self.file:
            return os.path.abspath(os.path.expanduser(self.file))
        return programs.settings_paths(self.editor, self.environment)[0]

    @property
    def entry_name(self) -> str:
        """Return the entry's name; empty if neither a name nor an agent was given."""
        name = self.name
        suffix = self.remote.suffix if self.remote else programs.SUFFIX
        if not name and self.agent:
            name = self.agent.name + suffix
        elif not name and self.command:
            name = programs.default_name(self.command).removesuffix(programs.SUFFIX) + suffix
        # acpx knows no capital letters.
        return name.strip().lower() if self.editor.form == "argv" else name


@dataclass(slots=True)
class SetupPlan:
    """A change to an editor's settings, or the change that the user must make by hand.

    Attributes:
        request: the request of the command line.
        action: `print`, `written`, `replaced`, `unchanged`, `wrapped`, `unwrapped`, `removed` or
            `absent`.
        name: the entry's name.
        path: the settings file; empty if there is none.
        snippet: the text that is added, or should be.
        notes: notes for the user, in sentences.
        entry: the entry, or what changes in it, if it is JSON.
        change: the settings file and its new text, if it changes.
        removed: the command of the entry to be removed.
        backup: the copy of the old settings; empty if there were none.
        state: why nothing changes, as the end of a sentence about the entry.
    """

    request: SetupRequest
    action: str
    name: str
    path: str
    snippet: Snippet | None = None
    notes: list[str] = field(default_factory=list[str])
    entry: dict[str, Any] | None = None
    change: tuple[SettingsFile, str] | None = field(default=None, repr=False)
    removed: list[str] = field(default_factory=list[str])
    backup: str = ""
    state: str = "is already set up like this"

    def carry_out(self) -> None:
        """Change the settings file.

        Raises:
            SettingsError: it cannot be done; nothing has changed.
        """
        if self.change is not None:
            self.backup = save(*self.change, may_create=self.request.create)
        if self.removed:
            self.notes += remote.forgotten(self.removed, self.request.environment)


def show(request: SetupRequest) -> SetupPlan:
    """Plan to print the entry for the editor's configuration."""
    editor, agent, name = request.editor, request.agent, request.entry_name
    own = _own(request)
    notes = [own.note] if own.note else []
    env: dict[str, str] = {}
    if request.connect_words:  # `ssh` is on the PATH of every system
        words = [*own.words, *request.connect_words]
    else:
        install = agent.install if agent else ""
        whole = programs.uses_whole_paths(editor)
        behind = programs.agent_command(request.command, request.environment, install, whole=whole)
        words = [*own.words, "run", *request.run_words, "--", *behind.words]
        notes += [behind.note] if behind.note else []
        # If programs are named by whole paths, the editor's own PATH is rarely the terminal's, and
        # the agent and its programs are looked up on that.
        path = programs.path_for(editor, programs.behind(words), request.environment)
        env |= {"PATH": path} if path else {}
    snippet = snippet_of(editor, name, words, agent, env)
    if not editor.is_json:
        if editor.form == "agent-shell" and agent and agent.agent_shell:
            name = agent.title  # which the user sees there
        return SetupPlan(request, "print", name, "", snippet, notes)
    paths = [] if request.file else programs.settings_paths(editor, request.environment)[1:]
    if others := [programs.shown(path, request.environment) for path in paths]:
        notes.append(f"There is also {' and '.join(others)}; --file PATH chooses.")
    entry = entry_of(editor.form, words, env)
    return SetupPlan(request, "print", name, request.path, snippet, notes, entry)


def write(request: SetupRequest) -> SetupPlan:
    """Plan to add the entry to the settings file.

    Raises:
        SettingsError: it cannot be added.
    """
    plan = show(request)
    file, settings = _open(request)
    name, new = plan.name, plan.entry or {}
    old = settings.entry(name)
    if old is not None and not request.force:
        # The user's own variables stay. Their values may be keys, so `plan.entry`, which is shown,
        # does not get them.
        env = old.plain.get("env") if isinstance(old.plain, dict) else None
        own = new.get("env", {})
        if isinstance(env, dict):
            new = {**new, "env": env | own}
            if variables := sorted(set(env) - set(own)):
                plan.notes.append(f"Its own variables stay: {', '.join(variables)}.")
    if old is not None and old.plain == new:
        plan.action = "unchanged"
        return plan
    if old is not None and not request.force:
        if not programs.is_ours(words_of(old.plain)):
            raise SettingsError(
                f"it has an entry {name!r} that does not run lastword: choose another --name, put "
                f"lastword in front of it with --wrap {arguments([name])}, or replace it with "
                "--force"
            )
        more = sorted(set(old.plain) - set(new))
        if more:
            raise SettingsError(
                f"its entry {name!r} has {', '.join(more)} besides the command, which would be "
                "lost: change it by hand, or replace it with --force"
            )
    plan.action = "written" if old is None else "replaced"
    plan.change = file, put(settings, name, new)
    return plan


def remove(request: SetupRequest) -> SetupPlan:
    """Plan to remove the entry from the settings file.

    Raises:
        SettingsError: it is not ours, or cannot be removed.
    """
    file, settings = _open(request)
    name = request.entry_name or _only_one(settings, request.remote)
    plan = SetupPlan(request, "absent", name, request.path)
    old = settings.entry(name) if name else None
    if old is None:
        return plan
    if not request.force and not programs.is_ours(words_of(old.plain)):
        raise SettingsError(f"its entry {name!r} does not run lastword; --force removes it")
    plan.change = file, remove_entry(settings, name)
    plan.action = "removed"
    plan.removed = words_of(old.plain)
    return plan


def wrap(request: SetupRequest, name: str, *, undo: bool, is_written: bool) -> SetupPlan:
    """Plan to put lastword in front of an agent in the settings, or to undo that.

    Raises:
        SettingsError: there is no such agent, or it has no command.
    """
    file, settings = _open(request)
    old = settings.entry(name)
    if old is None:
        names = [member.key for member in settings.agents.members or ()] if settings.agents else []
        there = f"it has {', '.join(names)}" if names else "it has none"
        raise SettingsError(f"there is no entry {name!r} in it ({there})")
    words = words_of(old.plain)
    if not words and isinstance(old.plain, dict) and {"command", "argv"} & {*old.plain}:
        raise SettingsError(
            f"its entry {name!r} has its command in an unknown form: change it by hand"
        )
    if not words:
        agent = name.lower() if name.lower() in AGENTS else "claude"
        raise SettingsError(
            f"its entry {name!r} has no command (the editor starts that agent by itself): add the "
            f"agent from scratch, as in `lastword setup {request.editor.name} {agent}`"
        )
    is_ours = programs.is_ours(words)
    plan = SetupPlan(request, "unchanged", name, request.path)
    if undo:
        plan.state = "runs without lastword, so there is nothing to remove"
        new = programs.behind(words) if is_ours and "--" in words else []
    else:
        plan.state = "already runs behind lastword"
        own = _own(request)
        plan.notes += [own.note] if own.note else []
        if is_ours and request.run_words:
            plan.notes.append(
                "Its options stay as they are. To change them, take lastword out with --remove "
                "first, or edit them in the file."
            )
        new = [] if is_ours else [*own.words, "run", *request.run_words, "--", *words]
    if not new:
        return plan
    # Only what changes is shown: the rest of the entry may have keys in it.
    plan.entry = changed_words(old.plain, new)
    plan.snippet = Snippet(render(plan.entry, "", "  ", "\n"), "json")
    text = rewrite(settings, name, plan.entry)
    if undo or is_written:
        plan.action = "unwrapped" if undo else "wrapped"
        plan.change = file, text
    else:
        plan.action = "print"
    return plan


def _own(request: SetupRequest) -> programs.NamedCommand:
    whole = programs.uses_whole_paths(request.editor)
    return programs.own_command(request.environment, whole=whole)


def _open(request: SetupRequest) -> tuple[SettingsFile, AgentSettings]:
    file = load(request.path)
    return file, read(file.text, request.editor.section)


def _only_one(settings: AgentSettings, machine: Remote | None) -> str:
    """Return the name of the one entry that a bare `--remove` can mean; empty if there is none.

    Args:
        settings: The settings.
        machine: The machine of the agent, if it is another one.

    Raises:
        SettingsError: There are several, or the entry may predate lastword.
    """
    members = settings.agents.members or () if settings.agents else ()
    commands = {member.key: words_of(member.value.plain) for member in members}
    names = [name for name, words in commands.items() if programs.is_ours(words)]
    if machine is not None:
        names = [name for name in names if remote.host_of(commands[name]) == machine.host]
    if len(names) > 1:
        raise SettingsError(
            f"several of its entries run lastword ({', '.join(names)}): say which, with --name"
        )
    if names and "--" in commands[names[0]] and not names[0].endswith(programs.SUFFIX):
        named = arguments([names[0]])
        raise SettingsError(
            f"its entry {names[0]!r} runs lastword: --wrap {named} --remove leaves the agent "
            f"without lastword, --name {named} --remove takes both out"
        )
    return names[0] if names else ""
