"""One store, several writers and readers, and everything that can happen to it under them.

What is promised: the store's trouble is no turn's, reading commands answer or say why not in a
sentence, and what could be written was.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit import left_behind
from tests.kit.patience import FUSE_SECONDS
from tests.process.attacks.watched import END_TURN, ask, leave, scoped

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack


def sidecar(attack: Attack) -> AttackClient:
    return attack.run({})


def guard(attack: Attack) -> AttackClient:
    return attack.start(*scoped("trio"))


PAIRS = [(sidecar, sidecar), (sidecar, guard), (guard, guard)]


def store(attack: Attack) -> Path:
    return attack.folder / "state" / "record.db"


def takes(client: AttackClient, times: int = 1) -> None:
    for _ in range(times):
        assert client.turn("say").get("result") == END_TURN, client.story("a turn")


def turns_recorded(attack: Attack) -> int:
    """How many turns are in the store, whole or not; 0 where it cannot be read."""
    try:
        with closing(sqlite3.connect(f"file:{store(attack)}?mode=ro", uri=True)) as record:
            (count,) = record.execute("SELECT count(*) FROM turns").fetchone()
    except sqlite3.Error:
        return 0
    return int(count)


def until_recorded(client: AttackClient, attack: Attack, least: int = 1) -> None:
    """Until so many turns have been begun in the store."""
    client.read_until_true(lambda: turns_recorded(attack) >= least, f"{least} turns in the record")


@pytest.mark.parametrize(
    ("one", "other"), PAIRS, ids=["two sidecars", "a sidecar and a guard", "two guards"]
)
def test_two_writers_of_one_store_lose_no_turn(
    watched: Attack,
    one: Callable[[Attack], AttackClient],
    other: Callable[[Attack], AttackClient],
) -> None:
    with one(watched) as first, other(watched) as second:
        first.open()
        second.open()
        for _ in range(10):
            takes(first)
            takes(second)
        leave(first)
        leave(second)
    assert turns_recorded(watched) == 20


def test_six_that_begin_a_store_in_the_same_moment_all_write_into_it(watched: Attack) -> None:
    clients = [sidecar(watched) for _ in range(6)]
    for client in clients:
        client.open()
    prompts = [client.prompt("say") for client in clients]
    for client, prompt in zip(clients, prompts, strict=True):
        assert client.answer(prompt).get("result") == END_TURN
    for client in clients:
        with client:
            leave(client)
    folder = store(watched).parent
    # The recorders outlive their runs for a moment; who reads before may leave a file of theirs.
    fuse = time.monotonic() + FUSE_SECONDS
    while [file.name for file in folder.iterdir()] != ["record.db"]:
        assert time.monotonic() < fuse, list(folder.iterdir())
        time.sleep(0.05)
    assert turns_recorded(watched) == 6


@pytest.mark.parametrize("writer", [sidecar, guard])
def test_a_store_that_is_locked_for_a_while_costs_no_turn_and_no_entry(
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
        leave(client)
    assert turns_recorded(watched) == 5


@pytest.mark.parametrize("writer", [sidecar, guard])
def test_a_store_that_stays_locked_holds_no_end_up(
    watched: Attack, writer: Callable[[Attack], AttackClient]
) -> None:
    with writer(watched) as client:
        client.open()
        takes(client)
        until_recorded(client, watched)
        with closing(sqlite3.connect(store(watched), isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            takes(client)
            leave(client)


def recorder_of(client: AttackClient) -> list[int]:
    """The processes of ours that hold the store open, but for the writer's own."""
    mark = client.mark
    found = []
    for pid in left_behind.processes(mark):
        try:
            held = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
        if any("record.db" in name for name in held):
            found.append(pid)
    return found


def test_a_recorder_that_is_killed_in_its_writing_leaves_the_other_its_store(
    watched: Attack,
) -> None:
    with sidecar(watched) as doomed, sidecar(watched) as client:
        doomed.open()
        client.open()
        takes(doomed)
        takes(client)
        until_recorded(client, watched, 2)
        for pid in recorder_of(doomed):
            os.kill(pid, signal.SIGKILL)
        takes(doomed, 2)
        takes(client, 2)
        leave(doomed)
        leave(client)
    with closing(sqlite3.connect(store(watched))) as record:
        assert record.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert turns_recorded(watched) >= 2


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
        each.unlink()


def loses_its_folder(file: Path) -> None:
    is_deleted(file)
    file.parent.rmdir()


def is_renamed(file: Path) -> None:
    file.rename(file.with_name("mine.db"))


def is_emptied(file: Path) -> None:
    os.truncate(file, 0)


def is_overwritten(file: Path) -> None:
    file.write_bytes(b"No database at all." * 4096)


def becomes_a_folder(file: Path) -> None:
    is_deleted(file)
    file.mkdir()


def loses_its_log(file: Path) -> None:
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


UNDER_THEM = [
    is_deleted,
    loses_its_folder,
    is_renamed,
    is_emptied,
    is_overwritten,
    becomes_a_folder,
    loses_its_log,
]
READERS = [("log", "--json"), ("export", "--last")]


