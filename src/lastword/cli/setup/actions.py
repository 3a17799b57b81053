"""The actions of `lastword setup` on an editor's settings: show, write, remove, wrap.

Owns the forms of an entry, as JSON or as code, the decisions, and the messages for refusals.
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
    from lastword.cli.setup.settings import SettingsFile
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
        """The settings file."""
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
    snippet: Snippet | None = None
    backup: str = ""
    notes: list[str] = field(default_factory=list[str])
    entry: dict[str, Any] | None = None


def show(request: SetupRequest) -> SetupOutcome:
    """Return what to put into the editor's configuration, and change nothing."""
    words, notes = _words(request)
    env = _env(request, words)
    snippet = snippet_of(request.editor, request.entry_name, words, request.agent, env)
    if not request.editor.is_json:
        return SetupOutcome("print", _called(request), "", snippet, notes=notes)
    entry = entry_of(request.editor.form, words, env)
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
    """Return the outcome of `write`, the settings file, and its new text; save nothing."""
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
    return outcome, file, put(settings, outcome.name, new)


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
    if not request.force and not programs.is_ours(words_of(old.plain)):
        raise SettingsError(f"its entry {name!r} does not run lastword; --force removes it")
    outcome.backup = save(file, remove_entry(settings, name))
    outcome.action = "removed"
    outcome.notes += remote.forgotten(words_of(old.plain), request.environment)
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


def _existing(request: SetupRequest, name: str) -> tuple[SettingsFile, AgentSettings, list[str]]:
    file, settings = _open(request)
    old = settings.entry(name)
    if old is None:
        names = [member.key for member in settings.agents.members or ()] if settings.agents else []
        there = f"it has {', '.join(names)}" if names else "it has none"
        raise SettingsError(f"there is no entry {name!r} in it ({there})")
    words = words_of(old.plain)
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
    changes = changed_words(plain, words)
    text = rewrite(settings, outcome.name, changes)
    after = read(text, settings.section)
    entry = after.entry(outcome.name)
    shown = _dedented(text[entry.start : entry.end]) if entry else ""
    outcome.snippet = Snippet(shown, "json")
    outcome.entry = as_json(entry.plain) if entry else None
    outcome.action = action
    if action != "print":
        outcome.backup = save(file, text)
    return outcome


def _dedented(text: str) -> str:
    first, *rest = text.splitlines()
    indent = rest[-1][: len(rest[-1]) - len(rest[-1].lstrip())] if rest else ""
    return "\n".join([first, *(line.removeprefix(indent) for line in rest)])
