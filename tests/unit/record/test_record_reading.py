"""What the reader gives of what was written, by one writer or by two, and what is summed of it."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from lastword.core.timeline.entry import Entry, Kind, Level
from lastword.errors import StoreError
from lastword.record import reader, trends
from lastword.record.reader import RecordedEntry
from lastword.record.recorder import HOUR_SECONDS, MAX_HOURLY, HourlyBounds, Recorder
from lastword.record.run_file import RunFile
from lastword.record.trends import WaitTotals, gateway_period, waits_of
from tests.kit.recording import (
    DAY_MS,
    FOR_EVER,
    GONE_PID,
    HOUR_MS,
    Book,
    Carrier,
    a_book,
    a_run,
    now_ms,
    stored,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.record.run import Run


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


def test_an_entry_without_a_time_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, a_book(1))
    with closing(sqlite3.connect(path)) as record, record:
        record.execute("UPDATE entries SET at_epoch_ms = 'later'")
    with pytest.raises(StoreError, match="it is damaged"), reader.reading(str(path)) as record:
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


BEGAN = now_ms() - HOUR_MS


def held_run(run_id: str, at_ms: int = BEGAN) -> Run:
    return replace(a_run(run_id, at_ms=at_ms), door="gateway")


def turns(run_id: str, at_ms: int, session: str = "1", how: str = "new") -> tuple[Run, Book]:
    """What `lastword run` records."""
    book = Book(at_ms)
    book.created(session, how)
    book.ok(session, 1)
    return held_run(run_id, at_ms), book


def holds(at_ms: int, *kinds: Kind, session: str = "1", name: str = "") -> Book:
    """What the holder of that run records."""
    book = Book(at_ms)
    book.note(Kind.SESSION_HELD, session, **({"name": name} if name else {}))
    for kind in kinds:
        book.note(kind, session)
    return book


def test_a_holder_and_its_run_are_one_timeline_in_the_order_of_the_machines_clock(
    tmp_path: Path,
) -> None:
    run, book = turns("01A", BEGAN)
    write(tmp_path, book, run)
    path = write(tmp_path, holds(BEGAN, Kind.VIEWER_CAME), run, ended=False)
    with reader.reading(str(path)) as record:
        (part,) = reader.find(record, "1")
        kinds = [each.entry.kind for each in reader.entries_of(record, part)]
    assert kinds == [
        *(Kind.SESSION_CREATED, Kind.SESSION_HELD, Kind.PROMPT, Kind.VIEWER_CAME),
        *(Kind.FIRST_OUTPUT, Kind.ANSWER),
    ]


def test_a_run_that_continues_in_a_newer_program_has_not_ended(tmp_path: Path) -> None:
    run, book = turns("01A", BEGAN)
    write(tmp_path, book, run)
    later = RunFile(str(tmp_path / "record.db"), run, FOR_EVER)
    later.write(holds(BEGAN + 1, Kind.VIEWER_LEFT).rows)
    later.close(ended=False)
    stored(tmp_path)
    with reader.reading(str(tmp_path / "record.db")) as record:
        (recorded,) = reader.runs_between(record, 0, now_ms())
    assert not recorded.ended


def test_a_session_that_was_taken_over_is_listed_before_its_next_turn(tmp_path: Path) -> None:
    run, book = turns("01A", BEGAN)
    write(tmp_path, book, run)
    over = holds(BEGAN + 60_000, Kind.HOLDER_DIED, Kind.SESSION_RESTORED)
    path = write(tmp_path, over, held_run("01B", BEGAN + 60_000))
    with reader.reading(str(path)) as record:
        for name in ("1", "01A/1"):
            (part,) = reader.find(record, name)
            shown = reader.with_earlier_parts(record, part)
            assert [each.run_id for each in shown] == ["01A", "01B"]
        (latest,), _ = reader.latest_parts(record, 5)
        assert [p.run_id for p in reader.with_earlier_parts(record, latest)] == ["01A", "01B"]


def test_a_session_of_which_only_the_takeover_is_recorded_is_found_by_it_and_its_incident(
    tmp_path: Path,
) -> None:
    book = holds(BEGAN)
    book.note(Kind.HOLDER_DIED, "1", incident_id="01A-h1")
    path = write(tmp_path, book, held_run("01A"))
    with reader.reading(str(path)) as record:
        (part,) = reader.find(record, "1")
        assert reader.find(record, "01A-h1") == [part]
        assert reader.with_earlier_parts(record, part) == [part]
        assert reader.turns_of(record, part) == []


def test_a_turn_that_ended_with_its_gateway_has_failed(tmp_path: Path) -> None:
    book = holds(BEGAN)
    book.ok("1", 1)
    book.note(Kind.PROMPT, "1", 2)
    write(tmp_path, book, held_run("01A"))
    over = holds(BEGAN + 60_000)
    over.note(Kind.HOLDER_DIED, "1", open_turns=1, incident_id="01B-h1")
    path = write(tmp_path, over, held_run("01B", BEGAN + 60_000))
    with reader.reading(str(path)) as record:
        (failed,) = reader.failed_turns(record, 5)
        facts = {"type": "agent_crash", "reason": "holder_died", "incident_id": "01B-h1"}
        assert (failed.turn, reader.failure_of(record, failed)) == (2, facts)
        (part,) = reader.find(record, "01B-h1")
        assert [p.run_id for p in reader.with_earlier_parts(record, part)] == ["01A", "01B"]


def test_two_sessions_with_the_same_id_are_distinguished_by_the_gateways_names(
    tmp_path: Path,
) -> None:
    for number, name in enumerate(("", "1-4af0", "1-99cc")):
        run, book = turns(f"01{number}", BEGAN + number * 1000)
        write(tmp_path, book, run)
        path = write(tmp_path, holds(BEGAN + number * 1000, name=name), run)
    resumed, book = turns("01Z", BEGAN + 60_000, how="resume")
    write(tmp_path, book, resumed)
    write(tmp_path, holds(BEGAN + 60_000, name="1-4af0"), resumed)
    with reader.reading(str(path)) as record:

        def runs(name: str) -> list[str]:
            (part,) = reader.find(record, name)
            assert reader.gateways_name(record, part).startswith(name)
            return [each.run_id for each in reader.with_earlier_parts(record, part)]

        assert runs("1") == ["010"]
        assert runs("1-4af0") == ["011", "01Z"]
        assert runs("1-99") == ["012"]
        assert len(reader.find(record, "1-")) == 2
        assert reader.find(record, "1-5") == []


def test_sessions_events_are_summed_and_absent_without_any(tmp_path: Path) -> None:
    book = Book(BEGAN)
    for code, cause in ((1006, "link_cut"), (1006, "link_cut"), (1006, "front_gone")):
        book.note(Kind.VIEWER_CAME, "1", viewer="v", back=True)
        book.note(Kind.VIEWER_LEFT, "1", viewer="v", code=code, cause=cause)
    book.note(Kind.VIEWER_CAME, "1", viewer="w")
    book.note(Kind.GAP_TOLD, "1", first=11, last=20)
    book.note(Kind.QUESTION_HELD, "1", what="permission")
    book.note(Kind.QUESTION_DECIDED, "1", how="expired")
    book.note(Kind.SESSION_RESTORED, "1", history="none")
    book.note(Kind.SESSION_RESTORED, "1", history="full")
    book.note(Kind.SESSION_ENDED, "1", cause="idle")
    write(tmp_path, book, held_run("01A"))
    # What a run without a gateway has is not counted.
    path = write(tmp_path, holds(BEGAN, Kind.VIEWER_CAME), a_run("01B"))
    with reader.reading(str(path)) as record:
        found = gateway_period(reader.gateway_entries(record, BEGAN, now_ms()))
        assert gateway_period(reader.gateway_entries(record, 0, BEGAN)) is None
    assert found is not None
    assert (found.viewers_came, found.viewers_came_back) == (4, 3)
    assert found.connections_ended == {"1006 link_cut": 2, "1006 front_gone": 1}
    assert (found.gaps, found.missed_entries, found.questions_held) == (1, 10, 1)
    assert found.questions == {"expired": 1}
    assert (found.restored, found.restored_without_history) == (2, 1)
    assert found.sessions_ended == {"idle": 1}


def test_an_hours_entries_are_bounded_but_failures_are_kept_and_the_rest_counted() -> None:
    carrier = Carrier()
    recorder = Recorder(lambda: carrier, HourlyBounds())
    recorder.keep()
    recorder.keep()

    def happens(at: float, kind: Kind = Kind.VIEWER_CAME) -> None:
        recorder.record(Entry(kind=kind, at_seconds=at, session_id="1"))

    for number in range(1000):
        happens(number)
    happens(1000.0, Kind.HOLDER_DIED)
    recorder.flush()
    assert len(carrier.rows) == MAX_HOURLY + 1
    assert carrier.rows[-1].level == Level.ERROR
    happens(HOUR_SECONDS)
    recorder.flush()
    omitted, first = carrier.rows[-2:]
    assert omitted.facts == {"count": 760, "kinds": {"viewer_came": 760}}
    assert first.kind == Kind.VIEWER_CAME
    # Those of the last hour are counted at the end, if any were left out.
    for _ in range(MAX_HOURLY + 4):
        happens(HOUR_SECONDS + 1)
    recorder.close()
    assert carrier.rows[-1].facts == {"count": 5, "kinds": {"viewer_came": 5}}
    recorder = Recorder(lambda: carrier, HourlyBounds())
    recorder.keep()
    happens(0.0)
    recorder.close()
    assert carrier.rows[-1].kind == Kind.VIEWER_CAME
