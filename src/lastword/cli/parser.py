"""The parser of every command but `run`: the form of its help and of its error messages.

Owns three rules: help fits 80 columns, an error is one line with exit status 2, and the agent's
command follows `--`. A metavar (`FILE`, `DIR`, `SESSION` and so on) says what a value is, which
shell completion uses, too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from lastword.cli.words import (
    behind_dashes,
    meant_words,
    no_such,
    shown,
    split_options,
    without_dashes,
    wrong_choice,
)
from lastword.core.failure.option_values import DURATION_EXAMPLES, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lastword.core.link.option_table import Option


def positive_seconds(text: str) -> float:
    """Return a duration above 0, in seconds.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    seconds = seconds_of(text)
    if not seconds:
        raise argparse.ArgumentTypeError(
            f"cannot be {text!r}: it takes a duration above 0, {DURATION_EXAMPLES}"
        )
    return seconds


def seconds(text: str) -> float:
    """Return a duration, in seconds.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    duration = seconds_of(text)
    if duration is None:
        raise argparse.ArgumentTypeError(
            f"cannot be {text!r}: it takes a duration, {DURATION_EXAMPLES}"
        )
    return duration


METAVARS = {
    "seconds": "TIME",
    "bytes": "SIZE",
    "count": "N",
    "folder": "DIR",
    "file": "FILE",
    "url": "URL",
    "url-or-topic": "URL",
    "text": "TEXT",
    "spending": "LIMIT",
    "ids": "ID[,ID...]",
}
"""The metavar of each kind of value; a duration with an optional word is `TIME[=WORD]`."""


def add_option(to: argparse._ActionsContainer, option: Option, about: str, **more: Any) -> None:
    """Add a row of a table of options to a parser, or to a group of one.

    Args:
        to: The parser or group.
        option: The row.
        about: Its help.
        more: Further arguments for argparse.
    """
    flag = f"--{option.name}"
    if option.kind == "flag":
        to.add_argument(flag, action="store_true", help=about)
        return
    if option.words:
        more["choices"] = option.words
    elif option.timed_words:
        more["metavar"] = f"TIME[={'|'.join(option.timed_words)}]"
    else:
        more.setdefault("metavar", METAVARS.get(option.kind))
    if option.implied is not None:
        more |= {"nargs": "?", "const": option.implied}
    to.add_argument(flag, help=about, **more)


_ARGUMENT = re.compile(
    r"(?P<names>-[\w-]+(?:, --[\w-]+)?|[a-z]+)(?: (?P<metavar>\S.*?))?(?: {2,}|\n)"
)


def add_arguments(to: argparse._ActionsContainer, table: str, **more: Mapping[str, Any]) -> None:
    """Add the arguments of a table to a parser, or to a group of one.

    Args:
        to: The parser or group.
        table: A row for each argument: its name, the metavar of its value, and its help, after two
            spaces or on indented lines. An argument without metavar and choices is a flag.
        more: Further arguments for argparse, by the argument's name in code.
    """
    for row in re.split(r"\n(?=\S)", table.strip()):
        head = _ARGUMENT.match(row)
        assert head is not None, row  # noqa: S101 - tables are ours
        names = head["names"].split(", ")
        own = dict(more.get(names[-1].lstrip("-").replace("-", "_"), {}))
        own["help"] = " ".join(row[head.end() :].split())
        if head["metavar"]:
            own["metavar"] = head["metavar"]
        elif "choices" not in own:
            own.setdefault("action", "store_true")
        to.add_argument(*names, **own)


MIN_COLUMNS, MAX_COLUMNS = 40, 80
_HELP_COLUMN = 26
_NUMBER = re.compile(r"-\d+(\.\d*)?")
_OF_ONE = re.compile(r"argument (?P<name>[^:]+): (?P<detail>.*)", re.DOTALL)
_NO_VALUE = re.compile(r"invalid (?P<kind>\w+) value: (?P<value>.*)", re.DOTALL)
_KINDS = {"int": "a whole number", "float": "a number"}


class CommandParser(argparse.ArgumentParser):
    """The parser of one command.

    Attributes:
        runs_agent: Whether an agent's command follows `--`.
    """

    def __init__(self, name: str, *, usage: str, about: str, ends: str = "") -> None:
        """Begin a command without options.

        Args:
            name: The command's name, such as `gateway token`.
            usage: The usage after the name; further lines are other forms of it.
            about: A description in paragraphs; indented lines are not filled.
            ends: The text below the options: examples, and the exit status.
        """
        prog = f"lastword {name}"
        forms = "\n".join(f"       {prog} {form}" for form in usage.splitlines()).lstrip()
        super().__init__(
            prog=prog,
            usage=forms,
            description=about,
            epilog=ends,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.color: bool = False  # argparse's own colours (Python 3.14) are not a page's
        self._positionals.title = "arguments"
        self.runs_agent: bool = "-- CMD" in usage
        self.add_argument("-h", "--help", action="help", help="show this help and exit")

    @property
    def flags(self) -> dict[str, bool]:
        """Each option, and whether its value is the next word."""
        return {flag: action.nargs is None for flag, action in self._option_string_actions.items()}

    @property
    def shown_actions(self) -> list[argparse.Action]:
        """Return the documented options and arguments, in the order of the help."""
        return [action for action in self._actions if action.help is not argparse.SUPPRESS]

    @property
    def sections(self) -> list[tuple[str, list[argparse.Action]]]:
        """Return the non-empty groups of the help, each with its title."""
        groups = [(group.title or "", group._group_actions) for group in self._action_groups]  # noqa: SLF001
        shown = self.shown_actions
        return [
            (title, members)
            for title, actions in groups
            if (members := [action for action in actions if action in shown])
        ]

    def help_of(self, action: argparse.Action) -> str:
        """Return the help of one option, including its default."""
        return self._get_formatter()._expand_help(action)  # noqa: SLF001

    def written(self, action: argparse.Action) -> str:
        """Return an option as the help shows it: `-o, --output FILE`."""
        return self._get_formatter()._format_action_invocation(action)  # noqa: SLF001

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Read a command line.

        Raises:
            SystemExit: An error or the help has been printed.
        """
        self.refuse_unknown(words)
        return self.parse_args(list(words))

    def parse_in_front(self, words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """Read the options before `--`; return them and the agent's command.

        Raises:
            SystemExit: An error or the help has been printed.
        """
        own, agent = self.split(words)
        return self.read(own), agent

    def split(
        self, words: Sequence[str], beside: Mapping[str, bool] | None = None
    ) -> tuple[list[str], list[str]]:
        """Return the options, and the agent's command, which may be missing.

        Args:
            words: The command line.
            beside: Options of another parser that are accepted, too.

        Raises:
            SystemExit: An error has been printed.
        """
        at = list(words).index("--") if "--" in words else None
        own, agent = list(words[:at]), [] if at is None else list(words[at + 1 :])
        flags = {**(beside or {}), **self.flags}
        is_help = bool({"-h", "--help"} & {*own})
        rest = split_options(own, flags)[1]
        if not is_help and rest and not rest[0].startswith("-"):
            self.error(without_dashes(self.prog, words, flags))
        self.refuse_unknown(own, flags)
        if not is_help and (problem := behind_dashes(self.prog, own, agent, flags)):
            self.error(problem)
        return own, meant_words(agent)

    def refuse_unknown(self, words: Sequence[str], beside: Iterable[str] = ()) -> None:
        """Report an unknown option, or one without a value, before any other error.

        Raises:
            SystemExit: There was one.
        """
        accepted = {*self._option_string_actions, *beside}
        for word in words:
            if word == "--":
                return
            flag, _, value = word.partition("=")
            is_option = word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)
            if is_option and value == "--":  # which argparse loses before Python 3.13
                self.error(f"{flag} cannot be '--'")
            is_joined = not word.startswith("--") and word[:2] in accepted
            if is_option and " " not in flag and flag not in accepted and not is_joined:
                self.error(no_such("option", flag, accepted - {"-h"}, f"{self.prog} --help"))

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, and exit."""
        sys.stderr.write(f"{self.prog}: {self._sentence(message)}\n")
        raise SystemExit(2)

    def _sentence(self, message: str) -> str:
        see = f"see `{self.prog} --help`"
        needed = message.removeprefix("the following arguments are required: ")
        if needed != message:
            return f"{needed} is missing; {see}"
        extra = message.removeprefix("unrecognized arguments: ")
        if extra != message:
            return f"unexpected argument: {shown(extra)}; {see}"
        match = _OF_ONE.fullmatch(message)
        if match is None:
            return message
        name, detail = match["name"].rpartition("/")[2], match["detail"]
        if detail == "expected one argument":
            action = self._option_string_actions[name]
            metavar = action.metavar or ", ".join(map(str, action.choices or ()))
            return f"{name} needs a value ({metavar}); {see}"
        if detail.startswith("ignored explicit argument"):
            return f"{name} takes no value; {see}"
        if detail.startswith("not allowed with argument"):
            other = detail.rpartition(" ")[2].rpartition("/")[2]
            return f"{name} cannot be used with {other}; {see}"
        value = _NO_VALUE.fullmatch(detail)
        if value is not None:
            kind = _KINDS.get(value["kind"], "another value")
            return f"{name} cannot be {value['value']}: it takes {kind}"
        return f"{name} {detail}" if detail.startswith("cannot be ") else f"{name}: {detail}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        words = [str(choice) for choice in action.choices]
        name = "/".join(action.option_strings[-1:]) or str(action.metavar or action.dest).upper()
        self.error(wrong_choice(name, str(value), words))


class _Formatter(argparse.HelpFormatter):
    """Help of at most 80 columns, with paragraphs filled and examples unchanged."""

    def __init__(self, prog: str) -> None:
        columns = shutil.get_terminal_size().columns
        width = max(MIN_COLUMNS, min(columns, MAX_COLUMNS))
        super().__init__(prog, max_help_position=_HELP_COLUMN, width=width)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        # Python before 3.13 would print the value twice: `-o FILE, --output FILE`.
        value = "" if action.nargs == 0 else f" {self._format_args(action, '')}".rstrip()
        if not action.option_strings:
            return super()._format_action_invocation(action)
        if not action.metavar and action.choices:
            value = " WORD"
        return ", ".join(action.option_strings) + value

    def _split_lines(self, text: str, width: int) -> list[str]:
        # A word with hyphens may be an option, and is not broken.
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - argparse's
        return "\n".join(filled(text, width))


def filled(text: str, width: int) -> list[str]:
    """Return the lines of a text, with paragraphs filled and indented lines unchanged."""
    lines: list[str] = []
    paragraph: list[str] = []
    for line in [*text.strip("\n").splitlines(), ""]:
        if line and not line.startswith(" "):
            paragraph.append(line)
            continue
        lines += textwrap.wrap(" ".join(paragraph), width, break_on_hyphens=False)
        paragraph = []
        lines.append(line)
    return lines[:-1]
