"""A connector's reports as they are said: words and numbers, and no more of them than is taken."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.api.requests import read_report
from lastword.gateway.connecting import shell
from lastword.gateway.connecting.dial import TokenSource
from lastword.gateway.connecting.shell import MAX_WAITING, PER_MINUTE, ConnectReports
from lastword.outbox.post import CollectorAnswer
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET = "canary-of-the-conversation"


class Posted:
    """What was posted, and where to."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.proxied: set[bool] = set()
        self.bodies: list[dict[str, Any]] = []
        self.headers: Mapping[str, str] = {}
        self.missing: set[str] = set()
        """Where there is no endpoint."""
        self.answers: list[int] = []
        """The statuses of the next answers, wherever they are asked for."""

    def __call__(
        self, url: str, body: bytes, headers: Mapping[str, str], _: float, *, proxied: bool
    ) -> CollectorAnswer:
        self.headers = headers
        self.urls.append(url)
        self.proxied.add(proxied)
        self.bodies.append(json.loads(body))
        status = self.answers.pop(0) if self.answers else 404 if url in self.missing else 202
        return CollectorAnswer(status, b"", "", "", True)

    def words(self) -> list[str]:
        return [body["word"] for body in self.bodies]


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> Posted:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    return posted


def sent(reports: ConnectReports, *words: str) -> None:
    for word in words:
        reports.note(word)
    reports.send()
    for thread in threading.enumerate():
        if thread.name == "reports":
            thread.join(FUSE_SECONDS)


def test_a_close_is_reported_by_its_word_without_its_text(posted: Posted) -> None:
    reports = ConnectReports("wss://gateway.example/acp", TokenSource("t"))
    reports.lost(["s"], 4404, SECRET, 0.25)
    reports.lost([], 3999, SECRET, 1)
    reports.lost([], 99, "", -1.0)
    sent(reports)
    known = {"word": "session_unknown", "session_id": "s", "code": 4404, "lasted_ms": 250}
    assert posted.bodies == [
        {"source": "connect"} | known,
        {"source": "connect", "word": "closed_3999", "code": 3999, "lasted_ms": 1000},
        {"source": "connect", "word": "closed_99", "lasted_ms": 0},
    ]
    assert all(read_report(json.dumps(body).encode()) for body in posted.bodies)
    assert "Bearer t" in posted.headers.values()
    assert {*posted.urls} == {"https://gateway.example/v1/client-events"}
    assert posted.proxied == {True}


def test_the_queue_and_the_reports_per_minute_are_bounded(posted: Posted) -> None:
    reports = ConnectReports("ws://127.0.0.1:7780/acp", TokenSource("t"))
    for _ in range(3):
        sent(reports, *(f"w{number}" for number in range(100)))
    assert posted.words() == [f"w{number}" for number in range(20)]
    assert MAX_WAITING == PER_MINUTE == 20
    assert posted.proxied == {False}


def test_the_endpoint_for_reports_below_a_path_is_found_once(posted: Posted) -> None:
    url = "wss://gateway.example/a/b/acp?node=1"
    beside, below, root = places = shell.places_of(url)
    assert beside == "https://gateway.example/a/b/v1/client-events?node=1"
    assert below == "https://gateway.example/a/v1/client-events?node=1"
    assert root == "https://gateway.example/v1/client-events?node=1"
    reports = ConnectReports(url, TokenSource("t"))
    posted.missing = {*places}
    sent(reports, "none")
    assert posted.urls == [*places]
    posted.missing = {beside}  # it is sought again with the next report
    sent(reports, "one")
    sent(reports, "two")
    assert posted.urls[3:] == [beside, below, below]
    assert posted.words()[-1] == "two"


def test_an_unaccepted_report_is_sent_later_and_a_refused_one_is_dropped(posted: Posted) -> None:
    reports = ConnectReports("ws://127.0.0.1:7780/acp", TokenSource("t"))
    posted.answers = [503]
    sent(reports, "one", "two")
    posted.answers = [404]
    sent(reports)
    sent(reports)
    assert posted.words() == ["one", "one", "two"]


def test_reports_wait_without_a_token(posted: Posted) -> None:
    sent(ConnectReports("ws://127.0.0.1:7780/acp", TokenSource("", "/nonexistent/token")), "one")
    assert posted.bodies == []
