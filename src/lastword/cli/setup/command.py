"""`lastword setup`: put lastword in front of an agent, in an editor's own settings.

Owns the command line, the output as text or as one JSON document, and the exit status: 0; 1 if the
settings cannot be read or changed; 2 for invalid arguments.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lastword.cli import envelope
from lastword.cli.page import Page
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.record_access import port
from lastword.cli.run.options import JOINED, UsageError, can_be_value, parse
from lastword.cli.setup import actions, remote
from lastword.cli.setup.actions import SetupRequest
from lastword.cli.setup.programs import (
    behind,
    config_folder,
    own_command_of,
    settings_paths,
    shown,
    typed_command,
    unknown,
)
from lastword.cli.setup.settings import NESTED, SettingsError
from lastword.cli.words import behind_dashes, meant_words, refuse
from lastword.core.link.option_table import BY_KEY, OPTIONS
from lastword.gateway.connecting import ssh
from lastword.gateway.connecting.ssh import FOLDER_EXPECTS, FolderMap
from lastword.platform.terminal import arguments, command_line
from lastword.quirks.setup import AGENTS, BY_ALIAS, COMMANDS, EDITORS, INSTEAD, READ_ON

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from lastword.cli.setup.actions import SetupPlan
    from lastword.quirks.setup import AgentCommand, Editor


OVERNIGHT = {
    "retry": "2",
    "continue_at_reset": "12h",
    "ask_reminder": "5m",
    "ask_timeout": "30m=reject",
}
"""Two more tries if nothing has happened yet; twelve hours outlast a night and the five-hour
windows of plans; a question waits for half an hour, and is then rejected."""

USERS_OWN = {
    "fallback_model": "MODEL",
    "spend_limit": "20USD/day",
    "notify": "URL",
}
"""Options for the same that need a value from the user, each with an example."""


def notes(given: Collection[str]) -> list[str]:
    """Return the options that the user can add, in sentences.

    Args:
        given: The keys of the options that the user gave.
    """
    rest = [f"--{BY_KEY[key].name} {word}" for key, word in USERS_OWN.items() if key not in given]
    if not rest:
        return []
    return [f"Only you can choose these, so they are not set: {', '.join(rest)}."]


VERSION = 1
"""The version of the JSON documents. Keys may be added; none is removed or changes its meaning."""

_NAME_COLUMNS = 20


def write_list(environment: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        envelope.write(
            {
                "version": VERSION,
                "editors": [
                    _described(
                        row,
                        file=settings_paths(row, environment)[0] if row.is_json else None,
                        can_write=row.is_json,
                    )
                    for row in EDITORS.values()
                ],
                "agents": [
                    _described(row, command=list(row.command), install=row.install)
                    for row in COMMANDS
                ],
            }
        )
        return
    page = Page(keeps_words=True)
    page.line("editors, and where each one's agents are set up:", "bold")
    for editor in EDITORS.values():
        lead = f"  {editor.name:{_NAME_COLUMNS}}"
        if editor.is_json:
            path = shown(settings_paths(editor, environment)[0], environment)
            page.row(lead, f"{editor.title}: {path}; --write edits it")
        else:
            page.row(lead, f"{editor.title}: {editor.places[0]}; by hand")
    page.line()
    page.line("agents:", "bold")
    for agent in COMMANDS:
        page.row(f"  {agent.name:{_NAME_COLUMNS}}", command_line(agent.command))
    page.line()
    page.line("For any other agent give its command: lastword setup zed -- CMD ARGS")
    sys.stdout.write(page.drain())


def _described(row: AgentCommand | Editor, **members: Any) -> dict[str, Any]:
    evidence = {"evidence": row.evidence, "evidence_version": row.version, "read_on": READ_ON}
    return {"name": row.name, "title": row.title, **members, **evidence}


def write_plan(plan: SetupPlan, *, as_json: bool) -> None:
    """Print what was done, or what the user must do."""
    request, snippet = plan.request, plan.snippet
    check: str | None = None  # the command that checks whether the agent can start here
    if request.command and request.remote:
        check = shlex.join(["ssh", request.remote.host, request.remote.command("status")])
    elif request.command:
        words = [*typed_command(request.environment), "doctor", "--", *request.command]
        check = command_line(words)
    if as_json:
        envelope.write(
            {
                "version": VERSION,
                "editor": request.editor.name,
                "agent": request.agent.name if request.agent else None,
                "action": plan.action,
                "name": plan.name,
                "file": plan.path or None,
                "section": request.editor.section or None,
                "entry": plan.entry,
                "snippet": snippet.text if snippet else None,
                "language": snippet.language if snippet else None,
                "backup": plan.backup or None,
                "notes": plan.notes,
                "next": _next_step(plan),
                "check": check,
            }
        )
        return
    page = Page(keeps_words=True)
    page.line(_headline(plan))
    is_written = plan.action in {"written", "replaced", "wrapped"}
    if snippet and (is_written or plan.action == "print"):
        page.line()
        for line in snippet.text.splitlines():
            page.verbatim((line, ""))
    page.line()
    for note in plan.notes:
        page.row("Note:   ", note)
    if plan.backup:
        page.verbatim(("Backup: ", "dim"), (shown(plan.backup, request.environment), ""))
    elif is_written:
        page.row("Backup: ", "none, as the file is new")
    page.row("Next:   ", _next_step(plan))
    if check and plan.action not in {"removed", "absent"}:
        page.verbatim(("Check:  ", "dim"), (check, ""))
    if is_written:
        words = [*typed_command(request.environment), "setup", request.editor.name]
        is_wrapped = plan.action == "wrapped"
        if request.agent and not request.name and not request.remote and not is_wrapped:
            words += [request.agent.name, "--remove"]
        else:
            words += ["--remove", "--wrap" if is_wrapped else "--name", plan.name]
        undo = command_line(words + (["--file", plan.path] if request.file else []))
        page.verbatim(("Undo:   ", "dim"), (undo, ""))
    sys.stdout.write(page.drain())


def _next_step(plan: SetupPlan) -> str:
    if plan.action == "removed":
        return f"{plan.request.editor.title} no longer offers it. Open sessions continue."
    if plan.action == "absent":
        return "If the entry has another name, give it as --name NAME."
    return plan.request.editor.next_step.replace("NAME", plan.name)


def _headline(plan: SetupPlan) -> str:
    editor, name = plan.request.editor, plan.name
    path = shown(plan.path, plan.request.environment)
    if plan.action != "print":
        return _HEADLINES[plan.action].format(
            path=path, name=name or "entry with lastword", state=plan.state
        )
    if not plan.request.command:
        return f"With lastword in front, {name} would have this in {path}; --write changes it:"
    if editor.form == "toad":
        return f"{editor.title} takes an agent on its command line:"
    if not editor.is_json:
        return f"For {editor.title}, add this to {editor.places[0]}:"
    return f"For {editor.title}, add this to {path}; --write does it for you:"


_HEADLINES = {
    "written": "{path} now has {name}:",
    "replaced": "{path} had {name} already; it is now:",
    "unchanged": "{path} needs no change: {name} {state}.",
    "wrapped": "{path} now has lastword in front of {name}:",
    "unwrapped": "{path} has {name} without lastword again.",
    "removed": "{name} is no longer in {path}.",
    "absent": "{path} has no {name}: there is nothing to remove.",
}


DESCRIPTION = """\
Puts lastword in front of an agent in an editor's settings. Without --write,
prints what to add and changes nothing.
"""

EPILOG = """\
Every option of `lastword run` is accepted, too, and is written to the settings:
lastword setup zed claude --retry 2

