"""What every log keeps, in memory and on disk alike, and what of its state when it is trimmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from lastword.gateway.fleet.replicated_log import ReplicatedLog
from lastword.gateway.log.entries import MAX_ENDS, MAX_TOOLS, About, Cursor, LogEntry, LogKind, Pins
from lastword.gateway.log.session_log import LastingLog, session_log
from lastword.gateway.log.sqlite import SqliteLog
from lastword.gateway.log.store import LogUnavailableError, MemoryLog
from lastword.gateway.viewing.reader import CursorError, Reader, start
from tests.kit.fleet.in_memory import LatePublisher
from tests.kit.gateway.entries_made import ask, end, out, said, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lastword.gateway.log.store import Committed, Log

KINDS = ("memory", "sqlite", "lasting", "half", "replicated")


@pytest.fixture(params=KINDS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    """An empty log of each kind."""
    if request.param == "memory":
        yield MemoryLog()
        return
    disk = SqliteLog(str(tmp_path / "log.db"))
    if request.param == "half":
        disk._db.execute("PRAGMA query_only=ON")  # the first entry goes to memory
    lasting = LastingLog(disk)
    if request.param == "replicated":
        yield ReplicatedLog(lasting, LatePublisher(WRITTEN.append), 0, Pins())
    else:
        yield disk if request.param == "sqlite" else lasting
    WRITTEN.clear()
    disk.close()


WRITTEN: list[Callable[[], None]] = []
"""What replicates the commits that a replicated log is still to show."""


def commit(log: Log, entries: Sequence[LogEntry]) -> int:
    """Write entries and see them committed, and not before."""
    before = log.head
    last = log.append(entries)
    if WRITTEN:
        assert (log.head, log.read(before)) == (before, [])
        WRITTEN.pop()()
    assert log.head == last == before + len(entries)
    return last


def test_numbers_are_dense_and_begin_with_1(log: Log) -> None:
    assert (log.head, log.first, log.read(0)) == (0, 1, [])
    assert commit(log, [out(), out()]) == 2
    assert commit(log, []) == 2
    assert commit(log, [out("plan")]) == 3
    assert (log.first, log.head) == (1, 3)
    assert [seq for seq, _ in log.read(0)] == [1, 2, 3]
    assert [seq for seq, _ in log.read(2)] == [3]
    assert log.read(3) == []


def test_a_read_is_bounded_by_entries_and_by_bytes_but_has_at_least_one(log: Log) -> None:
    commit(log, [out(text="x" * 1000) for _ in range(10)])
    assert [seq for seq, _ in log.read(2, max_entries=3)] == [3, 4, 5]
    assert [seq for seq, _ in log.read(2, max_bytes=2500)] == [3, 4]
    assert [seq for seq, _ in log.read(9, max_bytes=1)] == [10]
    for _ in range(300):
        commit(log, [out()])
    assert 100 <= len(log.read(10)) <= 256


def test_entries_beyond_a_size_are_trimmed_and_the_newest_stays(log: Log) -> None:
    entry = out(text="x" * 1000)
    for _ in range(10):
        commit(log, [entry])
    assert log.trim(limit_bytes=10 * entry.size) == 0
    assert log.trim(limit_bytes=3 * entry.size) == 7
    assert (log.first, log.head) == (8, 10)
    assert [seq for seq, _ in log.read(0)] == [8, 9, 10]
    assert commit(log, [out()]) == 11


def test_a_clock_that_is_set_back_changes_no_number_and_no_order(log: Log) -> None:
    for at_ms in (1_000_000, 5, 6):
        commit(log, [out(at_ms=at_ms)])
    assert [seq for seq, _ in log.read(0)] == [1, 2, 3]


def test_a_tool_call_may_have_half_a_character_in_its_id(log: Log) -> None:
    begins = out("tool_call", toolCallId="t\ud800", status="pending")
    commit(log, [begins])
    assert [seq for seq, _ in log.pins.of("tool:")] == [1]
    commit(log, [out("tool_call_update", toolCallId="t\ud800", status="completed")])
    assert log.pins.of("tool:") == []


def test_pinned_entries_survive_trimming(log: Log) -> None:
    commit(log, [out("plan"), ask(1)])
    for _ in range(20):
        commit(log, [out(text="x" * 1000)])
    log.trim(limit_bytes=3000)
    assert log.first > 3
    assert [seq for seq, _ in log.pins.between(0, log.first - 1)] == [1, 2]
    assert [seq for seq, _ in log.pins.between(1, log.first - 1)] == [2]
    assert [seq for seq, _ in log.pins.of("ask:")] == [2]


def test_a_reader_gets_everything_once_and_in_order_then_nothing(log: Log) -> None:
    for _ in range(30):
        commit(log, [out(text="x" * 20_000), out()])
    reader, seen = Reader(log, 0), []
    assert reader.lag == 60
    while not (pulled := reader.pull()).is_empty:
        seen += [seq for seq, _ in pulled.entries]
    assert seen == list(range(1, 61))
    assert reader.lag == 0
    commit(log, [out()])
    assert [seq for seq, _ in reader.pull().entries] == [61]


def trimmed(log: Log, pinned: int, size: int) -> None:
    commit(log, [out("tool_call", toolCallId=f"t{n}", x="x" * size) for n in range(pinned)])
    commit(log, [out(text="y" * 1000)])
    commit(log, [out()])
    log.trim(limit_bytes=100)


def test_a_gap_comes_with_its_pinned_entries_and_then_the_rest(log: Log) -> None:
    trimmed(log, 3, 10)
    reader = Reader(log, 0)
    told = reader.pull()
    assert told.gap is not None
    assert told.gap.first == 1
    assert [seq for seq, _ in told.pinned] == [1, 2, 3]
    assert told.passed == told.gap.last == log.first - 1
    assert not told.entries
    assert [seq for seq, _ in reader.pull().entries] == list(range(log.first, log.head + 1))


def test_a_gap_with_many_pinned_entries_is_sent_in_parts_and_passed_by_the_last(
    log: Log,
) -> None:
    trimmed(log, 3, 200_000)
    reader = Reader(log, 0)
    parts = [reader.pull() for _ in range(3)]
    assert [part.gap is None for part in parts] == [False, True, True]
    assert [len(part.pinned) for part in parts] == [1, 1, 1]
    assert [part.passed for part in parts] == [0, 0, log.first - 1]
    assert reader.pull().entries


def test_a_cursor_starts_after_its_entry_and_one_of_another_epoch_at_the_oldest(log: Log) -> None:
    commit(log, [out(), out()])
    assert start(log, None) == (0, False)
    assert start(log, Cursor(log.epoch, 1)) == (1, False)
    assert start(log, Cursor(log.epoch, 2)) == (2, False)
    assert start(log, Cursor("another", 999)) == (0, True)
    with pytest.raises(CursorError, match="last entry is 2"):
        start(log, Cursor(log.epoch, 3))


def test_each_commit_is_reported_to_every_observer_in_order_and_read_as_it_was(log: Log) -> None:
    reports: list[tuple[str, Committed]] = []
    log.observers.append(lambda each: reports.append(("first", each)))
    log.observers.append(lambda each: reports.append(("second", each)))
    entries = [out(text="é\u2028"), said(1), end(1, failure={"type": "timeout"}), ask(1)]
    commit(log, entries)
    commit(log, [])
    commit(log, [out(text="x" * 1000)])
    assert [name for name, _ in reports] == ["first", "second"] * 2
    assert [entry for _, entry in log.read(0)][:4] == entries
    first = reports[0][1]
    assert list(first.entries) == entries
    assert first.size_bytes == sum(entry.size for entry in entries)
    assert first.seconds >= 0
    written = sum(each.size_bytes for _, each in reports) // 2
    assert log.size_bytes == log.written_bytes == written
    assert not log.is_behind
    log.trim(limit_bytes=1)
    assert log.size_bytes < log.written_bytes == written


def test_a_new_log_has_facts_pins_and_an_end(tmp_path: Path) -> None:
    for log in (MemoryLog(), session_log(str(tmp_path / "log.db"))):
        assert log.reason == "new"
        log.remember("id", "s1")
        log.remember("id", "s2")
        assert (log.remembered("id"), log.remembered("never")) == ("s2", "")
        log.append([ask(1)])
        assert [seq for seq, _ in log.pins.of("ask:")] == [1]
        log.finish()
        log.finish()
        assert [seq for seq, _ in log.read(0)] == [1]
        log.close()


def test_a_log_that_can_store_nothing_raises_one_exception(tmp_path: Path) -> None:
    disk = SqliteLog(str(tmp_path / "log.db"))
    disk.append([out(text="x" * 1000)])
    disk.append([out(text="x" * 1000)])
    log = LastingLog(disk)
    disk._db.execute("PRAGMA query_only=ON")
    with pytest.raises(LogUnavailableError, match="readonly"):
        disk.append([out()])
    with pytest.raises(LogUnavailableError, match="readonly"):
        disk.trim(limit_bytes=1)
    with pytest.raises(LogUnavailableError, match="readonly"):
        log.remember("id", "s1")
    disk.finish()
    disk._db.close()
    with pytest.raises(LogUnavailableError, match="closed"):
        log.remembered("id")


def test_two_logs_have_two_epochs(tmp_path: Path) -> None:
    on_disk = [SqliteLog(str(tmp_path / name)) for name in ("a.db", "b.db")]
    assert len({log.epoch for log in (MemoryLog(), MemoryLog(), *on_disk)}) == 4
    for log in on_disk:
        log.close()


def seqs(*entries: LogEntry) -> list[int]:
    """The entries that are pinned once all of these were noted."""
    pins = Pins()
    for seq, entry in enumerate(entries, 1):
        pins.note(seq, entry)
    return [kept.seq for kept in pins.between(0, len(entries))]


def test_the_last_update_of_each_kind_of_state_is_pinned_and_text_is_not() -> None:
    kinds = ("plan", "current_mode_update", "usage_update", "session_info_update")
    assert seqs(*map(out, kinds), out("plan")) == [2, 3, 4, 5]
    invalid = LogEntry(LogKind.OUT, 1, b"{")
    said_ = map(out, ("agent_message_chunk", "agent_thought_chunk", "user_said"))
    assert seqs(*said_, invalid) == []


def test_a_tool_call_is_pinned_with_its_last_update_until_it_ends() -> None:
    begins = out("tool_call", toolCallId="t", status="pending")
    goes_on = out("tool_call_update", toolCallId="t", status="in_progress")
    ends = out("tool_call_update", toolCallId="t", status="completed")
    assert seqs(begins, goes_on, goes_on) == [1, 3]
    assert seqs(begins, goes_on, ends) == []
    assert seqs(goes_on) == []  # of a call that nobody has seen begin
    many = [out("tool_call", toolCallId=f"t{n}") for n in range(2 * MAX_TOOLS + 5)]
    assert seqs(*many)[0] == 6


def test_a_request_is_pinned_until_its_answer_and_the_last_answers_stay() -> None:
    assert seqs(said(1)) == [1]
    assert seqs(said(1), end(1), said(2)) == [2, 3]
    entries = [entry for n in range(1, MAX_ENDS + 2) for entry in (said(n), end(n))]
    assert seqs(*entries)[0] == 4  # the second request's


def test_a_question_is_pinned_until_it_is_answered_as_a_file_is_told() -> None:
    assert seqs(ask(1), ask(2), told(1)) == [2]
    pins = Pins()
    (change,) = pins.note(1, ask(4))
    assert (change[0], change[1] and change[1].seq) == ("ask:4", 1)
    assert pins.note(2, told(4)) == [("ask:4", None)]
    assert pins.note(3, told(4)) == []


def test_a_wait_for_a_limit_is_pinned_until_it_ends_in_any_way() -> None:
    def of_method(entry: LogEntry, method: str) -> LogEntry:
        return replace(entry, about=replace(entry.about, method=method))

    wait, goes_on, over, restored = (
        LogEntry(LogKind.LIFE, 1, b"", About(word=word))
        for word in ("limit_wait", "continued", "session_ended", "restored")
    )
    assert seqs(wait, restored, wait) == [3]
    assert seqs(wait, goes_on) == seqs(wait, over) == []
    for method in ("session/cancel", "$/cancel_request", "session/prompt"):
        assert 1 not in seqs(wait, of_method(said(2), method))
    assert seqs(said(1), wait, end(1)) == [1, 3]
    assert seqs(wait, of_method(end(1), "session/set_mode")) == [1, 2]
