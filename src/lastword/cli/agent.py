"""`lastword agent`: an agent that fails on purpose, for authors of clients."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec

from lastword.cli import envelope
from lastword.cli.config.discovery import OFF_VARIABLE, VARIABLE
from lastword.cli.page import Page
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.run.options import UsageError, parse
from lastword.cli.words import refuse
from lastword.core.failure.ladder import AUTO, Rung
from lastword.core.link.option_table import OPTIONS
from lastword.core.protocol import acp
from lastword.kit.agent import rungs as ladder
from lastword.kit.agent.scenarios import (
    GROUPS,
    SCENARIOS,
    YAML_SUFFIXES,
    ScriptError,
    load,
    unknown,
)
from lastword.platform.files import name_for_child

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.agent.scenarios import Script


INDENT = 4

FOOT = (
    (
        "[type] is the error that a client gets with lastword in front, which is the default; "
        '--bare leaves it out. "sees" is what the client receives with lastword; in the last '
        "group, what it receives without."
    ),
    "~ needs its own process; every other scenario can be requested in a prompt: /scenario NAME",
    (
        "--fallback RUNG plays a scenario as another kind of client would see it, and --rungs "
        "shows how one failure looks on each rung."
    ),
)


def scenarios(chosen: argparse.Namespace) -> str:
    if chosen.json:
        entries = [
            {"group": group, **scenario.listed()}
            for group, members in GROUPS.items()
            for scenario in members
        ]
        return envelope.document({"scenarios": entries})
    page = Page(colours=False, keeps_words=True)
    for group, members in GROUPS.items():
        page.verbatim((group.upper(), ""))
        page.line()
        for scenario in members:
            mark = "" if scenario.per_turn else "~"
            kind = f"  [{scenario.error_type.value}]" if scenario.error_type else ""
            page.verbatim((f"{scenario.name}{mark}{kind}", ""))
            page.line(f"sees    {scenario.sees}", indent=INDENT, hang=8)
            page.line(f"client  {scenario.advice}", indent=INDENT, hang=8)
            second = scenario.failure_in(acp.V2.version)
            if second != scenario.failure:
                ends = second.type.value if second else "ends well"
                page.line(f"in version 2  [{ends}]", indent=INDENT)
            page.line()
    for line in FOOT:
        page.line(line)
    return page.drain()


def rungs(chosen: argparse.Namespace) -> str:
    """Return one failure as it is sent on each rung."""
    entries = ladder.listed()
    if chosen.json:
        return envelope.document({"rungs": entries})
    page = Page(colours=False, keeps_words=True)
    for number, entry in enumerate(entries):
        if number:
            page.line()
        page.line(f"{entry['rung']}: {entry['when']}".removesuffix(": "))
        for frame in entry["frames"]:
            page.line(json.dumps(frame), indent=INDENT, hang=2)
    return page.drain()


DESCRIPTION = """\
Runs an ACP agent on stdin and stdout that fails on purpose. A scenario decides
how: there is one for every type of failure, for every stage of a turn, and for
crashes and hangs of the process. The agent needs no model, key or network. It
speaks protocol version 1, and version 2 to a client that asks for it.

The agent itself knows nothing about lastword, which runs in front of it as
`lastword run` does. So a client sees what it would see of any agent behind
lastword; with --bare, what it would see without lastword.

A prompt that contains "/scenario NAME" plays that scenario for its turn. (Write
something before it for silent_success: a prompt that begins with a command may
end without output.)
"""

EPILOG = """\
examples, in a client's settings:
  command: lastword    arguments: agent rate_limit
  command: lastword    arguments: agent --fallback text crash_after_text
  command: lastword    arguments: agent --bare id_null
  command: lastword    arguments: agent ./mine.json

A scenario file is JSON, or YAML (with the extra `yaml`). Its turns are played
in order, one for each prompt, and the last one repeats. `lastword agent
after_tool --script` prints one to start from:
  {"turns": [[{"say": "Let me look. "},
              {"tool": {"title": "Edit a.py", "kind": "edit"}},
              {"fail": {"http": 529, "message": "Overloaded"}}],
             [{"say": "Better now."}, {"result": "end_turn"}]]}
A step is one of
  say, think TEXT    tool {title, kind, status, id}    update {as on the wire}
  ask_permission TITLE    ask_permissions TITLES    ask {method, params, wait}
  wait SECONDS    silence true    repeat {steps, times; 0: for ever}
  retry {attempt, http, message, wait}
  fail {http, message, code, headers}, {exception}, {error} or {agent_error};
       with refused true, version 2 rejects the prompt itself
  result STOP_REASON    raw LINE ($id, $session)    bytes HEX    fill COUNT
  stderr TEXT    exit STATUS    kill SIGNAL    hang true
  child SECONDS (holds stdout open)    close stdout or stdin
Besides turns, a file may have
  on_cancel   confirm, ignore, or steps
  starts      steps for the first start of the process, the second, and so on
  sessions    resume, load or lost: what happens to a session after a restart
  login       true: the agent offers a login
  models      the models of a session, and what choosing one does: switch,
              refuse, hang or crash; {"big": "switch", "small": "refuse"}
  run         options for `lastword run`, {"idle-timeout": 5}

A turn whose last step is neither fail nor result stays open.

