"""What the reader gives of what the real writer wrote, and what is summed of it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.core.timeline.entry import Entry, Kind
from lastword.errors import StoreError
from lastword.record import reader, trends
from lastword.record.reader import RecordedEntry
from lastword.record.trends import WaitTotals, waits_of
from tests.kit.recording import DAY_MS, GONE_PID, HOUR_MS, Book, a_book, a_run, now_ms, write

if TYPE_CHECKING:
    from pathlib import Path


def test_a_turn_reads_as_it_was_written(tmp_path: Path) -> None:
    book = Book()
    book.note(Kind.CLIENT_ATTACHED, name="an-editor", version="2")
    book.note(Kind.AGENT_READY, name="an-agent", version="3")
    book.created("s1")
    book.note(Kind.PROMPT, "s1", 1)
    book.note(Kind.RETRY, "s1", 1, attempt=1, wait_seconds=4.5, type="rate_limit")
    book.note(Kind.RETRY, "s1", 1, attempt=2, wait_seconds=9, type="rate_limit")
    book.note(Kind.FIRST_OUTPUT, "s1", 1)
    book.note(Kind.TOOL_STARTED, "s1", 1, call="c", tool="edit")
    book.note(Kind.ERROR, "s1", 1, type="budget", reason="credits", phase="after_tool")
    path = write(tmp_path, book)
    with reader.reading(str(path)) as record:
        (part,), more = reader.latest_parts(record, 5)
        (turn,) = reader.turns_of(record, part)
        run = reader.run_of(record, part.run)
        waits = [each.entry.facts["wait_seconds"] for each in reader.retries_of(record, turn)]
        kinds = [each.entry.kind for each in reader.entries_of(record, part)]
    assert not more
    assert (turn.outcome, turn.type, turn.reason) == ("failed", "budget", "credits")
    # Half a second from one entry to the next: neither wait lasted as long as was announced.
    assert (turn.tools, turn.retries, turn.wait_seconds, waits) == (1, 2, 2.0, [4.5, 9])
    assert (turn.output_after_seconds, turn.duration_seconds) == (1.5, 2.5)
    assert (run.agent, run.agent_version, run.client, run.ended) == (
        "an-agent",
        "3",
        "an-editor",
        1,
    )
    assert kinds == [Kind(row.kind) for row in book.rows]


def test_sessions_are_ordered_by_their_last_turn_and_a_cut_is_reported(tmp_path: Path) -> None:
    book = Book()
    for turn, session in enumerate(("old", "middle", "new", "old"), 1):
        book.ok(session, turn)
    path = write(tmp_path, book)
    with reader.reading(str(path)) as record:
        parts, more = reader.latest_parts(record, 2)
        all_parts, all_more = reader.latest_parts(record, 3)
    assert ([part.session_id for part in parts], more) == (["old", "new"], True)
    assert (len(all_parts), all_more) == (3, False)


def test_a_session_is_found_by_its_beginning_its_run_and_its_incident(tmp_path: Path) -> None:
    book = Book()
    book.ok("abc-1", 1)
    book.ok("abd-2", 2)
    book.ok("ab", 3)
    book.failed("xyz_%", 4, incident_id="01RUNA-7")
    path = write(tmp_path, book)

    def found(text: str) -> list[str]:
        with reader.reading(str(path)) as record:
            return [part.session_id for part in reader.find(record, text)]

    assert found("abc") == ["abc-1"]
    assert found("ab") == ["ab"]  # whole, though others begin so
    assert sorted(found("a")) == ["ab", "abc-1", "abd-2"]
    assert found("01RUNA-7") == ["xyz_%"]
    assert found("01RUNA/abd") == ["abd-2"]
    assert found("%") == found("_") == found("zz") == []


@pytest.mark.parametrize(
    ("hows", "parts", "first"),
    [
        (("new", "load", "resume"), ["01RUN0", "01RUN1", "01RUN2"], ["01RUN0"]),
        (("new", "new", "new"), ["01RUN2"], ["01RUN0"]),  # its id is used again for another
    ],
    ids=["restored", "another"],
)
def test_a_restored_session_has_all_its_parts(
    tmp_path: Path, hows: tuple[str, ...], parts: list[str], first: list[str]
) -> None:
    for number, how in enumerate(hows):
        book = Book(now_ms() - (5 - number) * HOUR_MS)
        book.created("1", how)
        book.ok("1", 1)
        write(tmp_path, book, a_run(f"01RUN{number}", at_ms=book.began_ms))
    with reader.reading(str(tmp_path / "record.db")) as record:
        for name, wanted in (("1", parts), ("01RUN0/1", first)):
            (part,) = reader.find(record, name)
            assert [p.run_id for p in reader.with_earlier_parts(record, part)] == wanted


def test_failures_outside_of_turns_are_found_by_time(tmp_path: Path) -> None:
    book = Book()
    book.note(Kind.ERROR, "s1", type="auth", method="session/load")
    book.note(Kind.ERROR, type="network", method="session/new")
    book.note(Kind.CONTEXT_LOST, "s1", why="x")
    for reason in ("client_left", "told_to_stop"):  # the user, during the start
        book.note(Kind.ERROR, type="agent_crash", method="initialize", reason=reason)
    book.failed("s1", 1)
    path = write(tmp_path, book)
    with reader.reading(str(path)) as record:
        all_ = reader.failed_requests(record, 0)
        early = reader.failed_requests(record, 0, book.rows[1].at_epoch_ms)
    assert [each.entry.facts["type"] for each in all_] == ["network", "auth"]
    assert [each.entry.facts["type"] for each in early] == ["auth"]


def test_a_reader_sees_a_consistent_snapshot_and_writes_nothing(tmp_path: Path) -> None:
    book = a_book(1)
    path = write(tmp_path, book)
    files = (path.read_bytes(), sorted(os.listdir(tmp_path)))
    with reader.reading(str(path)) as record, pytest.raises(Exception, match="readonly") as caught:
        record.execute("DELETE FROM turns")
    assert "attempt to write" in str(caught.value)
    assert (path.read_bytes(), sorted(os.listdir(tmp_path))) == files
    with reader.reading(str(path)) as record:
        before = reader.last_id(record)
        write(tmp_path, book, a_run("01RUNB"))
        assert reader.last_id(record) == before
    with reader.reading(str(path)) as record:
        assert len(reader.entries_after(record, before)) == len(book.rows)


def test_an_entry_of_an_unknown_kind_is_reported(tmp_path: Path) -> None:
    book = a_book(1)
    book.rows[1] = msgspec.structs.replace(book.rows[1], kind="telepathy")
    path = write(tmp_path, book)
    with (
        pytest.raises(StoreError, match="a newer lastword wrote it"),
        reader.reading(str(path)) as record,
    ):
        list(reader.entries_of(record, reader.find(record, "s1")[0]))


@pytest.mark.parametrize(
    ("pid", "began_ms", "ended", "alive"),
    [
        (os.getpid(), now_ms(), False, True),
        (os.getpid(), now_ms(), True, False),
        (GONE_PID, now_ms(), False, False),
        # Its number was given to another process since.
        (os.getpid(), now_ms() - DAY_MS, False, False),
    ],
    ids=["goes on", "said that it ended", "gone", "another process by now"],
)
def test_a_run_is_alive_while_its_own_process_runs(
    tmp_path: Path, pid: int, began_ms: int, ended: bool, alive: bool
) -> None:
    run = a_run(pid=pid, at_ms=began_ms)
    path = write(tmp_path, a_book(1, began_ms=began_ms), run, ended=ended)
    with reader.reading(str(path)) as record:
        assert reader.is_alive(reader.run_of(record, 1)) is alive


def test_a_percentile_is_a_duration_that_was_measured() -> None:
    spread = trends.spread([None, *(float(number) for number in range(100, 0, -1))])
    assert spread == trends.Spread(100, 50.0, 90.0, 99.0)
    assert trends.spread([3.0]) == trends.Spread(1, 3.0, 3.0, 3.0)
    assert trends.spread([None]) == trends.Spread()


def test_a_turn_that_still_runs_does_not_count_against_the_answers(tmp_path: Path) -> None:
    book = a_book(1)
    book.note(Kind.PROMPT, "s1", 2)
    path = write(tmp_path, book)
    with reader.reading(str(path)) as record:
        turns = list(reader.turns_between(record, 0, 2**60))
        run = reader.run_of(record, 1)

    def summed(alive: frozenset[int]) -> trends.Period:
        given = trends.PeriodInput(
            turns=turns, requests=[], restarts=[], runs={1: run}, alive=alive
        )
        return trends.period(given, lambda _: "a day")

    there, gone = summed(frozenset({1})), summed(frozenset())
    assert (there.running, there.no_end, there.answered_percent) == (1, 0, 100.0)
    assert (gone.running, gone.no_end, gone.answered_percent) == (0, 1, 50.0)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS: its file names are UTF-8")
def test_a_record_is_read_from_a_folder_with_an_undecodable_name(tmp_path: Path) -> None:
    folder = tmp_path / "st\udcff?#%41"
    write(folder, a_book(1))
    with reader.reading(str(folder / "record.db")) as record:
        assert len(reader.latest_parts(record, 9)[0]) == 1


def entry(kind: Kind, at: float, **facts: Any) -> RecordedEntry:
    made = Entry(kind=kind, at_seconds=at, session_id="s", turn=1, facts=facts)
    return RecordedEntry(id=1, run=1, at_epoch_ms=0, level="info", entry=made)


def test_each_wait_is_attributed() -> None:
    assert waits_of([
        entry(Kind.PROMPT, 0.0),
        entry(Kind.TOOL_STARTED, 1.0),
        entry(Kind.TOOL_STARTED, 2.0),
        entry(Kind.TOOL_ENDED, 3.0),
        entry(Kind.TOOL_ENDED, 6.0),
        entry(Kind.TOOL_ENDED, 9.0),
        entry(Kind.ASKED, 10.0),
        entry(Kind.USER_ANSWERED, 14.0),
        entry(Kind.TOOL_STARTED, 20.0),
        entry(Kind.ERROR, 22.0, provider_seconds=48, agent_seconds=3, tool_seconds=1),
    ]) == WaitTotals(provider=48.0, tool=8.0, agent=3.0, user=4.0)  # fmt: skip
    # A question that is left open does not count for the next turn.
    left = [entry(Kind.ASKED, 1.0), entry(Kind.PROMPT, 90.0), entry(Kind.ANSWER, 99.0)]
    assert waits_of(left) == WaitTotals()
