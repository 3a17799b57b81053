"""Unusual surroundings: languages, directories, signals, environment variables."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.process.attacks.client import END_TURN, leave, scoped

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

GONE = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'
ODD = 'mkdir "$0" && cd "$0" && exec "$@"'
C = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
SURROUNDINGS = {
    "a directory that is deleted, a relative state": (GONE, {"LASTWORD_STATE_DIR": "state"}),
    "C, and no home": (ODD, {**C, "HOME": "", "PATH": os.defpath}),
    "UTF-16, and warnings are errors": (
        ODD,
        {"PYTHONIOENCODING": "utf-16", "PYTHONWARNINGS": "error"},
    ),
    "a language that is not there, no docstrings, a meaningless number": (
        ODD,
        {
            "LC_ALL": "xx_XX.nowhere",
            "LANG": "\udcff",
            "PYTHONOPTIMIZE": "2",
            "LASTWORD_RECORD_DAYS": "nan",
        },
    ),
}
HARMLESS = [signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG, signal.SIGCONT, signal.SIGPIPE]


@pytest.mark.parametrize(
    ("door", "where"),
    [
        *(("trio", where) for where in SURROUNDINGS),
        *(("run", where) for where in list(SURROUNDINGS)[:2]),
    ],
)
def test_a_turn_is_the_same_in_any_surroundings_of_python(
    watched: Attack, door: str, where: str
) -> None:
    """Whatever signals come that mean nothing here."""
    enters, variables = SURROUNDINGS[where]
    watched.environment |= variables
    odd = str(watched.folder / "\u00e9\u4e2d\U0001f600\n\u202e it's")
    run = [sys.executable, "-m", "lastword", "run", "--", *watched.agent({})]
    command = run if door == "run" else scoped(door)
    with watched.start("sh", "-c", enters, odd, *command) as client:
        client.open()
        for number in HARMLESS * 5:
            client.signal(number)
        says = "say \u00e9\u4e2d\U0001f600"
        for _ in range(2):
            assert client.turn(says).get("result") == END_TURN, client.story("a turn")
        if door != "run":
            assert client.updates()[-1]["content"]["text"] == says.removeprefix("say ")
        leave(client)
