"""The list of commands, in the order in which a new user needs them.

Owns what `lastword --help` prints, and the reply to an unknown command.
"""

from __future__ import annotations

import shlex
import shutil

from lastword.cli.words import nearest, no_such, redacted

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
    "for your shell": {
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
`lastword COMMAND --help` says more of each, with examples; `lastword --version`
prints the version.
"""


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


def unknown(command: str, rest: list[str]) -> str:
    """Return the sentence for an unknown command."""
    listing = "lastword --help"
    if command.startswith("-") and command != "--":
        return no_such("option", command, ("--help", "--version"), listing)
    if not nearest(command, names()) and (command == "--" or shutil.which(command)):
        return _to_run([command, *rest])
    return no_such("command", command, names(), listing)


def _to_run(words: list[str]) -> str:
    agent = shlex.join(word for word in words if word != "--") or "CMD"
    return redacted(f"to put lastword in front of an agent: lastword run -- {agent}")
