"""Where the guard and `serve` keep their record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword import Options
from lastword.core.timeline.entry import Entry, Kind
from lastword.inprocess.journal import Journal
from lastword.record.thread import recorder_thread
from tests.unit.inprocess.test_timeline_events import wait_for

if TYPE_CHECKING:
    from pathlib import Path


NO, USERS = {"LASTWORD_NO_RECORD": "yes"}, {"LASTWORD_RECORD": "{}/users"}


@pytest.mark.parametrize(
    ("author", "user", "kept"),
    [
        (True, {}, "state"),
        (True, NO, None),
        (False, {}, None),
        ("own", NO, None),
        ("own", USERS, "own"),
        (True, USERS, "users"),
    ],
)
def test_the_record_is_stored_where_the_author_or_else_the_user_chose(
    author: bool | str,
    user: dict[str, str],
    kept: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ({"LASTWORD_STATE_DIR": "{}/state"} | user).items():
        monkeypatch.setenv(name, value.format(tmp_path))
    folder = str(tmp_path / author) if isinstance(author, str) else author
    journal = Journal(Options(record=folder), door="serve")
    journal.note(Entry(kind=Kind.PROMPT, at_seconds=1.0, session_id="s1", turn=1))
    journal.close()
    wait_for(recorder_thread())
    assert [path.parent.name for path in tmp_path.rglob("runs")] == ([kept] if kept else [])


def test_an_option_that_is_neither_a_choice_nor_a_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="record takes True, False, or a folder's path as text"):
        Options(record=None)  # type: ignore[arg-type]
