"""The notifier: every sender gets what the pace lets through, whatever another does."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.core.timeline.entry import Kind
from lastword.notify import notifier as notifier_module
from lastword.notify.notification import Notification, NotifiedEvent, NotifySettings, Surroundings
from lastword.notify.notifier import Notifier
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import Book, a_run

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.record.run import Row


class Kept:
    """A sender that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[Notification] = []
        self.withdrawn: list[str] = []
        self.is_closed = False
        self.told: list[str] = []

    def send(self, notification: Notification) -> None:
        self.sent.append(notification)
        self.told.append(notification.event)

    def withdraw(self, notification_id: str) -> None:
        self.withdrawn.append(notification_id)
        self.told.append("withdraw")

    def close(self) -> None:
        self.is_closed = True
        self.told.append("close")


class Broken(Kept):
    """A sender with a bug."""

    def send(self, notification: Notification) -> None:
        raise RuntimeError(notification.title)


def test_each_sender_gets_each_notification_and_open_questions_are_withdrawn_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, kept = Broken(), Kept()
    monkeypatch.setattr(
        notifier_module, "SENDERS", (lambda *_: broken, lambda *_: None, lambda *_: kept)
    )
    around = Surroundings(link_to=lambda name: f"https://gw.example/{name}")
    notifier = Notifier(NotifySettings(), str(tmp_path), a_run(), surroundings=around)
    book = Book()
    book.note(Kind.ASKED, "s", 1, what="permission")
    book.rows[-1] = msgspec.structs.replace(book.rows[-1], request_id="7")
    book.failed("t", 2)
    book.ok("t", 3)
    notifier.send(book.rows)
    notifier.close()
    assert [(each.event, each.link) for each in kept.sent] == [
        (NotifiedEvent.ASK, "https://gw.example/s"),
        (NotifiedEvent.FAILED, "https://gw.example/t"),
    ]
    assert kept.withdrawn == [kept.sent[0].notification_id]
    assert broken.is_closed
    assert kept.is_closed


@pytest.mark.parametrize(
    ("goes_on", "end"),
    [(False, ["withdraw", "close"]), (True, ["ask", "close", "withdraw"])],
)
def test_a_waiting_question_is_sent_at_the_end_if_its_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_on: bool, end: list[str]
) -> None:
    kept = Kept()
    monkeypatch.setattr(notifier_module, "SENDERS", (lambda *_: kept,))
    notifier = Notifier(NotifySettings(question_seconds=3600), str(tmp_path), a_run())
    book = Book()
    book.note(Kind.ASKED, "s", 1, what="permission")
    notifier.send(book.rows)
    notifier.goes_on = goes_on
    notifier.close()
    assert kept.told == end


def test_an_unreadable_or_unlinkable_row_does_not_block_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept()
    monkeypatch.setattr(notifier_module, "SENDERS", (lambda *_: kept,))
    book = Book()
    book.failed("bad", 1)
    book.failed("good", 2)

    def scrub(row: Row) -> Row:
        assert row.session_id != "bad"
        return row

    def link_to(_: str) -> str:
        raise OSError

    around = Surroundings(link_to=link_to)
    notifier = Notifier(NotifySettings(), str(tmp_path), a_run(), surroundings=around, scrub=scrub)
    quiet = Book()
    quiet.note(Kind.PROMPT, "s", 1)
    threads = threading.active_count()
    notifier.send(quiet.rows)
    assert threading.active_count() == threads, "nothing to send needs no thread"
    notifier.send(book.rows)
    notifier.close()
    assert [(each.session, each.link) for each in kept.sent] == [("good", "")]
    assert notifier.is_stored


def test_a_close_at_any_moment_ends_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept()
    monkeypatch.setattr(notifier_module, "SENDERS", (lambda *_: kept,))
    # A close that is overlooked would be waited for so long.
    monkeypatch.setattr(notifier_module, "CLOSE_SECONDS", 10 * FUSE_SECONDS)
    notifier = Notifier(NotifySettings(), str(tmp_path), a_run())
    closing = threading.Thread(target=notifier.close, daemon=True)
    clear, is_looking = threading.Event.clear, threading.Event()

    def close_first(event: Any) -> None:
        if not is_looking.is_set():
            closing.start()
            is_looking.set()
            while not notifier._ending:
                time.sleep(0.001)
        clear(event)

    monkeypatch.setattr(notifier._news, "clear", lambda: close_first(notifier._news))
    book = Book()
    book.failed("s", 1)
    notifier.send(book.rows)
    assert is_looking.wait(FUSE_SECONDS)
    closing.join(FUSE_SECONDS)
    assert not closing.is_alive()
    assert kept.is_closed
