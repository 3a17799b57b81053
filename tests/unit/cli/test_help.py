"""Help: of every command, within its columns, and with a word on every option."""

from __future__ import annotations

import argparse
import os
import re

from docs.completion.command_line import PARSERS
from lastword.cli.commands import GROUPS, names
from tests.kit.command import command
from tests.kit.rows import every

UNITS = {"SIZE": r"\d+MiB", "TIME": r"\d+ ?[smhd]\b|this long|this time|how long|default: 0"}
"""What the help of an option says that has such a value."""

WITHOUT_DEFAULT = {
    *("--status", "--exit-code", "--exit-signal", "--header", "--provider-env", "--help"),
    *("--link", "--client-fs"),
}
"""Options that add something, and are not there by default."""


ENDS = re.compile(r"^(examples|exit status)\b", re.MULTILINE)


def _help(name: str, columns: int) -> str:
    environment = os.environ | {"COLUMNS": str(columns)}
    done = command(*name.split(), "--help", environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@every("name", ["", *PARSERS])
def test_help_fits_eighty_columns_and_is_suggested_for_a_misspelling(name: str) -> None:
    for columns in (80, 200):
        told = _help(name, columns)
        assert told.startswith(f"usage: lastword {name or 'COMMAND'}")
        assert [line for line in told.splitlines() if len(line) > 80] == []
    assert not name or "-h, --help" in told
    assert "positional" not in told
    assert argparse.SUPPRESS not in told
    done = command(*name.split(), "--hlp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no option --hlp. Did you mean --help?" in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_command_states_its_purpose_and_every_option_its_unit_and_default() -> None:
    failures = []
    for name, made in PARSERS.items():
        parser = made()
        if len(parser.description or "") <= 40 or not ENDS.search(parser.epilog or ""):
            failures.append(name)
        for action in parser.shown_actions:
            about = parser.help_of(action)
            if len(about) <= 10:
                failures.append((name, action, about))
            if action.nargs == 0:
                continue
            if not re.search(UNITS.get(str(action.metavar), ""), about):
                failures.append((name, action, about))
            is_named = bool(action.option_strings) and not action.required
            is_there = is_named and not WITHOUT_DEFAULT & {*action.option_strings}
            if is_there and "default" not in about:
                failures.append((name, action, about))
    assert not failures


def test_the_commands_are_listed_once_each_in_the_order_of_a_first_hour() -> None:
    told = _help("", 80)
    places = [told.index(f"\n  {name} ") for name in names()]
    assert places == sorted(places)
    assert names()[0] == "demo"
    for title, group in GROUPS.items():
        assert f"\n{title}:\n" in told
        assert all(len(about) <= 67 for about in group.values())


def test_help_of_a_command_is_shown_by_the_word_help_too() -> None:
    done = command("help", "stats")
    assert done.stdout == _help("stats", 80)
