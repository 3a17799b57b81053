"""The ledger of what was spent, which processes share."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from itertools import count
from typing import TYPE_CHECKING

import pytest

from lastword.core.link.effects import Spend
from lastword.sidecar import spend_ledger
from lastword.sidecar.spend_ledger import (
    COLLECT_SECONDS,
    FILE,
    LOCK,
    LOOK_SECONDS,
    MAX_SESSIONS,
    RETRY_SECONDS,
    WRITE_SECONDS,
    SpendLedger,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lastword.core.link.costs import Spent

MOMENTS = count(1_000_000, 10)
"""Moments at which everything is due."""


@pytest.fixture(autouse=True)
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is worked on where that is asked for, as where no thread can be started."""

    def refused(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(spend_ledger.threading, "Thread", refused)


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The local day, as its only element."""
    days = ["2026-11-25"]
    monkeypatch.setattr(spend_ledger, "local_day", lambda: days[0])
    return days


def spend(session_id: str, added: float, stated: float | None = None) -> Spend:
    """A cost."""
    total = added if stated is None else stated
    return Spend(session_id, "USD", added, (total, total))


def sure(found: Spent | None) -> Spent:
    assert found is not None
    return found


def written(ledger: SpendLedger, *costs: Spend) -> Spent:
    """What is known once these costs have been written, or could have been."""
    for cost in costs:
        ledger.add(cost)
    return sure(ledger.tend(next(MOMENTS)))


def today(folder: Path) -> dict[str, float]:
    """What the file says was spent today."""
    sums: dict[str, float] = json.loads((folder / FILE).read_bytes())["today"]
    return sums


def test_processes_share_a_day_and_its_sessions(tmp_path: Path, day: list[str]) -> None:
    one, other = SpendLedger(str(tmp_path)), SpendLedger(str(tmp_path))
    seen = sure(other.look())
    assert (seen.day, seen.today) == (day[0], {})
    assert other.look() is None
    assert written(one, spend("a", 0.1)).today == {"USD": 0.1}
    assert one.look() is None
    assert written(other, spend("b", 0.2)).today == {"USD": 0.3}
    assert sure(one.look()).sessions == {"a": {"USD": (0.1, 0.1)}, "b": {"USD": (0.2, 0.2)}}


THREAD = threading.Thread


class Disk:
    """A disk that answers when it is let; `reads` counts what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.reads = 0
        self._content = spend_ledger._content
        monkeypatch.setattr(spend_ledger.threading, "Thread", THREAD)
        monkeypatch.setattr(spend_ledger, "_content", self._read)
        monkeypatch.setattr(spend_ledger, "PROMPT_SECONDS", 0.01)

    def _read(self, path: str) -> bytes:
        self.reads += 1
        assert self.answers.wait(60)
        return self._content(path)


def test_a_disk_that_does_not_answer_delays_nothing_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, ledger = Disk(monkeypatch), SpendLedger(str(tmp_path))
    assert ledger.look() is None
    monkeypatch.setattr(spend_ledger, "PROMPT_SECONDS", 600.0)
    for number in range(1, 101):
        ledger.add(spend("a", 0.01, number / 100))
        assert ledger.look() is None
        assert ledger.tend(next(MOMENTS)) is None
    assert ledger.due(7.0, in_turn=False) == 7.0 + COLLECT_SECONDS
    assert not ledger.close(0.01)
    assert ledger.problem == "the disk does not answer"
    assert disk.reads == 1
    disk.answers.set()
    assert ledger.close(60.0)
    assert today(tmp_path) == {"USD": 1.0}


def test_costs_that_come_while_others_are_written_count_at_once_and_are_written_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, ledger = Disk(monkeypatch), SpendLedger(str(tmp_path))
    ledger.add(spend("a", 0.5))
    assert ledger.tend(next(MOMENTS)) is None
    ledger.add(spend("a", 0.25, 0.75))
    monkeypatch.setattr(spend_ledger, "PROMPT_SECONDS", 60.0)
    disk.answers.set()
    assert sure(ledger.look()).today == {"USD": 0.75}
    assert today(tmp_path) == {"USD": 0.5}
    assert ledger.close(60.0)
    assert today(tmp_path) == {"USD": 0.75}


def test_a_new_day_starts_at_zero_and_its_sessions_keep_their_sums(
    tmp_path: Path, day: list[str]
) -> None:
    ledger, east = SpendLedger(str(tmp_path)), SpendLedger(str(tmp_path))
    written(ledger, spend("a", 0.5))
    day[0] = "2026-11-26"
    seen = sure(ledger.look())
    assert (seen.day, seen.today) == ("2026-11-26", {})
    assert seen.sessions == {"a": {"USD": (0.5, 0.5)}}
    # Processes in two time zones share the later day.
    written(east, spend("b", 0.25))
    day[0] = "2026-11-25"
    assert written(ledger, spend("a", 0.5, 1)).today == {"USD": 0.75}
    day[0] = "2026-11-26"
    assert written(east, spend("b", 0.25, 0.5)).today == {"USD": 1.0}
    # A date that is wrong by more than a time zone is forgotten.
    day[0] = "2036-01-01"
    written(ledger, spend("a", 5))
    day[0] = "2026-11-25"
    assert written(ledger, spend("a", 0.5, 6.5)).today == {"USD": 0.5}


def test_the_files_are_their_users_alone(tmp_path: Path) -> None:
    written(SpendLedger(str(tmp_path / "state")), spend("a", 1))
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    for name in (FILE, LOCK):
        assert (tmp_path / "state" / name).stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path / "state")) == [FILE, LOCK]


