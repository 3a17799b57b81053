"""The script for fish 3.1 and later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.completion.command_line import Completed, commands
from lastword.cli.commands import GROUPS

if TYPE_CHECKING:
    from docs.completion.command_line import CompletedCommand, CompletedFlag, CompletedValue

_HEAD = """\
# Completion of lastword for fish, made by `lastword completion fish`. To install it:
#   lastword completion fish > ~/.config/fish/completions/lastword.fish
# or, in ~/.config/fish/config.fish:
#   lastword completion fish | source

function __lastword_sessions
    lastword completion sessions 2>/dev/null
end

# Is this the command that is being typed, and not yet the agent's behind --?
function __lastword_is
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    set -l typed "$words[2]"
    contains -- "$words[2] $words[3]" $__lastword_commands_of_two
    and set typed "$words[2] $words[3]"
    test "$typed" = "$argv"
end

function __lastword_has_agent
    set -l words (commandline -opc)
    contains -- -- $words; and contains -- "$words[2]" $__lastword_with_agent
end

# What fish would complete if the agent's command stood alone.
function __lastword_agent
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -l typed (string escape -- $words[(math $at + 1)..-1]) (commandline -ct)
    complete -C (string join -- ' ' $typed)
end

complete -c lastword -e
complete -c lastword -f
complete -c lastword -n __lastword_has_agent -x -a '(__lastword_agent)'
complete -c lastword -n __fish_use_subcommand -l help -d 'list the commands'
complete -c lastword -n __fish_use_subcommand -l version -d 'print the version'
"""

_VALUES = {
    Completed.NOTHING: "-x",
    Completed.FILE: "-r -F",
    Completed.FOLDER: "-x -a '(__fish_complete_directories)'",
    Completed.SESSION: "-x -a '(__lastword_sessions)' -k",
}


def script() -> str:
    """Return the script."""
    every = commands()
    of_two = " ".join(f"'{command.name}'" for command in every if " " in command.name)
    with_agent = " ".join(command.name for command in every if command.runs_agent)
    lines = [
        f"set -g __lastword_commands_of_two {of_two}\n",
        f"set -g __lastword_with_agent {with_agent}\n",
    ]
    lines += [
        f"complete -c lastword -n __fish_use_subcommand -a {name} -d {_quoted(about)}\n"
        for group in GROUPS.values()
        for name, about in group.items()
    ]
    for command in every:
        lines += [_flag(command, flag) for flag in command.flags]
        if command.argument is not None and command.argument.kind is not Completed.NOTHING:
            lines.append(f"{_when(command)} {_value(command.argument)}\n")
    return _HEAD + "".join(lines)


def _flag(command: CompletedCommand, flag: CompletedFlag) -> str:
    names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in flag.names]
    value = "" if flag.value is None else f" {_value(flag.value)}"
    return f"{_when(command)} {' '.join(names)}{value} -d {_quoted(flag.in_short)}\n"


def _when(command: CompletedCommand) -> str:
    return f"complete -c lastword -n '__lastword_is {command.name}'"


def _value(value: CompletedValue) -> str:
    if value.kind is Completed.WORDS:
        return f"-x -a {_quoted(' '.join(value.words))}"
    return _VALUES[value.kind]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
