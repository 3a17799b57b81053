"""What is recorded of a holder's sessions, and what they are notified about.

The holder's record: events of its sessions and their viewers, without content. Owns when something
is recorded, and how it reaches the recorder (`recorder_process`). The holder and the link to its
agent write into one run: the link records turns, the holder viewers, on the same monotonic clock,
and through one recorder where both have the same store.

What notifications of a gateway's sessions are made from: rows of the link, and of the logs. Owns
the choice between the two. The link to the agent has turns and limits; questions come from a
session's log, where they have the numbers by which they are answered, and so does the end of a
holder or of a link, which no link can record.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.entries import short
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Entry, Kind, Level
from lastword.core.timeline.session_events import BY_WORD
from lastword.errors import StoreError
from lastword.gateway.holder.recorder_process import started
from lastword.gateway.log.entries import LogEntry, LogKind, recorded, what_is_asked
from lastword.gateway.viewing.access import choices_of, title_of
from lastword.otel.enabled import is_requested
from lastword.platform.identity import run_id
from lastword.record.paths import (
    limits_of,
    store_path,
)
from lastword.record.recorder import HourlyBounds, Recorder
from lastword.record.run import (
    Row,
    this_run,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.log.store import Committed
    from lastword.record.sink import Sink


class HolderRecord:
    """The record of one holder."""

    def __init__(
        self,
        folder: str,
        *,
        program: str,
        run: str = "",
        noted: Callable[[Entry], object] | None = None,
    ) -> None:
        """Record into this folder; with an empty `folder`, nothing is recorded.

        Args:
            folder: The folder.
            program: The agent's program.
            run: The run's id; a new one if it is empty.
            noted: Receives the entries of the link to the agent, too, recorded or not.
        """
        self.noted: Callable[[Entry], object] | None = noted
        self.run: str = run or run_id()
        """The id of the run that the holder and the link to its agent are recorded in."""
        self._folder = folder
        self._program = program
        self._incidents = 0
        is_wanted = bool(folder) or is_requested(os.environ)
        self._sink: Sink | None = None
        self._recorder = Recorder(self.shared, HourlyBounds()) if is_wanted else None

    @property
    def store(self) -> str | None:
        """Return the path of the store; `None` for none."""
        return store_path(self._folder) if self._folder else None

    def shared(self) -> Sink | None:
        """Return the sink of what the holder and its link record, started if needed."""
        if self._sink is None:
            this = this_run(self.run, door="gateway", program=os.path.basename(self._program))
            self._sink = started(self.store, this, limits_of(os.environ))
        return None if self._sink is None else _SharedSink(self._sink)

    def incident(self) -> str:
        """Return an incident's id, distinct from those of the link."""
        self._incidents += 1
        return f"{self.run}-h{self._incidents}"

    def holds(self, agents_id: str, name: str) -> None:
        """Note a session, by the gateway's name and the agent's id for it."""
        self._add(
            Entry(
                kind=Kind.SESSION_HELD,
                at_seconds=time.monotonic(),
                session_id=agents_id,
                facts={"name": short(name) if name != agents_id else None},
            )
        )

    def fenced(self, agents_id: str, term: int, entries: int) -> None:
        """Note that another machine has a session's log; the log here cannot record that.

        Args:
            agents_id: The agent's id for it.
            term: The number of the ownership that has ended.
            entries: How many entries the fleet has refused.
        """
        self._add(
            Entry(
                kind=Kind.SESSION_FENCED,
                at_seconds=time.monotonic(),
                session_id=agents_id,
                facts={"term": term, "entries": entries},
            )
        )

    def keep(self) -> None:
        """Record everything, as after a prompt; one came in the program before this one."""
        if self._recorder is not None:
            self._recorder.keep()

    def committed(self, agents_id: str, entries: Sequence[LogEntry]) -> None:
        """Record entries of a session's log, which have been committed."""
        if self._recorder is None:
            return
        for entry in entries:
            if entry.kind is LogKind.IN and entry.about.method == acp.PROMPT:
                self._recorder.keep()
            elif entry.kind is LogKind.LIFE or entry.kind is LogKind.TOLD:
                event = recorded(entry, agents_id, time.monotonic())
                if event is not None:
                    self._add(event)

    def _add(self, entry: Entry) -> None:
        if self._recorder is not None:
            known = {name: each for name, each in entry.facts.items() if each not in {None, ""}}
            self._recorder.record(msgspec.structs.replace(entry, facts=known))

    def flush(self) -> None:
        """Send what is pending, without waiting."""
        if self._recorder is not None:
            self._recorder.flush()

    def close(self) -> None:
        """Finish; wait at most a moment."""
        if self._recorder is not None:
            self._recorder.close()
        if self._sink is not None:
            self._sink.close()
            self._sink = None


class _SharedSink:
    """A sink that several recorders send to; its owner closes it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def send(self, rows: list[Row]) -> None:
        """Take rows."""
        self._sink.send(rows)

    def close(self) -> None:
        """Do nothing: others may send more."""


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
            rows = [row for entry in commit.events if (row := _row_of(entry, agents_id))]
            if rows:
                self._sink.send(rows)

        return committed

    def go_on(self, agent: str) -> None:
        """Know the name of an agent that began in another program; send what waits since then."""
        ready = LogEntry(LogKind.LIFE, time.time_ns() // 1_000_000, b"")
        self._sink.send([_row(Kind.AGENT_READY, ready, None, None, {"name": agent}, {})])

    def of_link(self, store: Sink | None) -> LinkRows:
        """Return the sink of the link's rows, which passes them to this one, too."""
        return LinkRows(store, self._sink)


class LateSink:
    """A sink that is started by the first row that somebody wants.

    A browser may subscribe to notifications at any time; with most gateways, none does.
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
            except StoreError:  # a key that cannot be read: sessions continue without notifications
                self._is_needed = lambda: False
        if self._sink is not None:
            self._sink.send(rows)

    def close(self) -> None:
        """Finish the sink, if it was started."""
        if self._sink is not None:
            self._sink.close()


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
    agents_id: str | None,
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
