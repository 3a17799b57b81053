"""The list of commands, in the order in which a new user needs them.

Owns what `lastword --help` prints, and the reply to an unknown command.
"""

from __future__ import annotations

import shlex
import shutil

from lastword.cli.parser import CommandParser
from lastword.cli.words import nearest, no_such, redacted
from lastword.quirks.agent_commands import ROWS

GROUPS = {
    "to begin with": {
        "demo": "see a failing turn without lastword and with it, side by side",
        "doctor": "see whether an agent starts here, and what an editor will be told",
        "setup": "put lastword into an editor's settings:  lastword setup zed claude",
        "config": "show every option, its value and where that comes from",
        "run": "put lastword in front of an agent:  lastword run -- opencode acp",
    },
    "after a failure": {
        "log": "see what is recorded of sessions: a list, a timeline, or a page",
        "export": "write a session into one file for a bug report, without secrets",
        "stats": "count failures by type, agent and day, and see how long turns take",
        "explain": "say what an error means, and whether to retry:  explain error.log",
    },
    "for authors of agents and clients": {
        "agent": "an agent that fails on purpose, to try a client with",
        "check": "check an agent against the protocol and the contract",
    },
    "sessions at a URL, and reports": {
        "gateway": "serve an agent's sessions at a URL, where they outlive connections",
        "connect": "use such a session from an editor",
        "outbox": "see the reports that have not arrived where --report-to sends them",
    },
    "help, and completion in your shell": {
        "help": "say more of a command:  help run",
        "completion": "print the script that completes lastword's commands and options",
    },
}
"""The commands by what they are for, each with what it does."""

_HEAD = """\
usage: lastword COMMAND [ARGUMENTS]

No ACP turn ends in silence: typed errors between coding agents and their
editors.
"""

_FOOT = """
`lastword help COMMAND` or `lastword COMMAND --help` says more of each, with
examples; `lastword --version` prints the version.
"""


_AGENTS = {row.command[0] for row in ROWS if row.command[0] != "agent"}
"""Programs of the agents that are known. Cursor's is called as a command of lastword's."""


def names() -> list[str]:
    """Return the commands."""
    return [name for group in GROUPS.values() for name in group]


def usage() -> str:
    """Return what `lastword --help` prints."""
    lines = [_HEAD]
    for title, group in GROUPS.items():
        lines += [f"{title}:\n", *(f"  {name:<11} {about}\n" for name, about in group.items())]
        lines.append("\n")
    return lines[0] + "\n" + "".join(lines[1:]).rstrip("\n") + "\n" + _FOOT


def help_parser() -> CommandParser:
    """Return the parser of `lastword help`."""
    made = CommandParser(
        "help",
        usage="[COMMAND]",
        about="Says more of a command, as `lastword COMMAND --help` does; without one, lists them.",
        ends="examples:\n  lastword help\n  lastword help run\n  lastword help gateway token",
    )
    made.add_argument(
        "command", nargs="?", metavar="COMMAND", help=f"the command: {', '.join(names())}"
    )
    return made


def unknown(command: str, rest: list[str]) -> str:
    """Return the sentence for an unknown command."""
    listing = "lastword --help"
    if command.startswith("-") and command != "--":
        return no_such("option", command, ("--help", "--version"), listing)
    program = command.split(maxsplit=1)[0] if command.strip() else command
    if program in _AGENTS or (
        not nearest(command, names()) and (command == "--" or shutil.which(program))
    ):
        return _to_run([command, *rest])
    return no_such("command", command, names(), listing)


def _to_run(words: list[str]) -> str:
    agent = [word for word in words if word != "--"]
    if len(agent) == 1 and " " in agent[0]:
        agent = agent[0].split()
    line = shlex.join(agent) or "CMD"
    return redacted(f"to put lastword in front of an agent: lastword run -- {line}")
