"""What `lastword connect` reports of itself, to a gateway that takes it or does not."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.api.client_errors import read_report
from lastword.gateway.api.shapes import ClientEvent, ClientSource
from lastword.gateway.connecting.dial import TokenSource
from lastword.gateway.connecting.reporting import ConnectReports
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator


class TakingServer(ThreadingHTTPServer):
    """A gateway that takes reports, or answers as it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.statuses: list[int] = []
        self.taken: list[ClientEvent] = []
        self.asked: list[tuple[str, str | None]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.served = ""
        """The only path at which reports are taken, where it is not any."""
        self.url = f"ws://127.0.0.1:{self.server_port}/acp?node=1"


class _Taking(BaseHTTPRequestHandler):
    server: TakingServer

    def do_POST(self) -> None:
        self.server.gate.wait(FUSE_SECONDS)
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append((self.path, self.headers["authorization"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 202
        if self.server.served not in {"", self.path}:
            status = 404
        if status == 202:
            self.server.taken.append(read_report(body))
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TakingServer]:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    with TakingServer() as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.gate.set()
        serving.shutdown()
        thread.join(FUSE_SECONDS)


def sent(reports: ConnectReports) -> None:
    """Send, and wait until that is over."""
    reports.send()
    for thread in threading.enumerate():
        if thread.name == "reports":
            thread.join(FUSE_SECONDS)
            assert not thread.is_alive()


def test_a_report_is_one_that_the_gateway_takes_with_the_token_and_past_no_proxy(
    server: TakingServer,
) -> None:
    reports = ConnectReports(server.url, TokenSource("t"))
    sent(reports)
    assert server.asked == []
    reports.lost(["s"], 1006, "", 1.5)
    reports.lost([], 4408, "no_heartbeat", 2.0)
    reports.lost([], 99, "", -1.0)
    reports.note("gave_up", ["s"], tries=6)
    sent(reports)
    connect = ClientSource.CONNECT
    assert server.taken == [
        ClientEvent(source=connect, word="closed_1006", session_id="s", code=1006, lasted_ms=1500),
        ClientEvent(source=connect, word="no_heartbeat", code=4408, lasted_ms=2000),
        ClientEvent(source=connect, word="closed_99", lasted_ms=0),
        ClientEvent(source=connect, word="gave_up", session_id="s", tries=6),
    ]
    assert set(server.asked) == {("/v1/client-events?node=1", "Bearer t")}


def test_what_is_not_taken_waits_for_the_next_time_and_what_is_refused_is_sent_no_more(
    server: TakingServer,
) -> None:
    reports = ConnectReports(server.url, TokenSource("t"))
    server.statuses = [503]
    reports.note("one")
    reports.note("two")
    sent(reports)
    assert server.taken == []
    server.statuses = [404]
    sent(reports)
    assert [event.word for event in server.taken] == ["two"]


def test_a_gateway_that_is_nowhere_is_looked_for_again_with_the_next_report(
    server: TakingServer,
) -> None:
    server.served = "/nowhere"
    reports = ConnectReports(server.url.replace("/acp?node=1", "/team/acp"), TokenSource("t"))
    for word in ("one", "two"):
        reports.note(word)
        sent(reports)
    server.served = "/team/v1/client-events"
    reports.note("three")
    sent(reports)
    assert [event.word for event in server.taken] == ["three"]
    places = ["/team/v1/client-events", "/v1/client-events"]
    assert [asked for asked, _ in server.asked] == [*places, *places, places[0]]


def test_without_a_token_or_a_gateway_it_waits(server: TakingServer) -> None:
    for reports in (
        ConnectReports(server.url, TokenSource("", "/nonexistent/token")),
        ConnectReports("ws://127.0.0.1:1/acp", TokenSource("t")),
    ):
        reports.note("one")
        sent(reports)
    assert server.asked == []