examples:
  lastword setup --list
  lastword setup zed claude
  lastword setup zed claude --write
  lastword setup jetbrains --write -- opencode acp
  lastword setup zed --wrap "My Agent" --write
  lastword setup zed claude --remove
  lastword setup zed claude --host box.example --write

Before a file is changed, a copy is saved beside it. Comments are preserved.

exit status: 0 on success, 1 if the settings cannot be changed, 2 for invalid
arguments.
"""

IMPLIED = {f"--{option.name}": option.implied for option in OPTIONS if option.implied}
"""The implied values of options; another value needs `=`."""


def main(words: Sequence[str]) -> int:
    """Print or change an editor's settings; return the exit status."""
    words = list(words)
    own, command = words, None
    if "--" in words:
        own, command = words[: words.index("--")], meant_words(words[words.index("--") + 1 :])
    for word, following in pairwise(own):
        if word in IMPLIED and can_be_value(word, following):
            return refuse("setup", JOINED.format(flag=word, value=following))
    own = [f"{word}={IMPLIED[word]}" if word in IMPLIED else word for word in own]
    made = parser()
    made.refuse_unknown(own)
    if problem := behind_dashes(made.prog, own, command or (), made.flags):
        made.error(problem)
    options = made.parse_intermixed_args(own)
    if options.list:
        write_list(os.environ, as_json=options.json)
        return 0
    try:
        request = _request(options, command)
    except UsageError as error:
        return refuse("setup", error)
    write = options.write
    try:
        if options.wrap is not None:
            plan = actions.wrap(request, options.wrap, undo=options.remove, is_written=write)
        elif options.remove:
            plan = actions.remove(request)
        elif request.remote is not None:
            plan = _elsewhere(request, request.remote, is_written=write)
        else:
            plan = actions.write(request) if write else actions.show(request)
        plan.carry_out()
    except remote.RemoteError as error:
        return refuse("setup", error, status=1)
    except (SettingsError, RecursionError) as error:
        path = shown(request.path, os.environ)
        why = error if isinstance(error, SettingsError) else NESTED
        return refuse("setup", f"{path} was not changed: {why}", status=1)
    if options.overnight and plan.action != "unchanged":
        plan.notes += notes(
            {each.key for each in OPTIONS if getattr(options, f"run_{each.key}") is not None}
        )
    write_plan(plan, as_json=options.json)
    return 0


