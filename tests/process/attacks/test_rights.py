"""The record's rights: readable by its user alone, whoever made the file and however."""

from __future__ import annotations

import stat
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit import doors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

DOORS = ["run", "sdk", "asyncio"]
UMASK_OF_ALL = ["sh", "-c", 'umask "$1"; shift; exec "$@"', "sh"]


def start(attack: Attack, door: str, umask: str = "022") -> AttackClient:
    if door == "run":
        command = [sys.executable, "-m", "lastword", "run", "--", *attack.agent({})]
    else:
        command = doors.command(door)
    return attack.start(*UMASK_OF_ALL, umask, *command)


def one_turn(client: AttackClient) -> None:
    client.open()
    assert client.turn("say")["result"] == {"stopReason": "end_turn"}


def leave(client: AttackClient) -> None:
    """Leave as a client does, so that everything is written."""
    client.close_stdin()
    client.wait()


def rights(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize("door", DOORS)
def test_a_record_that_others_can_read_is_narrowed_when_it_is_opened(
    attack: Attack, door: str
) -> None:
    with start(attack, door) as client:
        one_turn(client)
        leave(client)
    (store,) = attack.folder.glob("state/record.db")
    store.chmod(0o644)
    with start(attack, door) as client:
        one_turn(client)
        leave(client)
    assert rights(store) == "0o600"


@pytest.mark.parametrize("door", DOORS)
def test_nothing_beside_such_a_record_can_be_read_by_others_while_it_is_written(
    attack: Attack, door: str
) -> None:
    state = attack.folder / "state"
    state.mkdir(mode=0o700)
    (state / "record.db").touch(mode=0o666)
    (state / "record.db").chmod(0o666)
    with start(attack, door, "000") as client:
        one_turn(client)
        client.read_until_true((state / "record.db-wal").exists, "the record being written")
        assert {rights(path) for path in state.iterdir()} == {"0o600"}


@pytest.mark.parametrize("door", DOORS)
def test_folders_that_are_made_for_the_record_are_their_users_alone_whatever_the_umask(
    attack: Attack, door: str
) -> None:
    attack.environment["LASTWORD_STATE_DIR"] = str(attack.folder / "a" / "b" / "c")
    with start(attack, door, "000") as client:
        one_turn(client)
        leave(client)
    made = [attack.folder / "a", attack.folder / "a" / "b", attack.folder / "a" / "b" / "c"]
    assert [rights(folder) for folder in made] == ["0o700"] * 3
    assert rights(made[-1] / "record.db") == "0o600"


@pytest.mark.parametrize("door", DOORS)
def test_a_new_record_is_its_users_alone_whatever_the_umask(attack: Attack, door: str) -> None:
    with start(attack, door, "000") as client:
        one_turn(client)
        state = attack.folder / "state"
        client.read_until_true((state / "record.db").exists, "the record")
        assert {rights(path) for path in state.iterdir()} == {"0o600"}
    assert rights(state) == "0o700"
