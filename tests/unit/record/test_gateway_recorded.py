"""What is read, and summed, of sessions behind a gateway: two writers, one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lastword.core.timeline.entry import Entry, Kind, Level
from lastword.record import reader
from lastword.record.recorder import HOUR_SECONDS, MAX_HOURLY, HourlyBounds, Recorder
from lastword.record.run_file import RunFile
from lastword.record.trends import gateway_period
from tests.kit.recording import (
    FOR_EVER,
    HOUR_MS,
    Book,
    Carrier,
    a_run,
    now_ms,
    stored,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.record.run import Run

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
