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
    as_json,
    load,
    put,
    read,
    remove_entry,
    render,
    rewrite,
    save,
)
from lastword.platform.terminal import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.cli.setup.remote import Remote
    from lastword.cli.setup.settings import SettingsFile, Value
    from lastword.quirks.setup import AgentCommand, Editor


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text for an editor's configuration, and its language."""

    text: str
    language: str


def entry_of(form: str, words: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return an agent's entry in a form that is JSON."""
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
    words = value.get("argv") or [value.get("command"), *(value.get("args") or [])]
    return words if all(isinstance(word, str) for word in words) else []


def changed_words(value: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the changes to an entry that is to run another command."""
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
    """Return what a user adds to the editor's configuration by hand."""
    if editor.is_json:
        whole = {editor.section: {name: entry_of(editor.form, words, env)}}
        return Snippet(render(whole, "", "  ", "\n"), "json")
    if editor.form == "codecompanion":
        return Snippet(_codecompanion(name, words, agent), "lua")
    if editor.form == "avante":
        return Snippet(_avante(name, words, agent), "lua")
    if editor.form == "agent-shell":
        return Snippet(_agent_shell(name, words, agent), "elisp")
    return Snippet(shlex.join(["toad", "acp", shlex.join(words), "--title", name]), "sh")


def _codecompanion(name: str, words: Sequence[str], agent: AgentCommand | None) -> str:
    # opencode's preset asks for no key and no login, so it suits any agent.
    preset = (agent.codecompanion if agent else "") or "opencode"
    return f"""\
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


def _avante(name: str, words: Sequence[str], agent: AgentCommand | None) -> str:
    keys = ("HOME", *(agent.keys if agent else ()))
    env = ", ".join(f'{key} = os.getenv("{key}")' for key in keys)
    return f"""\
require("avante").setup({{
  provider = {_lua(name)},
  acp_providers = {{
    [{_lua(name)}] = {{
      command = {_lua(words[0])},
      args = {{ {", ".join(map(_lua, words[1:]))} }},
      env = {{ {env} }},
    }},
  }},
}})"""


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
    """What is to be done, or what the user must do by hand.

    Attributes:
        request: what it is for.
        action: `print`, `written`, `replaced`, `unchanged`, `wrapped`, `unwrapped`, `removed` or
            `absent`.
        name: the entry's name.
        path: the settings file; empty if there is none.
        snippet: what was put in, or should be.
        notes: what the user should know, in sentences.
        entry: the entry, if it is JSON.
        change: the settings file and its new text, if it is to be changed.
        removed: the command of an entry that is to be removed.
        backup: the copy of the old settings; empty if there were none.
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
    """Plan to print what to put into the editor's configuration."""
    words, notes = _words(request)
    env = _env(request, words)
    snippet = snippet_of(request.editor, request.entry_name, words, request.agent, env)
    if not request.editor.is_json:
        return SetupPlan(request, "print", _called(request), "", snippet, notes)
    entry = entry_of(request.editor.form, words, env)
    notes += _other_places(request)
    return SetupPlan(request, "print", request.entry_name, request.path, snippet, notes, entry)


def write(request: SetupRequest) -> SetupPlan:
    """Plan to put the entry into the settings file.

    Raises:
        SettingsError: it cannot be put in.
    """
    plan = show(request)
    file, settings = _open(request)
    old, new = settings.entry(plan.name), plan.entry or {}
    if old is not None and not request.force:
        new, variables = _with_variables(old.plain, new)
        # Their values may be keys: what is shown of the entry is lastword's own part.
        plan.notes += [f"Its own variables stay: {', '.join(variables)}."] if variables else []
    if old is not None and old.plain == new:
        plan.action = "unchanged"
        return plan
    if old is not None and not request.force:
        _may_be_replaced(plan.name, old.plain, new)
    plan.action = "written" if old is None else "replaced"
    plan.change = file, put(settings, plan.name, new)
    return plan


def remove(request: SetupRequest) -> SetupPlan:
    """Plan to take the entry out of the settings file.

    Raises:
        SettingsError: it is not ours, or cannot be taken out.
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
    """Plan to put lastword in front of an agent that the settings have, or to take it away.

    Raises:
        SettingsError: there is no such agent, or it has no command.
    """
    file, settings, old = _existing(request, name)
    words = words_of(old.plain)
    is_ours = programs.is_ours(words)
    plan = SetupPlan(request, "unchanged", name, request.path)
    if undo:
        new = programs.behind(words) if is_ours and "--" in words else []
    else:
        own = _own(request)
        plan.notes = [own.note]
        new = [] if is_ours else [*own.words, "run", *request.run_words, "--", *words]
    if not new:
        return plan
    text = rewrite(settings, name, changed_words(old.plain, new))
    entry = read(text, settings.section).entry(name)
    assert entry is not None  # noqa: S101 - for the type checker
    plan.snippet = Snippet(_dedented(text[entry.start : entry.end]), "json")
    plan.entry = as_json(entry.plain)
    if undo or is_written:
        plan.action = "unwrapped" if undo else "wrapped"
        plan.change = file, text
    else:
        plan.action = "print"
    return plan


def _own(request: SetupRequest) -> programs.NamedCommand:
    whole = programs.uses_whole_paths(request.editor)
    return programs.own_command(request.environment, whole=whole)


def _words(request: SetupRequest) -> tuple[list[str], list[str]]:
    own = _own(request)
    if request.connect_words:
        return [*own.words, *request.connect_words], [own.note] if own.note else []
    install = request.agent.install if request.agent else ""
    whole = programs.uses_whole_paths(request.editor)
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
    paths = programs.settings_paths(request.editor, request.environment)[1:]
    others = [programs.shown(path, request.environment) for path in paths]
    return [f"There is also {' and '.join(others)}; --file PATH chooses."] if others else []


def _called(request: SetupRequest) -> str:
    """Return the name that the user sees, in an editor whose configuration is a program."""
    if request.editor.form == "agent-shell" and request.agent and request.agent.agent_shell:
        return request.agent.title
    return request.entry_name


def _open(request: SetupRequest) -> tuple[SettingsFile, AgentSettings]:
    file = load(request.path)
    return file, read(file.text, request.editor.section)


def _with_variables(plain: Any, new: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the entry with the variables that the user gave the old one, and their names."""
    old = plain.get("env") if isinstance(plain, dict) else None
    own = new.get("env", {})
    if not isinstance(old, dict):
        return new, []
    return new | {"env": old | own}, sorted(set(old) - set(own))


def _may_be_replaced(name: str, plain: Any, new: Mapping[str, Any]) -> None:
    if not programs.is_ours(words_of(plain)):
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


def _existing(request: SetupRequest, name: str) -> tuple[SettingsFile, AgentSettings, Value]:
    file, settings = _open(request)
    old = settings.entry(name)
    if old is None:
        names = [member.key for member in settings.agents.members or ()] if settings.agents else []
        there = f"it has {', '.join(names)}" if names else "it has none"
        raise SettingsError(f"there is no entry {name!r} in it ({there})")
    if not words_of(old.plain):
        raise SettingsError(
            f"its entry {name!r} has no command (the editor starts that agent by itself): add the "
            f"agent from scratch, as in `lastword setup {request.editor.name} claude`"
        )
    return file, settings, old


def _dedented(text: str) -> str:
    first, *rest = text.splitlines()
    indent = rest[-1][: len(rest[-1]) - len(rest[-1].lstrip())] if rest else ""
    return "\n".join([first, *(line.removeprefix(indent) for line in rest)])