@pytest.mark.parametrize("happens", UNDER_THEM, ids=lambda each: each.__name__)
def test_whatever_happens_to_the_store_no_turn_and_no_reader_comes_to_harm(
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
    for reader in READERS:
        said = watched.command(*reader, check=False)
        assert said.returncode in {0, 1, 2}, said
        assert b"Traceback" not in said.stderr, said


@pytest.mark.parametrize("writer", [sidecar, guard])
def test_a_store_that_is_deleted_is_begun_again_by_who_writes_it(
    watched: Attack, writer: Callable[[Attack], AttackClient]
) -> None:
    with writer(watched) as client:
        client.open()
        takes(client)
        until_recorded(client, watched)
        is_deleted(store(watched))
        takes(client, 2)
        leave(client)
    assert turns_recorded(watched) == 2


# What is there before anybody writes.


def is_of_a_newer_lastword(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        record.execute("CREATE TABLE runs (id INTEGER)")
        record.execute(f"PRAGMA application_id = {0x4C574F52}")
        record.execute("PRAGMA user_version = 99")
        record.commit()


def is_of_something_else(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        record.execute("CREATE TABLE runs (id INTEGER)")
        record.commit()


def says_version_0_with_our_tables(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        record.execute("CREATE TABLE runs (id INTEGER)")
        record.execute(f"PRAGMA application_id = {0x4C574F52}")
        record.commit()


def says_version_minus_1(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        record.execute(f"PRAGMA application_id = {0x4C574F52}")
        record.execute("PRAGMA user_version = -1")
        record.commit()


def has_other_columns(file: Path) -> None:
    with closing(sqlite3.connect(file)) as record:
        for table in ("runs", "entries", "turns"):
            record.execute(f"CREATE TABLE {table} (id INTEGER)")
        record.execute(f"PRAGMA application_id = {0x4C574F52}")
        record.execute("PRAGMA user_version = 1")
        record.commit()


def is_a_pipe(file: Path) -> None:
    os.mkfifo(file)


def leads_to_nothing(file: Path) -> None:
    file.symlink_to(file.parent / "nowhere" / "record.db")


def leads_to_itself(file: Path) -> None:
    file.symlink_to(file)


def leads_to_a_full_device(file: Path) -> None:
    file.symlink_to("/dev/full")


def leads_to_no_end_of_noughts(file: Path) -> None:
    file.symlink_to("/dev/zero")


BEFORE = [
    is_of_a_newer_lastword,
    is_of_something_else,
    says_version_0_with_our_tables,
    says_version_minus_1,
    has_other_columns,
    is_a_pipe,
    leads_to_nothing,
    leads_to_itself,
    leads_to_a_full_device,
    leads_to_no_end_of_noughts,
]


@pytest.mark.parametrize("it", BEFORE, ids=lambda each: each.__name__)
def test_a_store_that_cannot_be_used_costs_no_turn_and_readers_say_why(
    watched: Attack, it: Callable[[Path], None]
) -> None:
    store(watched).parent.mkdir()
    it(store(watched))
    with sidecar(watched) as client, guard(watched) as other:
        client.open()
        other.open()
        takes(client)
        takes(other)
        leave(client)
        leave(other)
    for reader in READERS:
        said = watched.command(*reader, check=False)
        assert said.returncode in {0, 1, 2}, said
        assert b"Traceback" not in said.stderr, said
        assert said.returncode == 0 or said.stderr.count(b"\n") <= 2, said


LIMITED = [
    sys.executable,
    "-c",
    (
        "import os,resource,sys; n=int(sys.argv[1]);"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)); os.execv(sys.argv[2], sys.argv[2:])"
    ),
]


QUOTAS = [("run", 16384), ("run", 65536), ("trio", 0), ("trio", 16384), ("sdk", 0), ("sdk", 65536)]


@pytest.mark.parametrize(("door", "room"), QUOTAS)
def test_a_quota_on_files_costs_no_turn(watched: Attack, door: str, room: int) -> None:
    # The agent's own journal has no room either: a plain one is asked.
    lastword = [sys.executable, "-m", "lastword"]
    own = [*lastword, "run", "--", *lastword, "agent", "healthy"]
    command = own if door == "run" else scoped(door)
    with watched.start(*LIMITED, str(room), *command) as client:
        client.open()
        session = client.answer(ask(client, "session/new", {"cwd": "/", "mcpServers": []}))
        session_id = session["result"]["sessionId"]
        for _ in range(3):
            answer = client.turn("say", session=session_id)
            assert answer.get("result") == END_TURN, client.story("a turn")
        leave(client)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert b"Traceback" not in watched.command("log", check=False).stderr


def test_readers_read_while_two_write(watched: Attack) -> None:
    commands = [["log", "--json"], ["stats", "--json"], ["export", "--last", "--json"]]
    with sidecar(watched) as client, guard(watched) as other:
        client.open()
        other.open()
        takes(client)
        takes(other)
        until_recorded(client, watched, 2)
        for command in commands:
            reader = subprocess.Popen(
                [sys.executable, "-m", "lastword", *command],
                env=watched.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=watched.folder,
            )
            while reader.poll() is None:
                takes(client)
                takes(other)
            out, err = reader.communicate(timeout=FUSE_SECONDS)
            assert reader.returncode == 0, err
            json.loads(out)
            assert err == b""
        leave(client)
        leave(other)


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
