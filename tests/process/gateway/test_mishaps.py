"""What befalls a gateway from outside: signals in a row, a deleted folder, orphans to bury."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from lastword.cli.gateway.holder import holder_of
from lastword.gateway.front.holders import Holders, StartError
from lastword.gateway.run_folder import PidFile, pid_of
from lastword.gateway.settings.values import HolderSettings
from tests.kit.gateway import serving
from tests.kit.gateway.serving import GATEWAY, Gateway, is_running, until
from tests.kit.gateway.viewing import attached, opened
from tests.kit.installs import give_up
from tests.kit.patience import FUSE_SECONDS
from tests.long.kill_gateway import children_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lastword.gateway.holder.process import Holder
    from lastword.gateway.holder.quality import HolderQuality
    from tests.kit.gateway.serving import Serve

pytestmark = pytest.mark.processes

NEVER_GREETS = "import sys; sys.stdin.read()"
GREETING = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
STEADY_LOOKS = 20
LOOKS_ALL_THE_TIME = """
import sys
from lastword.gateway.run_folder import pid_of
print(flush=True)
while True:
    pid_of(sys.argv[1])
"""


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def settled(pid: int) -> int:
    """Return how many descriptors a process has open once it opens and closes none any more."""
    counts = [-1]

    def stays() -> bool:
        counts.append(descriptors(pid))
        return counts[-STEADY_LOOKS:] == [counts[-1]] * STEADY_LOOKS

    until("it has what it needs open", stays)
    return counts[-1]


def test_a_gateway_survives_repeated_reloads_until_it_is_stopped(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    with opened(gateway) as (_, session):
        pass
    for _ in range(20):  # through every part of its end and its next start
        gateway.front.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            gateway.front.wait(0.05)
    # What it was told last may be about to be done.
    until("it serves again", lambda: _loads(gateway, session))
    gateway.front.send_signal(signal.SIGHUP)
    gateway.front.send_signal(signal.SIGTERM)
    assert gateway.front.wait(FUSE_SECONDS) == 0


def _loads(gateway: Gateway, session: str) -> bool:
    try:
        with attached(gateway, session):
            return True
    except (WebSocketException, OSError):
        return False


def test_sessions_survive_the_deletion_of_the_run_folder(serve: Serve) -> None:
    gateway = serve("healthy")
    with opened(gateway) as (_, session):
        held = gateway.holders()
        # As at the end of a login.
        away = gateway.runtime.with_name(f"{gateway.runtime.name}-away")
        gateway.runtime.rename(away)
        shutil.rmtree(away)
        gateway.runtime.mkdir(mode=0o700, exist_ok=True)  # the gateway may be quicker
        until("it is known again", lambda: gateway.tell("status").returncode == 0)
        pids = [held[0]["pid"]]
        until("it is found", lambda: [holder["pid"] for holder in gateway.holders()] == pids)
        with attached(gateway, session) as another:
            another.turn(session)
            listed = another.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        assert held[0]["pid"] in [holder["pid"] for holder in gateway.holders()]
        until("the other has left", lambda: gateway.session(session)["controllers"] == 1)
        folder = next(gateway.runtime.glob("lastword/*"))
        assert folder.stat().st_mode & 0o777 == 0o700
        assert all(each.stat().st_mode & 0o777 == 0o600 for each in folder.glob("*.sock"))
    gateway.reload()
    until("it is known still", lambda: gateway.tell("status").returncode == 0)


def test_viewers_that_leave_before_the_agents_start_leave_nothing_open(serve: Serve) -> None:
    gateway = serve("", command=[sys.executable, "-c", NEVER_GREETS])
    # Before anybody has come: of one who leaves, nobody knows how long the end takes.
    with _over_a_socket(gateway):
        until("an agent runs", gateway.holders)
    front = settled(gateway.front.pid)
    for come in (_over_a_socket, _over_http) * 3:
        with come(gateway):
            until("it is asked", lambda: descriptors(gateway.front.pid) > front)
        # One more may stay; six rounds of viewers leave none each.
        until("it is left", lambda: descriptors(gateway.front.pid) <= front + 1)
    with _over_a_socket(gateway), _over_http(gateway):
        until("both are asked", lambda: descriptors(gateway.front.pid) > front + 1)
        gateway.front.terminate()
        assert gateway.front.wait(FUSE_SECONDS) == 0
    assert "Traceback" not in gateway.stderr()


@contextlib.contextmanager
def _over_a_socket(gateway: Gateway) -> Iterator[None]:
    headers = {"Authorization": f"Bearer {gateway.token()}"}
    with connect(gateway.url, additional_headers=headers, open_timeout=FUSE_SECONDS) as viewer:
        viewer.send(GREETING)
        yield


@contextlib.contextmanager
def _over_http(gateway: Gateway) -> Iterator[None]:
    with socket.create_connection(("127.0.0.1", gateway.port), FUSE_SECONDS) as viewer:
        head = (
            "POST /acp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {gateway.token()}\r\nContent-Length: {len(GREETING)}\r\n\r\n"
        )
        viewer.sendall((head + GREETING).encode())
        yield


def test_a_front_can_start_while_another_process_reads_its_pid_file(tmp_path: Path) -> None:
    words = [sys.executable, "-c", LOOKS_ALL_THE_TIME, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as looks:
        assert looks.stdout is not None
        looks.stdout.readline()
        for _ in range(100):
            file = PidFile(str(tmp_path))
            assert pid_of(str(tmp_path)) == os.getpid()
            os.close(file.number)
        looks.kill()


def test_a_holder_that_cannot_start_is_a_typed_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = HolderSettings(run_folder=str(tmp_path), log_folder=str(tmp_path), command=["agent"])

    def made(given: HolderSettings, quality: HolderQuality, _fleet: object) -> Holder:
        holder = holder_of(given, quality)
        holder.agent = mock.Mock(start=mock.AsyncMock(side_effect=ValueError("a bug")))
        return holder

    with pytest.raises(StartError) as failed:
        asyncio.run(Holders(settings, made).spare({}))
    error = failed.value.error
    failure = error["data"]["agent_error"]
    assert (failure["type"], failure["reason"]) == ("agent_crash", "holder_ended")
    assert error["message"].endswith(".")
    assert "errno" not in error["message"].lower()
    assert "a bug in lastword ended an agent" in capsys.readouterr().err


UNSHARE = ("unshare", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


def test_the_first_process_reloads_reaps_orphans_and_stops(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a container, of which a namespace is all that matters here.

    The kernel keeps from such a process every signal that it does not handle, and hands it whatever
    is left behind. Words to the gateway are said inside, as `docker exec` does: outside, its number
    is another process'.
    """
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        give_up("no namespace of processes can be made here.")
    monkeypatch.setattr(serving, "GATEWAY", (*UNSHARE, *GATEWAY))
    gateway = serve("healthy")
    (first,) = children_of(gateway.front.pid)
    enter = ("nsenter", "--target", str(first), "--user", "--pid", "--mount")

    def tell(word: str) -> None:
        words = ("--preserve-credentials", "--", *GATEWAY, word, "--port", str(gateway.port))
        subprocess.run([*enter, *words], check=True, timeout=FUSE_SECONDS, env=gateway.environment)

    with opened(gateway) as (viewer, session):
        viewer.turn(session)
        tell("reload")
        assert viewer.closed()[0] == 1012
    until("the newer front serves", lambda: gateway.stderr().count("serving at") == 2)
    assert [*children_of(gateway.front.pid)] == [first]
    with attached(gateway, session, known=viewer.known) as viewer:
        viewer.turn(session)
        # What an agent that is killed leaves behind is the first process' to bury.
        viewer.result("session/close", {"sessionId": session})
        until("nobody is left unburied", lambda: all(map(is_running, children_of(first))))
    tell("stop")
    assert gateway.front.wait(FUSE_SECONDS) == 0
    until("all of it is gone", lambda: not is_running(first))
