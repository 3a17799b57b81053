"""What looks may cost, and what they share: the budget, the listings, who writes a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lastword.platform.process_tree import belongs_to, find_writers
from lastword.sidecar import journal_files, sources
from lastword.sidecar.journal_files import FolderIndex, Listing, find
from lastword.sidecar.sources import LookBudget

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    import pytest


def result_of(steps: Generator[object, None, Any]) -> Any:
    """What a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_looks_use_at_most_a_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(sources.time, "monotonic", lambda: now)
    budget = LookBudget()
    for _ in range(20):
        budget.spend(0.004)
    assert round(budget.wait_seconds, 3) == 3.0
    now += 4
    budget.spend(0.0)
    assert budget.wait_seconds == 0.0
    budget.spend(10.0)
    assert budget.wait_seconds < 1, "what takes so long happens once"


def test_a_folder_is_read_again_only_after_it_has_changed(tmp_path: Path) -> None:
    os.utime(tmp_path, (1, 1))
    index = FolderIndex()
    first = result_of(index.read(str(tmp_path)))
    names = first.names
    first.checked_at -= 1
    assert result_of(index.read(str(tmp_path))).names is names
    (tmp_path / "new").touch()
    checked_at = first.checked_at
    first.checked_at -= 1
    assert result_of(index.read(str(tmp_path))).names == {"new": checked_at - 1}


def test_listings_are_remembered_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_files, "MAX_FOLDERS", 3)
    monkeypatch.setattr(journal_files, "STEP_NAMES", 1)
    index = FolderIndex()
    for name in "abcde":
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        assert isinstance(result_of(index.read(str(tmp_path / name))), Listing)
    assert len(index._listings) == index._count == 3


def test_a_session_is_found_behind_any_beginning_of_a_name(tmp_path: Path) -> None:
    for name in ("2026_s1.jsonl", "2026-s2.jsonl", "s2.jsonl.old"):
        (tmp_path / name).touch()
    sessions: set[str | None] = {"s1", "s2"}
    found = result_of(find(FolderIndex(), str(tmp_path), "*_{session}.jsonl", sessions))
    assert set(found) == {"s1"}
    found = result_of(find(FolderIndex(), str(tmp_path), "*{session}.jsonl", sessions))
    assert set(found) == {"s1", "s2"}


def test_the_writers_of_a_file_are_read_from_the_system(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("a"), path.open():
        own = result_of(find_writers(str(path), os.getpid()))
        assert own == (os.path.isdir("/proc/self/fd"), False)
    assert result_of(find_writers(str(path), os.getpid())) == (False, False)
    assert belongs_to(os.getpid(), os.getpid())
    assert not belongs_to(1, os.getpid())
    assert not belongs_to(os.getpid(), 0)
    assert not belongs_to(2**22 + 1, os.getpid())
