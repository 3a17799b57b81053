"""A connector's reports as they are said: words and numbers, and no more of them than is taken."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from lastword.gateway.api.requests import read_report
from lastword.gateway.connecting import shell
from lastword.gateway.connecting.dial import TokenSource
from lastword.gateway.connecting.shell import MAX_WAITING, PER_MINUTE, ConnectReports
from lastword.outbox.post import CollectorAnswer
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

SECRET = "canary-of-the-conversation"


class Posted:
    """What was posted, and where to."""

    def __init__(self) -> None:
        self.urls: set[str] = set()
        self.proxied: set[bool] = set()
        self.bodies: list[dict[str, Any]] = []
        self.headers: Mapping[str, str] = {}
        self.statuses: dict[str, int] = {}
        self.answers: list[int] = []
        """The statuses of the next answers, wherever they are asked for."""

    def __call__(
        self, url: str, body: bytes, headers: Mapping[str, str], _: float, *, proxied: bool
    ) -> CollectorAnswer:
        self.headers = headers
        self.urls.add(url)
        self.proxied.add(proxied)
        self.bodies.append(json.loads(body))
        status = self.answers.pop(0) if self.answers else self.statuses.get(url, 202)
        return CollectorAnswer(status, b"", "", "", True)


def sent(reports: ConnectReports) -> None:
    reports.send()
    for thread in threading.enumerate():
        if thread.name == "reports":
            thread.join(FUSE_SECONDS)


def test_a_close_is_reported_by_its_word_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    reports = ConnectReports("wss://gateway.example/acp", TokenSource("t"))
    reports.lost(["s"], 4404, SECRET, 0.25)
    reports.lost([], 3999, SECRET, 1)
    reports.lost([], 99, "", -1.0)
    sent(reports)
    assert posted.bodies == [
        {
            "source": "connect",
            "word": "session_unknown",
            "session_id": "s",
            "code": 4404,
            "lasted_ms": 250,
        },
        {"source": "connect", "word": "closed_3999", "code": 3999, "lasted_ms": 1000},
        {"source": "connect", "word": "closed_99", "lasted_ms": 0},
    ]
    assert all(read_report(json.dumps(body).encode()) for body in posted.bodies)
    assert "Bearer t" in posted.headers.values()
    assert posted.urls == {"https://gateway.example/v1/client-events"}
    assert posted.proxied == {True}


def test_the_queue_and_the_reports_per_minute_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    reports = ConnectReports("ws://127.0.0.1:7780/acp", TokenSource("t"))
    for _ in range(3):
        for number in range(100):
            reports.note(f"w{number}")
        sent(reports)
    assert [body["word"] for body in posted.bodies] == [f"w{number}" for number in range(20)]
    assert MAX_WAITING == PER_MINUTE == 20
    assert posted.proxied == {False}


def test_the_endpoint_for_reports_below_a_path_is_found_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    beside, below, root = shell.places_of("wss://gateway.example/a/b/acp?node=1")
    assert beside == "https://gateway.example/a/b/v1/client-events?node=1"
    assert below == "https://gateway.example/a/v1/client-events?node=1"
    assert root == "https://gateway.example/v1/client-events?node=1"
    posted.statuses = {beside: 404}
    reports = ConnectReports("wss://gateway.example/a/b/acp?node=1", TokenSource("t"))
    reports.note("one")
    sent(reports)
    assert posted.urls == {beside, below}
    posted.urls.clear()
    reports.note("two")
    sent(reports)
    assert posted.urls == {below}


def test_an_endpoint_that_was_not_found_is_sought_again_with_the_next_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    below, root = shell.places_of("wss://gateway.example/team/acp")
    posted.statuses = {below: 404, root: 404}
    reports = ConnectReports("wss://gateway.example/team/acp", TokenSource("t"))
    reports.note("one")
    sent(reports)
    assert posted.urls == {below, root}
    posted.statuses.clear()
    posted.urls.clear()
    reports.note("two")
    sent(reports)
    assert posted.urls == {below}
    assert posted.bodies[-1]["word"] == "two"


def test_an_unaccepted_report_is_sent_later_and_a_refused_one_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    reports = ConnectReports("ws://127.0.0.1:7780/acp", TokenSource("t"))
    for word in ("one", "two"):
        reports.note(word)
    posted.answers = [503]
    sent(reports)
    posted.answers = [404]
    sent(reports)
    sent(reports)
    assert [body["word"] for body in posted.bodies] == ["one", "one", "two"]


def test_reports_wait_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    posted = Posted()
    monkeypatch.setattr(shell, "post", posted)
    reports = ConnectReports("ws://127.0.0.1:7780/acp", TokenSource("", "/nonexistent/token"))
    reports.note("one")
    sent(reports)
    assert posted.bodies == []
