"""The command line as shells and the manual need it: each command's options, and their values.

Owns which parser belongs to which command, and what a shell offers for each metavar.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from lastword.cli.agent import parser as agent
from lastword.cli.check import parser as check
from lastword.cli.commands import help_parser, names
from lastword.cli.completion import parser as completion
from lastword.cli.config.command import parser as config
from lastword.cli.connect_parser import parser as connect
from lastword.cli.demo import parser as demo
from lastword.cli.doctor import parser as doctor
from lastword.cli.explain import parser as explain
from lastword.cli.export import parser as export
from lastword.cli.gateway.options import WORDS as GATEWAY_WORDS
from lastword.cli.gateway.options import parser as gateway
from lastword.cli.log import parser as log
from lastword.cli.outbox import parser as outbox
from lastword.cli.run.parser import parser as run
from lastword.cli.setup.command import parser as setup
from lastword.cli.stats import parser as stats
from lastword.kit.agent.scenarios import SCENARIOS
from lastword.kit.check.checks import CHECKS
from lastword.kit.diagnosis import CLIENTS
from lastword.quirks.setup import AGENTS, EDITORS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from lastword.cli.parser import CommandParser

PARSERS: dict[str, Callable[[], CommandParser]] = {
    "demo": demo,
    "doctor": doctor,
    "setup": setup,
    "config": config,
    "run": run,
    "log": log,
    "export": export,
    "stats": stats,
    "explain": explain,
    "agent": agent,
    "check": check,
    "gateway": gateway,
    **{f"gateway {word}": made for word, made in GATEWAY_WORDS.items()},
    "connect": connect,
    "outbox": outbox,
    "help": help_parser,
    "completion": completion,
}
"""The parser of each command, and of each word that one has."""


class Completed(StrEnum):
    """What a shell offers for a value."""

    NOTHING = "nothing"
    WORDS = "words"
    FILE = "file"
    FOLDER = "folder"
    SESSION = "session"


_KINDS = {
    "FILE": Completed.FILE,
    "DIR": Completed.FOLDER,
    "SESSION": Completed.SESSION,
}
_WORDS: dict[str, Sequence[str]] = {
    "COMMAND": names(),
    "SCENARIO": list(SCENARIOS),
    "CLIENT": list(CLIENTS),
    "EDITOR": list(EDITORS),
    "AGENT": list(AGENTS),
    "CHECKS": sorted({word for row in CHECKS.values() for word in (row.name, row.requirement)}),
}


class CompletedValue(NamedTuple):
    """The value of an option or an argument.

    Attributes:
        kind: How a shell completes it.
        words: Its possible values, if there is a fixed set.
    """

    kind: Completed
    words: tuple[str, ...] = ()


class CompletedFlag(NamedTuple):
    """An option.

    Attributes:
        names: The names it can be written with, the long one last.
        about: What it does.
        value: Its value; `None` if it is a switch.
    """

    names: tuple[str, ...]
    about: str
    value: CompletedValue | None

    @property
    def in_short(self) -> str:
        """Describe it briefly enough for a shell's list."""
        return self.about.partition(" (")[0].partition(";")[0]


class CompletedCommand(NamedTuple):
    """A command or a subcommand.

    Attributes:
        name: As it is typed: `log`, `gateway token`.
        flags: Its options.
        argument: Its positional argument, if any.
        runs_agent: Whether an agent's command follows `--`.
    """

    name: str
    flags: tuple[CompletedFlag, ...]
    argument: CompletedValue | None
    runs_agent: bool

    @property
    def values(self) -> list[tuple[list[str], CompletedValue]]:
        """What may need a value, as `run --record` or `log ARGUMENT`, and how it is completed."""
        rows = [(flag.names, flag.value) for flag in self.flags]
        rows.append((("ARGUMENT",), self.argument))
        return [
            ([f"{self.name} {word}" for word in names], value) for names, value in rows if value
        ]


def commands() -> list[CompletedCommand]:
    """Return the commands in the order of the help, each before its subcommands."""
    order = {name: place for place, name in enumerate(names())}
    ordered = sorted(PARSERS, key=lambda name: order[name.partition(" ")[0]])
    return [_command(name, PARSERS[name]()) for name in ordered]


def _command(name: str, parser: CommandParser) -> CompletedCommand:
    flags = [_flag(parser, action) for action in parser.shown_actions if action.option_strings]
    if name == "gateway":
        theirs = [_flag(parser, action) for action in run().shown_actions]
        flags += [flag for flag in theirs if flag.names[-1] != "--help"]
    rest = [action for action in parser.shown_actions if not action.option_strings]
    words = [key.partition(" ")[2] for key in PARSERS if key.startswith(f"{name} ")]
    values = [_value(action) for action in rest]
    argument = values[0] if values else None
    if len(values) > 1:
        both = tuple(dict.fromkeys(word for value in values for word in value.words))
        argument = CompletedValue(Completed.WORDS, both)
    if words:
        argument = CompletedValue(Completed.WORDS, tuple(words))
    return CompletedCommand(name, tuple(flags), argument, parser.runs_agent)


def _flag(parser: CommandParser, action: argparse.Action) -> CompletedFlag:
    value = None if action.nargs == 0 else _value(action)
    return CompletedFlag(tuple(action.option_strings), parser.help_of(action), value)


def _value(action: argparse.Action) -> CompletedValue:
    metavar = str(action.metavar)
    if action.choices:
        return CompletedValue(Completed.WORDS, tuple(map(str, action.choices)))
    if metavar in _WORDS:
        return CompletedValue(Completed.WORDS, tuple(_WORDS[metavar]))
    return CompletedValue(_KINDS.get(metavar, Completed.NOTHING))