def test_only_the_latest_sessions_are_kept(tmp_path: Path) -> None:
    ledger = SpendLedger(str(tmp_path))
    many = {str(number): {"USD": (1.0, 1.0)} for number in range(MAX_SESSIONS)}
    (tmp_path / FILE).write_text(json.dumps({"day": "x", "sessions": many}))
    sessions = written(ledger, spend("new", 1)).sessions
    assert len(sessions) == MAX_SESSIONS
    assert ("0" in sessions, "new" in sessions) == (False, True)


@every(
    "damage",
    [
        *(b"", b"{", b"[]", b'{"day": 1}', b"\xff", b'{"day":"x"'),
        *(b'{"day":"@",%b}' % sums for sums in (b'"today":{"USD":-100}', b'"today":{"USD":1e300}')),
        b'{"day":"@","sessions":{"b":{"USD":[1,-9]}}}',
    ],
)
def test_a_damaged_file_or_an_impossible_sum_counts_as_empty(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage.replace(b"@", spend_ledger.local_day().encode()))
    ledger = SpendLedger(str(tmp_path))
    assert sure(ledger.look()).today == {}
    spent = written(ledger, spend("a", 1))
    assert (spent.today, [*spent.sessions]) == ({"USD": 1.0}, ["a"])


def test_costs_that_cannot_be_written_now_are_written_later_once_for_each_session(
    tmp_path: Path,
) -> None:
    ledger = SpendLedger(str(tmp_path))
    with open(tmp_path / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for number in range(1, 2001):
            assert written(ledger, spend("a", 0.5, number / 2)).today == {"USD": number / 2}
        assert not (tmp_path / FILE).exists()
        assert not ledger.close(0.0)
    due = ledger.due(0.0, in_turn=False)
    assert due is not None
    spent = sure(ledger.tend(due))
    assert spent.today == {"USD": 1000.0} == today(tmp_path)
    assert spent.sessions == {"a": {"USD": (1000.0, 1000.0)}}
    assert ledger.due(0.0, in_turn=False) is None


def test_the_end_waits_for_a_process_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = SpendLedger(str(tmp_path))
    ledger.add(spend("a", 0.5))
    with open(tmp_path / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        monkeypatch.setattr(spend_ledger.time, "sleep", lambda _: lock.close())
        assert ledger.close(600.0)
    assert today(tmp_path) == {"USD": 0.5}
    assert ledger.close(0.0)


def test_costs_of_a_moment_are_written_together(tmp_path: Path) -> None:
    ledger = SpendLedger(str(tmp_path))
    ledger.add(spend("a", 0.25))
    assert ledger.tend(100.0) is not None
    assert today(tmp_path) == {"USD": 0.25}
    for number in range(1000):
        ledger.add(spend("a", 0.25, number / 4))
        assert ledger.tend(100.1) is None
    assert today(tmp_path) == {"USD": 0.25}
    assert ledger.due(0.0, in_turn=False) == 100.0 + WRITE_SECONDS
    assert ledger.tend(100.0 + WRITE_SECONDS) is not None
    assert today(tmp_path) == {"USD": 250.25}


def test_a_turn_without_costs_reads_what_others_spend(tmp_path: Path) -> None:
    ledger, other = SpendLedger(str(tmp_path)), SpendLedger(str(tmp_path))
    ledger.tend(100.0)
    assert ledger.due(0.0, in_turn=False) is None
    assert ledger.due(0.0, in_turn=True) == 100.0 + LOOK_SECONDS
    written(other, spend("b", 2))
    assert ledger.tend(100.0 + LOOK_SECONDS / 2) is None
    assert sure(ledger.tend(100.0 + LOOK_SECONDS)).today == {"USD": 2.0}
    assert ledger.tend(100.0 + 2 * LOOK_SECONDS) is None


def test_an_unwritable_folder_is_reported_and_retried(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ledger = SpendLedger(str(tmp_path / "file"))
    ledger.add(spend("a", 0.5))
    assert ledger.tend(100.0) is None
    assert ledger.problem is not None
    assert ledger.due(0.0, in_turn=False) == 100.0 + RETRY_SECONDS
    assert not ledger.close(600.0)
    (tmp_path / "file").unlink()
    assert written(ledger, spend("b", 0.5)).today == {"USD": 1.0}
    assert ledger.problem is None


def test_an_unreadable_ledger_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = SpendLedger(str(tmp_path)), SpendLedger(str(tmp_path))
    written(other, spend("b", 2))
    ledger.add(spend("a", 0.5))
    with monkeypatch.context() as patched:
        patched.setattr(spend_ledger, "READ", os.O_WRONLY)
        assert ledger.look() is None
        assert ledger.tend(100.0) is None
    assert ledger.problem is not None
    assert today(tmp_path) == {"USD": 2.0}
    assert written(ledger, spend("a", 0.5, 1)).today == {"USD": 3.0}


def a_queue(path: Path) -> None:
    """A queue, whose reader waits for a writer."""
    os.mkfifo(path)


def a_link(path: Path) -> None:
    """A link to a file of somebody else's."""
    path.symlink_to(path.parent / "foreign")


def a_second_name(path: Path) -> None:
    """A file with two names."""
    os.link(path.parent / "foreign", path)


@every("name", (FILE, f"{FILE}.new"))
@pytest.mark.parametrize("make", [a_queue, a_link, a_second_name])
def test_a_foreign_file_is_neither_waited_for_nor_written_to(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    foreign = json.dumps({"day": spend_ledger.local_day(), "today": {}})
    (tmp_path / "foreign").write_text(foreign)
    for left in (tmp_path / FILE, tmp_path / f"{FILE}.new"):
        left.unlink(missing_ok=True)
    make(tmp_path / name)
    ledger = SpendLedger(str(tmp_path))
    assert ledger.look() is not None
    assert written(ledger, spend("a", 0.5)).today == {"USD": 0.5}
    assert (tmp_path / "foreign").read_text() == foreign
    assert today(tmp_path) == {"USD": 0.5}


@pytest.mark.parametrize("session_id", ["\ud800", "x" * 100_000])
def test_a_sessions_spending_counts_for_the_day_whatever_its_id(
    tmp_path: Path, session_id: str
) -> None:
    ledger = SpendLedger(str(tmp_path))
    written(ledger, spend("a", 0.5))
    written(ledger, spend(session_id, 0.25))
    stored = json.loads((tmp_path / FILE).read_bytes())
    assert (stored["today"], [*stored["sessions"]]) == ({"USD": 0.75}, ["a"])