def _elsewhere(request: SetupRequest, machine: remote.Remote, *, is_written: bool) -> SetupPlan:
    """Plan for an agent on another machine; a gateway is started before the settings change."""
    environment = request.environment
    there = remote.look(machine, request.command, request.agent)
    machine = replace(machine, program=there.program)
    request = replace(
        request,
        remote=machine,
        command=request.command or there.serves.split(),
        connect_words=tuple(machine.words(there.home, environment)),
    )
    has_file = is_written and request.editor.is_json
    plan = actions.write(request) if has_file else actions.show(request)
    if is_written:
        if not there.is_running:
            remote.start(machine, request.command, request.run_words, there.home)
        remote.save_token(machine, environment)
    plan.notes += remote.notes_of(machine, there, request.run_words, is_written=is_written)
    return plan


def _request(options: argparse.Namespace, command: list[str] | None) -> SetupRequest:
    editor = _editor(options)
    agent = None
    if options.agent is not None:
        if command is not None:
            raise UsageError(f"give {options.agent} or a command after --, not both")
        agent = AGENTS.get(options.agent.lower())
        if agent is None:
            problem = unknown("agent", options.agent, AGENTS)
            raise UsageError(f"{problem}; for any other: lastword setup {editor.name} -- CMD ARGS")
        command = list(agent.command)
    if command is not None and not (command and command[0]):
        raise UsageError(f"there is no command after --: lastword setup {editor.name} -- CMD ARGS")
    if command and own_command_of(command) == "run" and "--" in command:
        alone = arguments(behind(command)) or "CMD ARGS"
        raise UsageError(
            "setup adds lastword itself; give only the agent's command: "
            f"lastword setup {editor.name} -- {alone}"
        )
    existing = options.wrap is not None or options.remove
    machine = _remote(options, editor.name)
    if command is None and not existing and machine is None:
        raise UsageError(
            f"say which agent: lastword setup {editor.name} claude, or "
            f"lastword setup {editor.name} -- CMD ARGS (lastword setup --list has them all)"
        )
    if command is not None and options.wrap is not None:
        raise UsageError("--wrap names an agent in the settings; do not give another agent")
    if options.name is not None and not options.name.strip():
        raise UsageError("--name is empty")
    return SetupRequest(
        editor=editor,
        agent=agent,
        command=command or [],
        run_words=_run_words(options),
        name=options.name or "",
        file=options.file or "",
        create=options.create,
        force=options.force,
        environment=os.environ,
        remote=machine,
    )


def _remote(options: argparse.Namespace, editor: str) -> remote.Remote | None:
    if options.host is None:
        given = [f"--{name}" for name in ("port", "folder") if getattr(options, name) is not None]
        if given:
            raise UsageError(f"{given[0]} needs --host")
        return None
    if not ssh.is_host(options.host):
        raise UsageError(f"--host cannot be {options.host!r}: it takes {ssh.HOST_EXPECTS}")
    if options.wrap is not None:
        raise UsageError("--wrap is for an agent of this machine: leave --host out")
    folder = options.folder or ""
    if folder and FolderMap.read(folder) is None:
        raise UsageError(f"--folder cannot be {folder!r}: it takes {FOLDER_EXPECTS}")
    port = options.port or remote.DEFAULT_PORT
    return remote.Remote(options.host, port, folder, editor=editor)


