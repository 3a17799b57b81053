"""Help: of every command, within its columns, and with a word on every option."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

import pytest

from docs.completion.command_line import PARSERS
from lastword.cli.commands import GROUPS, names
from tests.kit.patience import FUSE_SECONDS

UNITS = {
    "SIZE": r"\d+MiB",
    "TIME": r"\d+ ?[smhd]\b|this long|this time|how long|default: 0",
}
"""What the help of an option says that has such a value."""

WITHOUT_DEFAULT = {
    *("--status", "--exit-code", "--exit-signal", "--header", "--provider-env", "--help"),
    *("--link", "--client-fs"),
}
"""Options that add something, and are not there by default."""


def _help(command: str, columns: int) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lastword", *command.split(), "--help"],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": str(columns)},
        timeout=FUSE_SECONDS,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("command", ["", *PARSERS])
def test_help_fits_eighty_columns_however_wide_the_terminal_is(command: str) -> None:
    for columns in (80, 200):
        told = _help(command, columns)
        assert told.startswith(f"usage: lastword {command or 'COMMAND'}")
        assert [line for line in told.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", PARSERS)
def test_every_option_says_what_it_does_its_unit_and_its_default(command: str) -> None:
    parser = PARSERS[command]()
    for action in parser.shown_actions:
        about = parser.help_of(action)
        assert len(about) > 10, action
        if action.nargs == 0:
            continue
        assert re.search(UNITS.get(str(action.metavar), ""), about), about
        is_named = bool(action.option_strings) and not action.required
        if is_named and not WITHOUT_DEFAULT & {*action.option_strings}:
            assert "default" in about, action


@pytest.mark.parametrize("command", PARSERS)
def test_every_command_says_what_it_is_for_and_how_it_ends_or_is_used(command: str) -> None:
    parser = PARSERS[command]()
    assert len(parser.description or "") > 40
    assert re.search(r"^(examples|exit status)\b", parser.epilog or "", re.MULTILINE)


@pytest.mark.parametrize("command", PARSERS)
def test_help_names_no_positional_and_has_the_help_of_help(command: str) -> None:
    told = _help(command, 80)
    assert "-h, --help" in told
    assert "positional" not in told
    assert argparse.SUPPRESS not in told


@pytest.mark.parametrize("command", PARSERS)
def test_a_misspelt_help_is_answered_with_the_right_one(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lastword", *command.split(), "--hlp"],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no option --hlp. Did you mean --help?" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_commands_are_listed_once_each_in_the_order_of_a_first_hour() -> None:
    told = _help("", 80)
    places = [told.index(f"\n  {name} ") for name in names()]
    assert places == sorted(places)
    assert names()[0] == "demo"
    for title, group in GROUPS.items():
        assert f"\n{title}:\n" in told
        assert all(len(about) <= 67 for about in group.values())


def test_help_of_a_command_is_shown_by_the_word_help_too() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lastword", "help", "stats"],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=True,
    )
    assert done.stdout == _help("stats", 80)
