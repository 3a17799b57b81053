"""The manual page: complete, and shown without a warning."""

from __future__ import annotations

import shutil

import pytest

from docs.completion.command_line import PARSERS
from lastword.cli.commands import names
from lastword.cli.completion import path_of
from tests.kit.installs import give_up
from tests.kit.programs import run_program

PAGE = path_of("man")


def test_the_page_has_every_command_and_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for name in names():
        assert f".SH LASTWORD {name.upper()}\n" in text
    for made in PARSERS.values():
        for action in made().shown_actions:
            if action.dest != "help":
                assert f".B {made().written(action)}".replace("'", "\\(aq") in text


@pytest.mark.parametrize(
    "command",
    [
        ["mandoc", "-T", "lint", "-W", "warning", str(PAGE)],
        ["groff", "-man", "-ww", "-T", "utf8", str(PAGE)],
    ],
)
@pytest.mark.matrix
def test_the_page_is_shown_without_a_warning(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        give_up(f"{command[0]} is not installed")
    done = run_program(command, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "WARNING" not in done.stdout
