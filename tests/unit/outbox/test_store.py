"""The outbox on disk: its bounds, its counts, and a disk or a clock that is not well."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.errors import StoreError
from lastword.outbox import store
from lastword.outbox.store import COUNTS, DROPPED, MAX_BYTES, MAX_REPORTS, Outbox
from lastword.record.store import set_aside_before
from tests.kit.recording import DAY_MS
from tests.kit.reports_made import a_report, a_target

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.outbox.report import FailureReport

TARGET = a_target()


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(str(tmp_path / "state"))


def adds_up(outbox: Outbox) -> bool:
    """What was ever put in was sent, dropped or forgotten, or is there."""
    status = outbox.status()
    counts = status.counts
    gone = counts["sent"] + counts["cleared"] + sum(counts[name] for name in DROPPED)
    return counts["taken"] == gone + status.waiting + status.dead


def take(outbox: Outbox) -> FailureReport:
    waiting = outbox.next_report(TARGET)
    assert waiting is not None
    return waiting


def test_a_report_stays_until_it_has_arrived(outbox: Outbox) -> None:
    assert outbox.status().counts == dict.fromkeys(COUNTS, 0)
    report = a_report()
    assert outbox.add([report, report], TARGET)  # as one
    again = Outbox(outbox.folder)
    waiting = take(again)
    assert waiting == report
    assert take(outbox) == report
    again.delivered(waiting, TARGET)
    assert outbox.next_report(TARGET) is None
    assert outbox.due_epoch_ms(TARGET) is None
    assert outbox.status().counts["sent"] == 1
    assert adds_up(outbox)


def test_the_outbox_is_private_and_holds_no_credentials(outbox: Outbox) -> None:
    outbox.add(
        [a_report()], a_target("https://ada_lovelace:hunter22@c.example/secretpath?key=hunter33")
    )
    assert stat.S_IMODE(os.stat(outbox.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(outbox.folder).st_mode) == 0o700
    with open(outbox.path, "rb") as file:
        held = file.read()
    assert b"https://c.example" in held
    assert not any(secret in held for secret in (b"hunter22", b"hunter33", b"secretpath", b"ada_"))


def test_the_oldest_report_beyond_a_thousand_is_dropped_and_counted(outbox: Outbox) -> None:
    for begin in range(0, MAX_REPORTS + 100, 100):
        outbox.add([a_report(begin + number) for number in range(100)], TARGET)
    status = outbox.status()
    assert status.waiting == MAX_REPORTS
    assert status.counts["dropped_full"] == 100
    assert take(outbox).report_id == f"{100:032x}"
    assert adds_up(outbox)


def test_the_oldest_reports_beyond_four_megabytes_are_dropped(outbox: Outbox) -> None:
    large = [
        msgspec.structs.replace(a_report(number), program="x" * 50_000) for number in range(100)
    ]
    outbox.add(large, TARGET)
    status = outbox.status()
    assert MAX_BYTES - 60_000 < status.bytes <= MAX_BYTES
    assert status.counts["dropped_full"] == 100 - status.waiting > 0
    assert adds_up(outbox)


def test_dead_letters_make_room_first(outbox: Outbox) -> None:
    outbox.add([a_report(0), a_report(1)], TARGET)
    take(outbox)
    second = take(outbox)
    assert second.report_id == f"{1:032x}"
    outbox.refused(second, TARGET, "400 Bad Request")
    assert outbox.status().dead_letters == [("http://127.0.0.1:9", "400 Bad Request", second)]
    outbox.add([a_report(number) for number in range(2, MAX_REPORTS + 1)], TARGET)
    status = outbox.status()
    assert (status.waiting, status.dead) == (MAX_REPORTS, 0)
    assert status.counts["dropped_full"] == 1
    assert adds_up(outbox)


def test_a_report_is_dropped_after_seven_days_and_counted(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.add([a_report()], TARGET)
    now = store.now_ms()
    monkeypatch.setattr(store, "now_ms", lambda: now + 7 * DAY_MS - 60_000)
    assert outbox.status().waiting == 1
    monkeypatch.setattr(store, "now_ms", lambda: now + 7 * DAY_MS + 60_000)
    assert outbox.next_report(TARGET) is None
    assert outbox.status().counts["dropped_old"] == 1
    assert adds_up(outbox)


def test_a_clock_that_is_set_back_delays_nothing(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.add([a_report()], TARGET)
    take(outbox)
    outbox.failed(TARGET, "500", lambda _: 300.0)
    assert outbox.next_report(TARGET) is None
    now = store.now_ms()
    monkeypatch.setattr(store, "now_ms", lambda: now - 400 * DAY_MS)
    assert take(outbox).what == "turn"


def test_a_failure_makes_only_its_own_target_wait(outbox: Outbox) -> None:
    other = a_target("http://127.0.0.1:10")
    outbox.add([a_report(1), a_report(2)], TARGET)
    outbox.add([a_report()], other)
    # The next one's turn comes although the first has not arrived.
    assert [take(outbox).report_id for _ in range(2)] == [f"{1:032x}", f"{2:032x}"]
    waited: list[int] = []
    outbox.failed(TARGET, "503", lambda failures: waited.append(failures) or 60.0)
    outbox.failed(TARGET, "503", lambda failures: waited.append(failures) or 60.0)
    assert waited == [1, 2]
    assert outbox.next_report(TARGET) is None
    due = outbox.due_epoch_ms(TARGET)
    assert due is not None
    assert 50_000 < due - store.now_ms() <= 60_000
    assert outbox.next_report(other) is not None
    outbox.hurry(TARGET)
    waiting = take(outbox)
    outbox.delivered(waiting, TARGET)
    outbox.failed(TARGET, "503", lambda failures: waited.append(failures) or 60.0)
    assert waited == [1, 2, 1]


@pytest.mark.parametrize("damage", [b"no database" * 500, b"\0" * 8192])
def test_a_damaged_outbox_is_set_aside_and_a_new_one_created(outbox: Outbox, damage: bytes) -> None:
    outbox.add([a_report()], TARGET)
    with open(outbox.path, "r+b") as file:
        file.write(damage)
    report = a_report()
    assert outbox.add([report], TARGET)
    assert take(outbox) == report
    assert len(set_aside_before(outbox.path)) == 1
    assert outbox.status().counts["dropped_damaged"] == 1
    assert adds_up(outbox)


def test_an_unreadable_row_is_dropped_and_the_next_one_sent(outbox: Outbox) -> None:
    outbox.add([a_report(1), a_report(2)], TARGET)
    with closing(sqlite3.connect(outbox.path)) as file:
        file.execute("UPDATE reports SET body = x'7b' WHERE id = 1")
        file.commit()
    assert take(outbox).report_id == f"{2:032x}"
    assert outbox.status().counts["dropped_damaged"] == 1
    assert adds_up(outbox)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("PRAGMA application_id = 0", "something else"),
        ("PRAGMA user_version = 99", "update lastword"),
    ],
)
def test_a_foreign_or_newer_database_is_left_alone(
    outbox: Outbox, statement: str, why: str
) -> None:
    outbox.add([a_report()], TARGET)
    with closing(sqlite3.connect(outbox.path)) as file:
        file.execute(statement)
    assert not outbox.add([a_report()], TARGET)
    with pytest.raises(StoreError, match=why):
        outbox.status()


def test_reports_that_the_disk_refuses_wait_and_lost_ones_are_counted(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    outbox = Outbox(str(tmp_path / "state"))
    for begin in range(0, 300, 100):
        assert not outbox.add([a_report(begin + number) for number in range(100)], TARGET)
    with pytest.raises(StoreError):
        outbox.next_report(TARGET)
    with pytest.raises(StoreError), outbox.as_sender(TARGET):
        pass
    (tmp_path / "state").unlink()
    assert outbox.add([], TARGET)
    status = outbox.status()
    assert (status.waiting, status.counts["dropped_unwritten"]) == (256, 44)
    assert adds_up(outbox)


def test_a_report_that_arrived_is_not_sent_twice_although_it_cannot_be_marked(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.add([a_report(1), a_report(2)], TARGET)
    waiting = take(outbox)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(store, "add_to", full)
        with pytest.raises(StoreError, match="disk is full"):
            outbox.delivered(waiting, TARGET)
    # It has arrived, which the disk did not take: this process does not send it again.
    assert take(outbox).report_id == f"{2:032x}"
    assert outbox.status().counts["sent"] == 1
    assert adds_up(outbox)


def test_only_one_process_at_a_time_sends_to_a_target(outbox: Outbox) -> None:
    outbox.add([a_report()], TARGET)
    again = Outbox(outbox.folder)
    with outbox.as_sender(TARGET) as ours, again.as_sender(TARGET) as theirs:
        assert (ours, theirs) == (True, False)
        with again.as_sender(a_target("http://127.0.0.1:10")) as other:
            assert other
    with again.as_sender(TARGET) as ours:
        assert ours
