"""The record's rights: readable by its user alone, whoever made the file and however."""

from __future__ import annotations

import stat
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from lastword.record import intake
from tests.kit.recording import is_recorded
from tests.process.attacks.watched import END_TURN, scoped

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

UMASK_OF_NONE = ["sh", "-c", 'umask 000; exec "$@"', "sh"]


def start(attack: Attack, door: str) -> AttackClient:
    run = [sys.executable, "-m", "lastword", "run", "--"]
    command = [*run, *attack.agent({})] if door == "run" else scoped(door)
    return attack.start(*UMASK_OF_NONE, *command)


def rights(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize("door", ["run", "trio"])
def test_a_record_and_its_folders_are_private_whatever_their_former_modes_and_the_umask(
    attack: Attack, door: str
) -> None:
    state = attack.folder / "a" / "b" / "c"
    attack.environment["LASTWORD_STATE_DIR"] = str(state)
    for left_open in (False, True):
        if left_open:
            for path in (state / "record.db", *(state / "runs").iterdir()):
                path.chmod(0o666)
        with start(attack, door) as client:
            client.open()
            assert client.turn("say")["result"] == END_TURN
            client.read_until_true(lambda: is_recorded(state), "the record being written")
            with closing(intake.opened(str(state / "record.db"))):
                files = [path for path in state.rglob("*") if path.is_file()]
                assert {rights(path) for path in files} == {"0o600"}
            # Leave as a client does, so that everything is written.
            client.close_stdin()
            client.wait()
        assert [rights(folder) for folder in (state / "runs", state, *state.parents[:2])] == (
            ["0o700"] * 4
        )
        assert rights(state / "record.db") == "0o600"