exit status: 0 when the client closes stdin, the agent's own if a scenario ends
it, 2 for invalid arguments.
"""

AT_A_TERMINAL = (
    "lastword agent: reading ACP messages from stdin, one JSON object per line. A client normally "
    "starts this command. Press Ctrl-D to stop it.\n"
)

QUICK: dict[str, float | str] = {
    "first-update-timeout": 2.0,
    "idle-timeout": 2.0,
    "tool-timeout": 3.0,
    "cancel-grace": 1.0,
    "no-record": 1,
}
"""Limits for a scenario that sets none, short enough for nobody to wait. Deliberate failures are
recorded only with `LASTWORD_NO_RECORD=0`."""


def main(arguments: Sequence[str]) -> int:
    """Run the scripted agent, or list its scenarios."""
    chosen = parser().read(arguments)
    if chosen.list or chosen.rungs:
        sys.stdout.write(rungs(chosen) if chosen.rungs else scenarios(chosen))
        return 0
    if chosen.json:
        return _refused("--json needs --list or --rungs")
    try:
        script = _script(chosen)
        options = QUICK | script.run
        if chosen.fallback:
            options["fallback"] = chosen.fallback
        # The user's environment takes precedence over a scenario's options.
        by_name = {option.name: option for option in OPTIONS}
        own = [
            f"--{name}={value}"
            for name, value in options.items()
            if name == "fallback"
            or name not in by_name
            or not os.environ.get(by_name[name].variable)
        ]
        parse([*own, "--", "agent"], {})
    except (ScriptError, UsageError) as error:
        is_file = chosen.file or _is_path(chosen.scenario or "")
        return _refused(str(error), "--help" if is_file else "--list")
    if chosen.script:
        sys.stdout.write(json.dumps(msgspec.to_builtins(script), indent=2) + "\n")
        return 0
    if chosen.bare or os.isatty(0):
        return _play(script, chosen.lives)
    played = ["--file", chosen.file] if chosen.file else [chosen.scenario]
    return _behind_lastword(own, played)


_ARGUMENTS = """\
scenario SCENARIO  the scenario: a name from --list, or a scenario file
--file FILE  a scenario file with any name, instead of SCENARIO (default: none)
--fallback
    how failures reach the client ({rungs}; default: {auto}, which depends on what the client says
    it supports)
--bare  run without lastword, to see what a client gets then
"""
_LISTING = """\
--list  list the scenarios, and what a client does with each
--rungs  show the messages of one failure on each rung
--script  print the scenario as a scenario file, to edit
--json  with --list or --rungs: print JSON
"""


def parser() -> CommandParser:
    made = CommandParser("agent", usage="[options] SCENARIO", about=DESCRIPTION, ends=EPILOG)
    rungs = (AUTO, *(rung.value for rung in Rung))
    table = _ARGUMENTS.format(rungs=", ".join(rungs), auto=AUTO)
    add_arguments(made, table, scenario={"nargs": "?"}, fallback={"choices": rungs})
    made.add_argument("--lives", help=argparse.SUPPRESS)
    add_arguments(made.add_argument_group("listing"), _LISTING)
    return made


def _refused(problem: str, see: str = "--list") -> int:
    return refuse("agent", f"{problem}; see `lastword agent {see}`")


def _script(chosen: argparse.Namespace) -> Script:
    name: str = chosen.scenario or ""
    if chosen.file and name:
        raise ScriptError(f"give either --file {chosen.file} or the scenario {name}, not both")
    if not chosen.file and not name:
        raise ScriptError("a scenario is missing")
    if chosen.file or _is_path(name):
        script = load(chosen.file or name)
    elif name in SCENARIOS:
        script = SCENARIOS[name].script
    else:
        raise ScriptError(unknown(name))
    if chosen.bare and chosen.fallback:
        raise UsageError("--fallback is an option of lastword, which --bare leaves out")
    return script


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith((".json", *YAML_SUFFIXES))


def _behind_lastword(options: list[str], played: list[str]) -> int:
    """Become `lastword run`, with the agent that plays this script behind it."""
    # A list of scenarios does not need it.
    from lastword.cli.run.command import main as run  # noqa: PLC0415

    # Failures on purpose must not appear on a dashboard.
    os.environ.setdefault("OTEL_SDK_DISABLED", "true")
    # A scenario is the same for everybody, unless the user names a configuration file.
    if not os.environ.get(VARIABLE):
        os.environ[OFF_VARIABLE] = "1"
    fd, path = tempfile.mkstemp()
    try:
        # -P: no module in the client's working directory may replace one of ours.
        agent = [sys.executable, "-P", "-m", "lastword", "agent", "--bare"]
        lives = f"--lives={name_for_child(fd, path)}"
        return run([*options, "--", *agent, lives, *played])
    finally:
        os.close(fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _play(script: Script, lives: str | None) -> int:
    from lastword.kit.agent.scripted import Lives, ScriptedAgent  # noqa: PLC0415

    if os.isatty(0):
        sys.stderr.write(AT_A_TERMINAL)
    try:
        # Not `sys.stdin`, which is None if the client closed it before the start.
        with open(0, "rb", closefd=False) as lines:
            ScriptedAgent(script, Lives(lives), lines).run()
    except (KeyboardInterrupt, BrokenPipeError):
        # Ctrl-C at a terminal, or a client that closes stdout before stdin.
        os._exit(0)
    return 0
