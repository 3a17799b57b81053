"""Timeline of an agent's turns, for tests of the agent.

Owns the collected timeline. It works if the agent's links are in the process of the test, through
`lastword.run_agent`, `lastword.guard` or `lastword.serve`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator  # noqa: TC003 - of a public signature

import msgspec

from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.history import histories
from lastword.core.timeline.summary import Outcome, Summary, outcome_of, summarise
from lastword.inprocess import journal

__all__ = ["CapturedTurn", "Timeline", "capture_timeline"]


class CapturedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as far as it has come.

    Attributes:
        session_id: its session.
        number: its number, counted from 1 within its link.
        entries: what happened in it, in order.
    """

    session_id: str | None
    number: int
    entries: tuple[Entry, ...]

    def all(self, kind: Kind) -> list[Entry]:
        """Return its entries of this kind."""
        return [entry for entry in self.entries if entry.kind is kind]

    @property
    def end(self) -> Entry | None:
        """The entry of its end, or `None` while it has not ended."""
        ends = [e for e in self.entries if e.kind in (Kind.ANSWER, Kind.ERROR)]
        return ends[0] if ends else None

    @property
    def outcome(self) -> Outcome:
        """How it ended: `ok`, `failed` or `cancelled`; `open` while it has not.

        `ok` is every other end: look at `stop_reason` for a refusal, or a token limit. The words
        are those of `lastword log`, and compare equal to plain text.
        """
        ended = histories(self.entries)
        return outcome_of(ended[0]) if ended else Outcome.OPEN

    @property
    def error_type(self) -> str | None:
        """The type of its failure, as in `lastword.ErrorType`, or `None` if it did not fail."""
        end = self.end
        return end.facts["type"] if end is not None and end.kind is Kind.ERROR else None

    @property
    def stop_reason(self) -> str | None:
        """The stop reason if it did not fail: `end_turn`, `cancelled` and so on."""
        end = self.end
        return end.facts.get("stop_reason") if end is not None else None

    def summary(self) -> Summary:
        """What a person should know of it: what failed and where, who was at fault, what to do."""
        return summarise(self.entries)


Turn = CapturedTurn  # the name before 0.3


class Timeline:
    """Everything since `capture_timeline` was entered; it grows as more happens."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, Entry]] = []

    def take(self, link: str, entry: Entry) -> None:
        """Take an entry, as the links do."""
        self._entries.append((link, entry))

    @property
    def entries(self) -> list[Entry]:
        """Every entry, in order."""
        return [entry for _, entry in self._entries]

    @property
    def turns(self) -> list[CapturedTurn]:
        """The turns, in the order of their prompts."""
        by_turn: dict[tuple[str, int], list[Entry]] = {}
        for link, entry in self._entries:
            if entry.turn is not None:
                by_turn.setdefault((link, entry.turn), []).append(entry)
        return [
            CapturedTurn(session_id=entries[0].session_id, number=number, entries=tuple(entries))
            for (_, number), entries in by_turn.items()
        ]

    def summary(self) -> Summary:
        """The summary of the last turn that did not end well, or else of the last one."""
        return summarise(self.entries)


@contextlib.contextmanager
def capture_timeline() -> Iterator[Timeline]:
    """Collect what happens in this process, in place of the user's record.

    ```python
    with capture_timeline() as timeline:
        ...  # a client of the test's has the agent take a turn
    assert timeline.turns[0].error_type == "rate_limit"
    ```

    Yields:
        The timeline, which can be read at any time, also afterwards.
    """
    timeline = Timeline()
    with journal.collected_by(timeline):
        yield timeline
