"""The ledger of what was spent, which processes share."""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from lastword.core.link.effects import Spend
from lastword.sidecar import spend_ledger
from lastword.sidecar.spend_ledger import FILE, LOCK, MAX_SESSIONS, SpendLedger

if TYPE_CHECKING:
    from pathlib import Path


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


def test_processes_share_a_day_and_its_sessions(tmp_path: Path, day: list[str]) -> None:
    one, other = SpendLedger(str(tmp_path)), SpendLedger(str(tmp_path))
    seen = other.look()
    assert seen is not None
    assert (seen.day, seen.today) == (day[0], {})
    assert other.look() is None
    assert one.add(spend("a", 0.1)).today == {"USD": 0.1}
    assert one.look() is None
    assert other.add(spend("b", 0.2)).today == {"USD": 0.3}
    seen = one.look()
    assert seen is not None
    assert seen.sessions == {"a": {"USD": (0.1, 0.1)}, "b": {"USD": (0.2, 0.2)}}


def test_a_new_day_begins_with_nothing_and_its_sessions_with_what_they_had(
    tmp_path: Path, day: list[str]
) -> None:
    ledger = SpendLedger(str(tmp_path))
    ledger.add(spend("a", 0.5))
    day[0] = "2026-11-26"
    seen = ledger.look()
    assert seen is not None
    assert (seen.day, seen.today) == ("2026-11-26", {})
    assert seen.sessions == {"a": {"USD": (0.5, 0.5)}}
    assert ledger.add(spend("a", 0.25, 0.75)).today == {"USD": 0.25}


def test_the_files_are_their_users_alone(tmp_path: Path) -> None:
    SpendLedger(str(tmp_path / "state")).add(spend("a", 1))
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    for name in (FILE, LOCK):
        assert (tmp_path / "state" / name).stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path / "state")) == [FILE, LOCK]


def test_only_the_latest_sessions_are_remembered(tmp_path: Path) -> None:
    ledger = SpendLedger(str(tmp_path))
    many = {str(number): {"USD": (1.0, 1.0)} for number in range(MAX_SESSIONS)}
    (tmp_path / FILE).write_text(json.dumps({"day": "x", "sessions": many}))
    sessions = ledger.add(spend("new", 1)).sessions
    assert len(sessions) == MAX_SESSIONS
    assert ("0" in sessions, "new" in sessions) == (False, True)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"day": 1}', b"\xff", b'{"day":"x"'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    ledger = SpendLedger(str(tmp_path))
    seen = ledger.look()
    assert seen is not None
    assert seen.today == {}
    assert ledger.add(spend("a", 1)).today == {"USD": 1.0}


def test_what_cannot_be_written_now_is_written_with_the_next_cost(tmp_path: Path) -> None:
    ledger = SpendLedger(str(tmp_path))
    with open(tmp_path / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert ledger.add(spend("a", 0.5)).today == {"USD": 0.5}
        assert ledger.add(spend("a", 0.25, 0.75)).today == {"USD": 0.75}
        assert not (tmp_path / FILE).exists()
    assert ledger.add(spend("a", 0.25, 1)).today == {"USD": 1.0}
    assert json.loads((tmp_path / FILE).read_bytes())["today"] == {"USD": 1.0}


def test_a_folder_that_cannot_be_written_leaves_the_process_with_its_own_sums(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    ledger = SpendLedger(str(tmp_path / "file"))
    assert ledger.add(spend("a", 0.5)).today == {"USD": 0.5}
    assert ledger.problem is not None
    assert ledger.add(spend("b", 0.5)).today == {"USD": 1.0}


def test_costs_that_cannot_be_written_are_kept_once_for_each_session(tmp_path: Path) -> None:
    ledger = SpendLedger(str(tmp_path))
    (tmp_path / LOCK).mkdir()
    seconds = []
    for batch in range(2):
        begun = time.process_time()
        for number in range(1000):
            spent = ledger.add(spend("a", 0.5, (1000 * batch + number + 1) / 2))
        seconds.append(time.process_time() - begun)
    assert spent.today == {"USD": 1000.0}
    assert seconds[1] < 2 * seconds[0] + 0.1
    (tmp_path / LOCK).rmdir()
    assert ledger.add(spend("b", 1)).sessions == {
        "a": {"USD": (1000.0, 1000.0)},
        "b": {"USD": (1.0, 1.0)},
    }


def test_processes_in_two_time_zones_share_the_later_day(tmp_path: Path, day: list[str]) -> None:
    west, east = SpendLedger(str(tmp_path)), SpendLedger(str(tmp_path))
    west.add(spend("a", 0.5))
    day[0] = "2026-11-26"
    east.add(spend("b", 0.25))
    day[0] = "2026-11-25"
    assert west.add(spend("a", 0.5, 1)).today == {"USD": 0.75}
    day[0] = "2026-11-26"
    assert east.add(spend("b", 0.25, 0.5)).today == {"USD": 1.0}


def test_a_date_that_was_wrong_by_more_than_a_time_zone_is_forgotten(
    tmp_path: Path, day: list[str]
) -> None:
    ledger = SpendLedger(str(tmp_path))
    day[0] = "2036-01-01"
    ledger.add(spend("a", 5))
    day[0] = "2026-11-25"
    assert ledger.add(spend("a", 0.5, 5.5)).today == {"USD": 0.5}


@pytest.mark.parametrize("session_id", ["\ud800", "x" * 100_000])
def test_what_a_session_spends_counts_for_the_day_whatever_its_id(
    tmp_path: Path, session_id: str
) -> None:
    ledger = SpendLedger(str(tmp_path))
    ledger.add(spend("a", 0.5))
    ledger.add(spend(session_id, 0.25))
    written = json.loads((tmp_path / FILE).read_bytes())
    assert (written["today"], [*written["sessions"]]) == ({"USD": 0.75}, ["a"])
