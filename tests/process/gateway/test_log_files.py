"""What a gateway has on disk: logs, each with one owner, and nothing for anybody else."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.log.sqlite import SqliteLog
from tests.kit.gateway.agents import noting
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient, failure_of, has_ended_well, opened
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        assert (log.epoch, log.reason) == (epoch, "")
        last = log.first - 1
        while entries := log.read(last):
            assert [seq for seq, _ in entries] == list(range(last + 1, last + len(entries) + 1))
            last = entries[-1].seq
        assert last == log.head
        assert log.pins.between(0, log.head)[-1].seq == log.head
        log._checkpoints.close()
        log._db.close()  # as it is, for the next one


def test_a_session_is_refused_where_no_log_can_be_written_and_the_agent_stays(
    serve: Serve,
) -> None:
    gateway = serve("permission")
    with opened(gateway) as (viewer, session):
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
    gateway = serve(
        {"turns": [[*turn, {"result": "end_turn"}], [{"say": "Here."}, {"hang": True}]]}
    )
    with opened(gateway, replay=True) as (viewer, session):
        held = gateway.session(session)
        resource.prlimit(held["pid"], resource.RLIMIT_FSIZE, (150_000, 150_000))
        assert has_ended_well(viewer.turn(session))
        assert [text.partition("x")[0] for text in viewer.said] == [f"<{n}>" for n in range(words)]
        told = viewer.find(lambda frame: "log_reset" in str(frame))
        assert told["params"]["facts"]["reason"] == "disk"
        assert told["params"]["facts"]["epoch"] != held["epoch"]
        assert viewer.seqs() == sorted(set(viewer.seqs()))
        # The next program would not find what is in memory, such as this prompt.
        prompt = viewer.prompt(session)
        viewer.find(lambda frame: "Here." in str(frame))
        gateway.tell("reload")
        until("it is refused", lambda: "not reloaded" in gateway.stderr())
        viewer.cancel(session)
        assert viewer.answer(prompt)["result"]["stopReason"] == "cancelled"


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
        # No agent is asked to load it without its folder.
        assert failure_of(after.turn(session))["reason"] == "context_lost"


# --- two gateways of one user on one state folder -------------------------------------------------


TALKS: dict[str, Any] = {
    "turns": [[{"say": "Hi."}, {"hang": True}], [{"say": "Back."}, {"result": "end_turn"}]],
    "sessions": "resume",
}


def listed(gateway: Gateway) -> dict[str, Any]:
    (session,) = ApiClient(gateway).json("/v1/sessions")["sessions"]
    found: dict[str, Any] = session
    return found


@pytest.mark.processes
def test_the_second_gateway_names_the_owner_of_a_session_and_has_it_once_that_was_killed(
    serve: Serve, tmp_path: Path
) -> None:
    first = serve(TALKS)
    with ViewerClient(first):
        pass  # it has its folders
    logs = first.state / "gateway" / "sessions"
    old = logs / f"{'0' * 24}.db"
    sqlite3.connect(old).close()
    old.touch()
    os.utime(old, (0, 0))
    # Its own run folder, as of another login.
    second = Gateway(tmp_path, agent(str(tmp_path / "scenario.json")), "--log-age", "1d")
    with (
        contextlib.closing(second),
        ViewerClient(second, capabilities=TYPED) as other,
        opened(first, capabilities=TYPED) as (viewer, session),
    ):
        viewer.prompt(session)
        viewer.find(lambda frame: "Hi." in str(frame))
        pid = first.session(session)["pid"]
        seen = listed(second)
        assert seen["state"] == "running"
        address = f"http://127.0.0.1:{first.port}"
        assert seen["gateway"] == {"pid": pid, "address": address}
        assert "gateway" not in listed(first)
        for method in ("session/load", "session/resume", "session/prompt"):
            text = [{"type": "text", "text": "go"}]
            params = first.opening(sessionId=session, prompt=text)
            error = other.answer(other.request(method, params))["error"]
            assert error["data"]["agent_error"]["reason"] == "session_elsewhere", error
            assert address in error["message"]
            assert error["data"]["gateway"] == {"pid": pid, "address": address}
        assert not second.sessions()
        until("the old log has gone", lambda: not old.exists())
        assert len(list(logs.glob("*.db"))) == 1
        first.crash()
        until("it is lost", lambda: listed(second)["state"] == "lost")
        other.load(session, first.root)
        other.find(lambda frame: "Hi." in str(frame))
        with ViewerClient(first, capabilities=TYPED) as late:
            params = first.opening(sessionId=session)
            error = late.answer(late.request("session/load", params))["error"]
            assert f":{second.port}" in error["message"]
        assert [each["sessionId"] for each in second.sessions()] == [session]


# --- what others can read -------------------------------------------------------------------------


CANARY = "sk-canary-of-a-client"


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of a folder and of all that is in it."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):  # it has gone since
            if not stat.S_ISLNK(mode := path.lstat().st_mode):
                found[str(path.relative_to(folder))] = oct(stat.S_IMODE(mode))
    return found


def too_wide(folder: Path) -> dict[str, str]:
    """Return what others have access to, or has another mode than lastword's."""
    return {
        name: mode
        for name, mode in modes(folder).items()
        if mode != ("0o700" if (folder / name).is_dir() else "0o600")
    }


@contextlib.contextmanager
def under(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.processes
def test_folders_and_files_are_private_whatever_the_umask_and_their_modes_before(
    serve: Serve,
) -> None:
    with under(0o277):
        gateway = serve("healthy")
    for umask in (0o277, 0):
        with ViewerClient(gateway) as viewer:
            viewer.turn(viewer.new(gateway.root))
            assert gateway.link()
            assert not too_wide(gateway.state), umask
            assert not too_wide(gateway.runtime / "lastword"), umask
        if umask:
            gateway.front.terminate()
            gateway.front.wait()
            for folder in (gateway.state / "gateway", gateway.runtime / "lastword"):
                for path in [folder, *folder.rglob("*")]:
                    if not path.is_symlink():
                        path.chmod(0o777)
            gateway.state.chmod(0o755)
            with under(0):
                gateway.start()
            assert modes(gateway.state)["."] == "0o700"


def test_a_home_and_a_sticky_folder_keep_their_modes(tmp_path: Path, serve: Serve) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    serve("healthy", variables={"LASTWORD_STATE_DIR": str(shared)})
    assert modes(shared)["."] == "0o1777"
    assert not too_wide(shared / "gateway")


def processes_with(text: str) -> list[str]:
    """Return the command lines that have a text in them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and str(os.getpid()) != path.parent.name:
            found.append(line)
    return found


@pytest.mark.processes
def test_a_mebibyte_of_initialize_works_and_is_on_no_command_line(
    serve: Serve, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    gateway = serve("", command=noting(notes))
    mark = f"{CANARY}-{os.getpid()}"
    capabilities = {"_meta": {"key": mark, "much": "x" * 1024 * 1024}}
    with ViewerClient(gateway, capabilities=capabilities) as viewer:
        viewer.turn(viewer.new(gateway.root))
        assert not processes_with(mark)
        assert mark in notes.read_text(encoding="utf-8")
        for holder in gateway.holders():
            assert mark.encode() not in Path(f"/proc/{holder['pid']}/environ").read_bytes()
