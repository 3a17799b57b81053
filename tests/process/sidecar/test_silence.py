"""Why an agent is silent, seen from its own processes and connections."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import update_of
from tests.kit.left_behind import CAN_LOOK, processes
from tests.process.sidecar.failing_turn import failure_of, is_healthy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

pytestmark = pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")

NOTICES = {"session": {"notices": {}}}
REQUEST_BYTES = 40_000


class Provider:
    """A server on loopback that takes requests of 40 KB, and answers each after a while."""

    def __init__(self, answer: bytes = b"", after_seconds: float = 0.0) -> None:
        self._answer, self._after_seconds = answer, after_seconds
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._open.append(connection)
                threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            read = 0
            while data := connection.recv(65_536):
                read += len(data)
                if read >= REQUEST_BYTES and self._answer:
                    read -= REQUEST_BYTES
                    time.sleep(self._after_seconds)
                    connection.sendall(self._answer)

    def close(self) -> None:
        """Close it and its connections."""
        for each in (self._server, *self._open):
            each.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider that never answers."""
    silent = Provider()
    yield silent
    silent.close()


def remark(client: SidecarClient) -> str:
    """Return the notice about the silence of the turn that a prompt begins."""
    client.open(**NOTICES)
    client.prompt()
    return _title(client)


def _title(client: SidecarClient) -> str:
    notice = client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "notice")
    return str(update_of(notice)["title"])


def seconds_in(title: str, before: str) -> int:
    """Return the time with which a title ends."""
    match = re.fullmatch(rf"{re.escape(before)} (\d+) s\.", title)
    assert match, title
    return int(match[1])


def test_a_provider_that_has_not_answered_is_named(start: Start, provider: Provider) -> None:
    began = time.monotonic()
    client = start("waits-for-provider", provider.port, options=["--warn-after", "5.5"])
    seconds = seconds_in(remark(client), "The model provider has not answered for")
    assert 2 <= seconds <= round(time.monotonic() - began)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--first-update-timeout", "provider_silent"),
        ("--turn-timeout", "provider_silent"),
    ],
)
def test_a_turn_that_ends_in_a_providers_silence_is_its_timeout(
    start: Start, provider: Provider, option: str, reason: str
) -> None:
    client = start(
        "waits-for-provider", provider.port, options=[option, "5", "--cancel-grace", "0.3"]
    )
    client.open()
    payload = failure_of(client.turn())
    assert (payload["type"], payload["reason"]) == ("timeout", reason)
    assert payload["origin"] == "provider"
    assert payload["retryable"] is True
    assert payload["message"].startswith("The model provider did not answer the agent's request.")


def test_with_the_wire_alone_it_is_the_agent_that_has_stalled(
    start: Start, provider: Provider
) -> None:
    options = ["--first-update-timeout", "5", "--cancel-grace", "0.3", "--evidence", "wire"]
    client = start("waits-for-provider", provider.port, options=options)
    client.open()
    assert failure_of(client.turn())["type"] == "agent_stalled"


def test_a_slow_provider_is_no_failure(start: Start) -> None:
    provider = Provider(b"Here is the answer.", 4.0)
    client = start("waits-for-provider", provider.port, options=["--first-update-timeout", "30"])
    client.open(**NOTICES)
    turn = client.turn()
    assert is_healthy(turn)
    assert "notice" not in turn.kinds
    provider.close()


def test_a_connection_that_has_been_answered_accuses_nobody(start: Start) -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\n\r\n")
    options = ["--first-update-timeout", "6", "--cancel-grace", "0.3"]
    client = start("idles-beside-connection", provider.port, options=options)
    client.open()
    payload = failure_of(client.turn())
    assert (payload["type"], payload["reason"]) == ("agent_stalled", "first_update_timeout")
    provider.close()


def test_tries_that_an_agent_makes_in_silence_are_counted(start: Start) -> None:
    provider = Provider(b"HTTP/1.1 429 Too Many Requests\r\n\r\n")
    client = start("tries-in-silence", provider.port, options=["--warn-after", "12"])
    title = remark(client)
    assert re.fullmatch(r"The agent has sent its request \d+ times and keeps trying\.", title)
    provider.close()


def test_a_program_that_runs_is_named_without_its_arguments(start: Start) -> None:
    began = time.monotonic()
    client = start("runs-child", options=["--warn-after", "5.5"])
    seconds = seconds_in(remark(client), '"sleep" has been running for')
    assert 2 <= seconds <= round(time.monotonic() - began)


def test_an_agent_that_computes_is_busy(start: Start) -> None:
    client = start("spins", options=["--warn-after", "5.5"])
    assert remark(client) == "The agent itself is busy."


def test_an_agent_that_is_stopped_is_said_to_be(start: Start) -> None:
    client = start("silence", options=["--warn-after", "5.5"])
    client.open(**NOTICES)
    client.prompt()
    client.listen(0.5)
    marked = processes(client.mark).items()
    (agent,) = [pid for pid, command in marked if " run " not in command]
    os.kill(agent, signal.SIGSTOP)
    try:
        assert _title(client) == "The agent's process is stopped."
    finally:
        os.kill(agent, signal.SIGCONT)
