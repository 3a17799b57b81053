"""A log whose entries count once they are replicated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.gateway.fleet import replicated_log
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.replicated_log import ReplicatedLog
from lastword.gateway.log.entries import Pins
from lastword.gateway.log.session_log import LastingLog
from lastword.gateway.log.sqlite import SqliteLog
from tests.kit.fleet.in_memory import LatePublisher
from tests.kit.gateway.entries_made import ask, out, said, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lastword.gateway.log.store import Committed


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SqliteLog]:
    """The local log."""
    log = SqliteLog(str(tmp_path / "log.db"))
    yield log
    log.close()


def opened(disk: SqliteLog) -> tuple[ReplicatedLog, LatePublisher]:
    publisher = LatePublisher([].append)
    return ReplicatedLog(LastingLog(disk), publisher, 0, Pins()), publisher


def test_an_entry_is_invisible_until_it_is_replicated(disk: SqliteLog) -> None:
    log, _ = opened(disk)
    reports: list[Committed] = []
    log.observers.append(reports.append)
    assert log.append([ask(1), out()]) == 2
    assert log.append([told(1)]) == 3
    assert (log.head, log.read(0), log.pins.of("ask:"), reports) == (0, [], [], [])
    assert (log.size_bytes, log.written_bytes, log.waiting_entries) == (0, 0, 3)
    assert disk.head == 3
    log.replicated(1)
    assert [seq for seq, _ in log.read(0)] == [1]
    assert [seq for seq, _ in log.pins.of("ask:")] == [1]
    assert (len(reports), log.size_bytes, log.waiting_entries) == (1, ask(1).size, 2)
    log.replicated(3)
    assert [list(report.entries) for report in reports] == [[ask(1)], [out(), told(1)]]
    assert (log.head, log.pins.of("ask:"), log.waiting_entries) == (3, [], 0)
    assert log.size_bytes == disk.size_bytes == sum(report.size_bytes for report in reports)


def test_entries_of_a_local_file_beyond_the_stream_are_replicated(disk: SqliteLog) -> None:
    disk.append([out(), out()])
    disk.append([said(1)])
    later: list[Callable[[], None]] = []
    log = ReplicatedLog(LastingLog(disk), LatePublisher(later.append), 1, Pins())
    assert (log.head, log.waiting_entries, log.pins.of("in")) == (1, 2, [])
    later.pop()()
    assert (log.head, [seq for seq, _ in log.pins.of("in")]) == (3, [3])


def test_a_batch_has_the_next_entries_and_the_state_of_the_last_replicated_one(
    disk: SqliteLog,
) -> None:
    log, publisher = opened(disk)
    log.remember("id", "s1")
    log.remember("id", "s1")
    assert publisher.states == 1
    log.begin_term(4)
    log.append([ask(1), out()])
    log.append([out()])
    batch = log.batch(0, 2, with_state=True)
    assert (batch.epoch, batch.first, batch.last) == (disk.epoch, 1, 2)
    assert list(batch.entries) == [ask(1), out()]
    assert batch.state is not None
    assert (batch.state.last, batch.state.pins, batch.state.facts) == (0, [], {"id": "s1"})
    log.replicated(2)
    batch = log.batch(2, 3, with_state=True)
    assert batch.state is not None
    assert [name for name, _ in batch.state.pins] == ["ask:1"]
    assert log.batch(3, 3, with_state=False).last == 3
    assert disk.remembered("term") == "4"


def test_an_unreadable_local_log_publishes_nothing(disk: SqliteLog) -> None:
    log, _ = opened(disk)
    with pytest.raises(FleetError, match="cannot be read"):
        log.batch(0, 1, with_state=False)


def test_unreplicated_entries_are_not_trimmed_and_too_many_are_reported(
    disk: SqliteLog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, publisher = opened(disk)
    entry = out(text="x" * 1000)
    for _ in range(4):
        log.append([entry])
    assert (log.trim(limit_bytes=1), disk.first) == (0, 1)
    assert not log.is_behind
    monkeypatch.setattr(replicated_log, "BEHIND_BYTES", 3000)
    assert log.is_behind
    log.replicated(4)
    assert not log.is_behind
    assert (log.trim(limit_bytes=1), log.first, publisher.first) == (3, 4, 4)


def test_an_epoch_starts_with_the_first_entry_replicated_in_it(disk: SqliteLog) -> None:
    log, _ = opened(disk)
    first = log.epoch
    log.append([out()])
    disk._db.execute("PRAGMA query_only=ON")  # as a disk that is full
    log.append([out()])
    assert log.epoch == first
    log.replicated(1)
    assert log.epoch == first
    assert log.batch(1, 2, with_state=False).epoch != first
    log.replicated(2)
    assert log.epoch not in {first, ""}
    assert [seq for seq, _ in log.read(0) + log.read(1)] == [1, 2]


def test_a_renewed_epoch_is_kept(disk: SqliteLog) -> None:
    log, _ = opened(disk)
    log.append([out()])
    first = log.epoch
    log.renew_epoch()
    second = log.epoch
    log.replicated(1)
    assert (log.epoch, disk.epoch) == (second, second)
    assert second != first
    disk._db.execute("PRAGMA query_only=ON")
    log.renew_epoch()
    third = log.epoch
    log.renew_epoch()
    assert len({first, second, third, log.epoch}) == 4


def test_a_finished_log_is_no_longer_published(disk: SqliteLog) -> None:
    log, publisher = opened(disk)
    log.finish()
    assert publisher.is_stopped
    log.close()
