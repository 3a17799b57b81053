"""One store, several writers and readers, and everything that can happen to it under them.

What is promised: the store's trouble is no turn's, reading commands answer or say why not in a
sentence, and what could be written was.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from lastword.record import intake
from tests.kit.patience import FUSE_SECONDS
from tests.process.attacks.watched import END_TURN, ask, in_turn, leave, limited, scoped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack


def sidecar(attack: Attack) -> AttackClient:
    return attack.run({})


def guard(attack: Attack) -> AttackClient:
    return attack.start(*scoped("trio"))


WRITERS = [sidecar, guard]


def store(attack: Attack) -> Path:
    return attack.folder / "state" / "record.db"


def takes(client: AttackClient, times: int = 1) -> None:
    for _ in range(times):
        assert client.turn("say").get("result") == END_TURN, client.story("a turn")


def turns_recorded(attack: Attack) -> int:
    """How many turns are in the store, whole or not; 0 where it cannot be read."""
    try:
        with closing(intake.opened(str(store(attack)))) as record:
            (count,) = record.execute("SELECT count(*) FROM turns").fetchone()
    except StoreError:
        return 0
    return int(count)


def until_recorded(client: AttackClient, attack: Attack, least: int = 1) -> None:
    """Until so many turns have been begun in the store."""
    client.read_until_true(lambda: turns_recorded(attack) >= least, f"{least} turns in the record")


def test_four_processes_that_create_a_store_at_once_lose_no_turn_and_can_be_read_meanwhile(
    watched: Attack,
) -> None:
    clients = [sidecar(watched), sidecar(watched), guard(watched), guard(watched)]
    for client in clients:
        client.open()
    prompts = [client.prompt("say") for client in clients]
    for client, prompt in zip(clients, prompts, strict=True):
        assert client.answer(prompt).get("result") == END_TURN
    until_recorded(clients[0], watched, len(clients))
    turns = 1
    with subprocess.Popen(
        [sys.executable, "-m", "lastword", "log", "--json"],
        env=watched.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as reader:
        while reader.poll() is None or turns < 10:
            turns += 1
            for client in clients:
                takes(client)
        out, err = reader.communicate(timeout=FUSE_SECONDS)
    assert (reader.returncode, err) == (0, b"")
    json.loads(out)
    for command in (("stats", "--json"), ("export", "--last", "--json")):
        said = watched.command(*command)
        assert (bool(json.loads(said.stdout)), said.stderr) == (True, "")
    for client in clients:
        with client:
            leave(client)
    assert turns_recorded(watched) == turns * len(clients)
    folder = store(watched).parent
    assert {file.name for file in folder.rglob("*")} == {"record.db", "runs"}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_locked_or_deleted_store_costs_no_turn_and_is_written_again(
    watched: Attack, writer: Callable[[Attack], AttackClient]
) -> None:
    with writer(watched) as client:
        client.open()
        takes(client)
        until_recorded(client, watched)
        with closing(sqlite3.connect(store(watched), isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            takes(client, 3)
            holder.execute("ROLLBACK")
        takes(client)
        client.read_until_true(lambda: turns_recorded(watched) == 5, "what was held up")
        loses_its_folder(store(watched))
        takes(client, 2)
        client.read_until_true(lambda: turns_recorded(watched) == 2, "a record that is begun again")
        with closing(sqlite3.connect(store(watched), isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            takes(client)
            leave(client)  # one that stays locked holds no end up
    assert turns_recorded(watched) == 3


def test_a_sidecar_that_is_killed_in_its_turn_leaves_the_other_its_store(watched: Attack) -> None:
    with watched.run({"session/prompt": [[["say", "Working."]]]}) as doomed:
        doomed.open()
        doomed.prompt("hang")
        doomed.expect_method("session/update")
        with guard(watched) as client:
            client.open()
            takes(client)
            doomed.signal(signal.SIGKILL)
            takes(client, 2)
            leave(client)
    outcomes = [turn["outcome"] for each in watched.recorded() for turn in each["turns"]]
    assert outcomes.count("ok") == 3, outcomes


# What happens to the file under those who write it.


def is_deleted(file: Path) -> None:
    for each in file.parent.glob("record.db*"):
        each.unlink(missing_ok=True)


def loses_its_folder(file: Path) -> None:
    # At once: while it is emptied, those who write may put another into it.
    away = file.parent.rename(file.parent.with_name("away"))
    shutil.rmtree(away)


def is_emptied(file: Path) -> None:
    os.truncate(file, 0)


def is_overwritten(file: Path) -> None:
    file.write_bytes(b"No database at all." * 4096)


def becomes_a_folder(file: Path) -> None:
    while not file.is_dir():
        is_deleted(file)
        with suppress(FileExistsError):  # they have begun another
            file.mkdir()


def loses_its_log(file: Path) -> None:
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def their_files_are_overwritten(file: Path) -> None:
    for each in (file.parent / "runs").iterdir():
        each.write_bytes(b"\xff[{" * 4096)


UNDER_THEM = [
    *(is_emptied, is_overwritten, becomes_a_folder, loses_its_log),
    their_files_are_overwritten,
]
READERS = [("log", "--json"), ("export", "--last")]


def readers_come_to_no_harm(attack: Attack) -> None:
    """They answer, or say why not in a sentence."""
    for reader in READERS:
        said = attack.command(*reader, check=False)
        assert said.returncode in {0, 1, 2}, said
        assert said.returncode == 0 or said.stderr.count("\n") <= 2, said


@pytest.mark.parametrize("happens", UNDER_THEM, ids=lambda each: each.__name__)
def test_no_damage_to_the_store_harms_a_turn_or_a_reader(
    watched: Attack, happens: Callable[[Path], None]
) -> None:
    with sidecar(watched) as client, guard(watched) as other:
        client.open()
        other.open()
        takes(client)
        takes(other)
        until_recorded(client, watched, 2)
        happens(store(watched))
        takes(client, 2)
        takes(other, 2)
        leave(client)
        leave(other)
    readers_come_to_no_harm(watched)


# What is there before anybody writes.


def is_of_a_newer_lastword(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        record.executescript(
            "CREATE TABLE runs (id); PRAGMA application_id = 0x4C574F52; PRAGMA user_version = 99"
        )


def is_of_something_else(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        record.executescript("CREATE TABLE runs (id INTEGER)")


def has_other_columns(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        for table in ("runs", "entries", "turns"):
            record.execute(f"CREATE TABLE {table} (id INTEGER)")
        record.executescript("PRAGMA application_id = 0x4C574F52; PRAGMA user_version = 1")


def is_a_pipe(file: Path) -> None:
    os.mkfifo(file)


def leads_to_itself(file: Path) -> None:
    file.symlink_to(file)


def leads_to_a_full_device(file: Path) -> None:
    file.symlink_to("/dev/full")


def leads_to_no_end_of_noughts(file: Path) -> None:
    file.symlink_to("/dev/zero")


BEFORE = [
    *(is_of_a_newer_lastword, is_of_something_else, has_other_columns, is_a_pipe),
    *(leads_to_itself, leads_to_a_full_device, leads_to_no_end_of_noughts),
]


@pytest.mark.parametrize(("writer", "it"), in_turn(WRITERS, BEFORE), ids=lambda each: each.__name__)
def test_an_unusable_store_costs_no_turn_and_readers_say_why(
    watched: Attack, writer: Callable[[Attack], AttackClient], it: Callable[[Path], None]
) -> None:
    store(watched).parent.mkdir()
    it(store(watched))
    with writer(watched) as client:
        client.open()
        takes(client)
        leave(client)
    readers_come_to_no_harm(watched)


@pytest.mark.parametrize(("door", "room"), [("run", 16384), ("trio", 0), ("sdk", 65536)])
def test_a_quota_on_files_costs_no_turn(watched: Attack, door: str, room: int) -> None:
    # The agent's own journal has no room either: a plain one is asked.
    lastword = [sys.executable, "-m", "lastword"]
    own = [*lastword, "run", "--", *lastword, "agent", "healthy"]
    command = own if door == "run" else scoped(door)
    with watched.start(*limited("FSIZE", room), *command) as client:
        client.open()
        session = client.answer(ask(client, "session/new", {"cwd": "/", "mcpServers": []}))
        session_id = session["result"]["sessionId"]
        for _ in range(3):
            answer = client.turn("say", session=session_id)
            assert answer.get("result") == END_TURN, client.story("a turn")
        leave(client)
    watched.command("log", check=False)


def test_a_follower_survives_the_store_that_it_follows(watched: Attack) -> None:
    with sidecar(watched) as client:
        client.open()
        takes(client)
        until_recorded(client, watched)
        with watched.start(
            sys.executable, "-u", "-m", "lastword", "log", "--follow", "--json"
        ) as follower:
            follower.read_until_true(lambda: b"following" in follower.stderr.data, "its sentence")
            takes(client)
            follower.read_until_true(lambda: bool(follower.stdout.data), "what happens")
            is_deleted(store(watched))
            takes(client)
            follower.signal(signal.SIGINT)
            assert follower.wait() in {0, 1, 130, -2}
            assert b"Traceback" not in follower.stderr.data, follower.story("a traceback")
            follower.frames.clear()  # entries of the record, and no messages
        leave(client)
