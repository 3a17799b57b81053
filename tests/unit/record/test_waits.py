"""Who made a user wait, counted from entries."""

from __future__ import annotations

from typing import Any

from lastword.core.timeline.entry import Entry, Kind
from lastword.record.reader import RecordedEntry
from lastword.record.trends import WaitTotals, waits_of


def entry(kind: Kind, at: float, session: str = "s", **facts: Any) -> RecordedEntry:
    made = Entry(kind=kind, at_seconds=at, session_id=session, turn=1, facts=facts)
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


def test_a_question_left_open_does_not_count_for_the_next_turn() -> None:
    left = [entry(Kind.ASKED, 1.0), entry(Kind.PROMPT, 90.0), entry(Kind.ANSWER, 99.0)]
    assert waits_of(left) == WaitTotals()
