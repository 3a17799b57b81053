"""The list of commands, in the order in which a new user needs them.

Owns what `lastword --help` prints, and the reply to an unknown command.
"""

from __future__ import annotations

import shutil

from lastword.cli.parser import CommandParser
from lastword.cli.words import nearest, no_such, redacted
from lastword.platform.terminal import arguments
from lastword.quirks.setup import COMMANDS

GROUPS = {
    "getting started": {
        "demo": "compare failing turns without and with lastword, side by side",
        "doctor": "check that an agent starts here, and what an editor would show",
        "setup": "add lastword to an editor's settings:  lastword setup zed claude",
        "config": "show every option, its value, and where the value comes from",
        "run": "run an agent behind lastword:  lastword run -- opencode acp",
    },
    "after a failure": {
        "log": "show recorded sessions as a list, a timeline, or a web page",
        "export": "write a session to one file for a bug report, without secrets",
        "stats": "count failures by type, agent and day, and show turn durations",
        "explain": "explain an error, and whether to retry:  explain error.log",
    },
    "for authors of agents and clients": {
        "agent": "run an agent that fails on purpose, to test a client with",
        "check": "test an agent against the protocol and the contract",
    },
    "sessions at a URL, and failure reports": {
        "gateway": "serve an agent's sessions at a URL, where they outlive connections",
        "connect": "use such a session from an editor",
        "outbox": "show the reports that --report-to has not delivered yet",
    },
    "help and shell completion": {
        "help": "show the help of a command:  help run",
        "completion": "print a shell completion script, or the manual page",
    },
}
"""What each command does, grouped by purpose."""

_HEAD = """\
usage: lastword COMMAND [ARGUMENTS]

No ACP turn ends in silence: typed errors between coding agents and their
editors.
"""

_FOOT = """
`lastword help COMMAND` or `lastword COMMAND --help` shows options and examples;
`lastword --version` prints the version.
"""


_AGENTS = {row.command[0] for row in COMMANDS if row.command[0] != "agent"}
"""Programs of known agents. Cursor's has the name of one of our commands."""


def names() -> list[str]:
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
        about="Shows the help of a command, as `lastword COMMAND --help` does; without a command, "
        "lists all of them.",
        ends="examples:\n  lastword help\n  lastword help run\n  lastword help gateway token",
    )
    made.add_argument(
        "command", nargs="?", metavar="COMMAND", help=f"the command: {', '.join(names())}"
    )
    return made


def unknown(command: str, rest: list[str]) -> str:
    listing = "lastword --help"
    if command.startswith("-") and command != "--":
        return no_such("option", command, ("--help", "--version"), listing)
    program = command.split(maxsplit=1)[0] if command.strip() else command
    if program in _AGENTS or (
        not nearest(command, names()) and (command == "--" or shutil.which(program))
    ):
        agent = [word for word in (command, *rest) if word != "--"]
        if len(agent) == 1 and " " in agent[0]:
            agent = agent[0].split()
        line = arguments(agent) or "CMD"
        return redacted(f"to put lastword in front of an agent: lastword run -- {line}")
    return no_such("command", command, names(), listing)
