"""A log's file under a process that is killed, on a disk that is full, in a folder that is not."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.log.sqlite import SqliteLog
from tests.kit.gateway.viewing import ViewerClient, has_ended_well
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from tests.kit.gateway.serving import Serve

WRITER = """
import sys
from lastword.gateway.log.sqlite import SqliteLog
from tests.kit.gateway.entries_made import out
log = SqliteLog(sys.argv[1])
print(log.epoch, flush=True)
while True:
    print(log.append([out(text="x" * 500), out("plan")]), flush=True)
"""


def test_entries_that_append_returned_for_survive_a_kill(tmp_path: Path) -> None:
    path = str(tmp_path / "log.db")
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as writer:
            assert writer.stdout is not None
            epoch = writer.stdout.readline().strip()
            for _ in range(200):
                assert writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
            heads = writer.stdout.read().splitlines()
        told = int(heads[-2]) if len(heads) > 1 else 400
        log = SqliteLog(path)
        assert log.head >= told
        assert (log.epoch, log.set_aside) == (epoch, "")
        last = log.first - 1
        while entries := log.read(last):
            assert [seq for seq, _ in entries] == list(range(last + 1, last + len(entries) + 1))
            last = entries[-1].seq
        assert last == log.head
        assert log.pinned(0, log.head)[-1].seq == log.head
        log._checkpoints.close()
        log._db.close()  # as it is, for the next one


def test_a_session_is_refused_where_no_log_can_be_written_and_the_agent_stays(
    serve: Serve,
) -> None:
    gateway = serve("permission")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        prompt = viewer.prompt(session)
        asked = viewer.question()
        sessions = gateway.state / "gateway" / "sessions"
        sessions.rename(sessions.with_name("away"))
        sessions.touch()  # a file where the folder should be
        told = viewer.failure("session/new", gateway.opening())
        assert (told["reason"], told["type"]) == ("log_unwritable", "internal")
        # The session that is open goes on, and the agent that is ready is not lost.
        viewer.allow(asked)
        assert has_ended_well(viewer.answer(prompt))
        sessions.unlink()
        sessions.with_name("away").rename(sessions)
        assert viewer.new(gateway.root) != session


@pytest.mark.processes
def test_a_session_continues_on_a_full_disk_and_its_viewers_see_all(serve: Serve) -> None:
    words = 60
    turn = [{"say": f"<{number}>" + "x" * 5000} for number in range(words)]
    gateway = serve({"turns": [[*turn, {"result": "end_turn"}]]})
    with ViewerClient(gateway, replay=True) as viewer:
        session = viewer.new(gateway.root)
        held = gateway.session(session)
        resource.prlimit(held["pid"], resource.RLIMIT_FSIZE, (150_000, 150_000))
        assert has_ended_well(viewer.turn(session))
        assert [text.partition("x")[0] for text in viewer.said] == [f"<{n}>" for n in range(words)]
        told = viewer.find(lambda frame: "log_reset" in str(frame))
        assert told["params"]["facts"]["reason"] == "disk"
        assert told["params"]["facts"]["epoch"] != held["epoch"]
        assert viewer.seqs() == sorted(set(viewer.seqs()))


@pytest.mark.processes
def test_a_session_whose_file_was_damaged_reports_it_under_a_new_epoch(serve: Serve) -> None:
    gateway = serve({"turns": [[{"say": "One."}, {"result": "end_turn"}]], "sessions": "resume"})
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    before.turn(session)
    epoch = gateway.session(session)["epoch"]
    gateway.kill()
    (file,) = (gateway.state / "gateway" / "sessions").glob("*.db")
    file.write_bytes(b"no database " * 1000)
    for companion in ("-wal", "-shm"):
        Path(f"{file}{companion}").unlink()  # from it all would be found again
    gateway.start()
    cursor = {"epoch": epoch, "seq": before.seqs()[-1]}
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        more = {"_meta": {"lastword": {"after": cursor}}}
        place = after.load(session, gateway.root, **more)["_meta"]["lastword"]
        assert place["reset"] == "epoch"
        assert place["epoch"] != epoch
        told = after.find(lambda frame: "log_reset" in str(frame))
        assert told["params"]["facts"]["reason"] == "damaged"
