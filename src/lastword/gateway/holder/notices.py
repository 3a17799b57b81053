"""What notifications of a gateway's sessions are made from: rows of the link, and of the logs.

Owns the choice between the two. The link to the agent has turns and limits; questions come from a
session's log, where they have the numbers by which they are answered, and so does the end of a
holder or of a link, which no link can record.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Kind, Level
from lastword.core.timeline.session_events import BY_WORD
from lastword.errors import StoreError
from lastword.gateway.log.entries import LogKind
from lastword.gateway.log.recorded_entries import what_is_asked
from lastword.gateway.viewing.answer_codes import choices_of, title_of
from lastword.record.run import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.log.store import Committed
    from lastword.record.sink import Sink

_OF_LOGS = frozenset({Kind.ASKED, Kind.USER_ANSWERED})
_LOST = frozenset({Kind.HOLDER_DIED, Kind.SUPERVISOR_EXITED})


class SessionNotices:
    """The rows of one holder's sessions."""

    def __init__(self, run: str, names: dict[str, str], sink: Sink) -> None:
        """Pass rows to a sink.

        Args:
            run: The run, in which a code can answer a question.
            names: The sessions' names by the agent's ids, which are put in here.
            sink: Makes notifications; it never waits.
        """
        self.run: str = run
        self._names = names
        self._sink = sink

    def of_session(self, name: str, agents_id: str) -> Callable[[Committed], None]:
        """Return an observer of a session's log."""
        self._names[agents_id] = name

        def committed(commit: Committed) -> None:
            rows = [row for entry in commit.entries if (row := _row_of(entry, agents_id))]
            if rows:
                self._sink.send(rows)

        return committed

    def of_link(self, store: Sink | None) -> LinkRows:
        """Return the sink of the link's rows, which passes them to this one, too."""
        return LinkRows(store, self._sink)


class LateSink:
    """A sink that is started at the first row for which somebody wants it.

    A browser may subscribe to notifications at any time, and most gateways have none that does.
    """

    def __init__(self, is_needed: Callable[[], bool], start: Callable[[], Sink]) -> None:
        """Start nothing yet.

        Args:
            is_needed: Returns whether anybody wants the rows; it is cheap.
            start: Starts the sink.
        """
        self._is_needed = is_needed
        self._start = start
        self._sink: Sink | None = None

    def send(self, rows: list[Row]) -> None:
        """Take rows."""
        if self._sink is None and rows and self._is_needed():
            try:
                self._sink = self._start()
            except StoreError:  # a key that cannot be read: sessions go on without notifications
                self._is_needed = _never
        if self._sink is not None:
            self._sink.send(rows)

    def close(self) -> None:
        """Finish the sink, if it was started."""
        if self._sink is not None:
            self._sink.close()


def _never() -> bool:
    return False


class LinkRows:
    """Takes the rows of a link for a store, if there is one, and for notifications."""

    def __init__(self, store: Sink | None, notices: Sink) -> None:
        self._store = store
        self._notices = notices

    def send(self, rows: list[Row]) -> None:
        """Take rows."""
        if self._store is not None:
            self._store.send(rows)
        self._notices.send([row for row in rows if row.kind not in _OF_LOGS])

    def close(self) -> None:
        """Finish the store's."""
        if self._store is not None:
            self._store.close()


KIND = "kind"
"""With a choice's place behind it, the name under which a question's row has that choice's kind."""


def _row_of(entry: LogEntry, agents_id: str) -> Row | None:
    about = entry.about
    number = str(about.number)
    if entry.kind is LogKind.ASK and about.method in acp.USER_REQUESTS:
        choices = [*choices_of(entry.frame)] if about.method == acp.PERMISSION else []
        facts = {"what": what_is_asked(about.method)}
        content = {"title": title_of(entry.frame)}
        content |= {f"choice {each.place}": each.name for each in choices}
        content |= {f"{KIND} {each.place}": each.kind for each in choices}
        return _row(Kind.ASKED, entry, agents_id, number, facts, content)
    if entry.kind is LogKind.TOLD:
        return _row(Kind.QUESTION_DECIDED, entry, agents_id, number, {}, {})
    kind = BY_WORD.get(about.word) if entry.kind is LogKind.LIFE else None
    if kind in _LOST and about.facts.get("open_turns"):
        facts = {"type": ErrorType.AGENT_CRASH.value, "incident_id": about.facts["incident_id"]}
        return _row(Kind.ERROR, entry, agents_id, None, facts, {})
    return None


def _row(  # noqa: PLR0913, PLR0917 - a row's members
    kind: Kind,
    entry: LogEntry,
    agents_id: str,
    request_id: str | None,
    facts: dict[str, Any],
    content: dict[str, str],
) -> Row:
    return Row(
        kind=kind.value,
        level=Level.INFO.value,
        at_epoch_ms=entry.at_ms,
        at_seconds=time.monotonic(),
        session_id=agents_id,
        turn=0 if kind is Kind.ERROR else None,
        request_id=request_id,
        facts=facts,
        content=content,
    )
