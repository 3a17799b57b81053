"""What befalls a gateway from outside: signals in a row, a deleted folder, a killed process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from lastword.gateway.run_folder import PidFile, pid_of
from tests.kit.gateway.serving import Gateway, until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., Gateway]

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


def serves(gateway: Gateway) -> int:
    return gateway.stderr().count("serving at ")


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
    session = ""
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
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
        with ViewerClient(gateway) as viewer:
            viewer.load(session, gateway.root)
    except (WebSocketException, OSError):
        return False
    return True


def test_sessions_survive_the_deletion_of_the_run_folder(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        held = gateway.holders()
        # As at the end of a login.
        away = gateway.runtime.with_name(f"{gateway.runtime.name}-away")
        gateway.runtime.rename(away)
        shutil.rmtree(away)
        gateway.runtime.mkdir(mode=0o700)
        until("it is known again", lambda: gateway.tell("status").returncode == 0)
        pids = [held[0]["pid"]]
        until("it is found", lambda: [holder["pid"] for holder in gateway.holders()] == pids)
        with ViewerClient(gateway) as another:
            another.load(session, gateway.root)
            another.answer(another.prompt(session))
            listed = another.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        assert held[0]["pid"] in [holder["pid"] for holder in gateway.holders()]
        until("the other viewer has left", lambda: _controllers(gateway) == [1])
        folder = next(gateway.runtime.glob("lastword/*"))
        assert folder.stat().st_mode & 0o777 == 0o700
        assert all(each.stat().st_mode & 0o777 == 0o600 for each in folder.glob("*.sock"))
    assert gateway.tell("reload").returncode == 0
    until("it serves again", lambda: serves(gateway) == 2)
    until("it is known still", lambda: gateway.tell("status").returncode == 0)


def _controllers(gateway: Gateway) -> list[int]:
    return [each["controllers"] for holder in gateway.holders() for each in holder["sessions"]]


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


@pytest.fixture
def looking(tmp_path: Path) -> Iterator[Path]:
    """A run folder that is looked at all the time."""
    words = [sys.executable, "-c", LOOKS_ALL_THE_TIME, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as looks:
        assert looks.stdout is not None
        looks.stdout.readline()
        yield tmp_path
        looks.kill()


def test_a_front_can_start_while_another_process_reads_its_pid_file(looking: Path) -> None:
    for _ in range(100):
        file = PidFile(str(looking))
        assert pid_of(str(looking)) == os.getpid()
        os.close(file.number)