def _editor(options: argparse.Namespace) -> Editor:
    """Return the editor; exchange it with the agent if that was given first."""
    if options.editor is not None and options.agent is not None:
        # `cursor` is the name of an editor and of an agent.
        first, second = options.editor.lower(), options.agent.lower()
        is_right = first in BY_ALIAS and second in AGENTS
        if not is_right and first in AGENTS and second in {*BY_ALIAS, *INSTEAD}:
            options.editor, options.agent = options.agent, options.editor
    if options.editor is None:
        raise UsageError(f"say which editor: {', '.join(EDITORS)}")
    key = options.editor.lower()
    if key in INSTEAD and key not in BY_ALIAS:
        why, forms = INSTEAD[key]
        lines = " or ".join(
            f"`lastword setup {line.replace('AGENT', options.agent or 'AGENT')}`"
            for line in (form.replace("{CONFIG}", config_folder()) for form in forms)
        )
        raise UsageError(f"{why}: {lines}")
    if key in AGENTS and key not in BY_ALIAS:
        raise UsageError(f"say which editor {key} is for: lastword setup EDITOR {key}")
    if key not in BY_ALIAS:
        raise UsageError(unknown("editor", options.editor, [*EDITORS, *INSTEAD]))
    editor = BY_ALIAS[key]
    names = ["remove", "wrap", "file"] if options.host else ["write", "remove", "wrap", "file"]
    given = [f"--{name}" for name in names if getattr(options, name)]
    if given and not editor.is_json:
        # Its configuration is a program, or has no file.
        why = "its configuration is a program, to be edited by hand"
        if editor.form == "toad":
            why = "it takes agents on its command line, and keeps no list of them"
        raise UsageError(f"{given[0]} is not for {editor.title}: {why}")
    return editor


def _run_words(options: argparse.Namespace) -> list[str]:
    """Return the options of `lastword run` that were given, as words."""
    words: list[str] = []
    for option in OPTIONS:
        value = getattr(options, f"run_{option.key}")
        if value is None and options.overnight:
            value = OVERNIGHT.get(option.key)
        if value is None:
            continue
        if option.kind in {"folder", "file"} and value and options.host is None:
            # An editor starts programs in its own folders.
            value = os.path.abspath(os.path.expanduser(value))
        if option.kind == "flag":
            words.append(f"--{option.name}")
        else:
            words += [f"--{option.name}={value}"] if option.implied else [f"--{option.name}", value]
    parse([*words, "--", "agent"], {})
    return words


_ARGUMENTS = f"""\
editor EDITOR  the editor: {", ".join(EDITORS)}
agent AGENT  an agent that --list shows
--list  list the known editors and agents
"""
_ACTIONS = """\
--write  change the settings file
--remove  remove the entry again
"""
_OPTIONS = f"""\
--wrap NAME
    put lastword in front of an agent that is in the settings; with --remove, undo that (default:
    none)
--host HOST
    the agent works on another machine, which `ssh HOST` reaches; with --write, a gateway is started
    there unless one is running (default: this machine)
--port PORT  with --host: the gateway's port there (default: {remote.DEFAULT_PORT})
--folder [HERE=]THERE
    with --host: the folder there in which sessions work, or with HERE= the one that stands for HERE
    (default: your home there for your home here)
--name NAME  the agent's name in the editor (default: AGENT-lastword, or AGENT-HOST)
--file FILE  another settings file (default: the editor's own)
--create  with --write: create the folder of the settings file if it does not exist
--force  replace or remove an entry that lastword did not write
--overnight
    with the options of `lastword run` for unattended sessions: continue when a limit resets,
    retry, remind you of questions, and finally reject them
--json  print the same as JSON
"""


def parser() -> CommandParser:
    made = CommandParser(
        "setup",
        usage="[options] EDITOR AGENT\n[options] EDITOR -- CMD [ARGUMENT...]",
        about=DESCRIPTION,
        ends=EPILOG,
    )
    add_arguments(made, _ARGUMENTS, editor={"nargs": "?"}, agent={"nargs": "?"})
    add_arguments(made.add_mutually_exclusive_group(), _ACTIONS)
    add_arguments(made, _OPTIONS, port={"type": port})
    for option in OPTIONS:
        kind = {"action": "store_const", "const": ""} if option.kind == "flag" else {}
        flag, key = f"--{option.name}", f"run_{option.key}"
        made.add_argument(flag, dest=key, default=None, help=argparse.SUPPRESS, **kind)  # type: ignore[arg-type]
    return made
