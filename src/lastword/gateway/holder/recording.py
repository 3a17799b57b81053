"""The holder's record: events of its sessions and their viewers, without content.

Owns when something is recorded, and how it reaches the recorder (`recorder_process`). The holder
and the link to its agent write into one run: the link records turns, the holder viewers, on the
same monotonic clock, and through one recorder where both have the same store.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.entries import short
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Entry, Kind
from lastword.gateway.holder import recorder_process
from lastword.gateway.log.entries import LogEntry, LogKind
from lastword.gateway.log.recorded_entries import recorded
from lastword.otel.enabled import is_requested
from lastword.platform.identity import run_id
from lastword.record.paths import store_path
from lastword.record.recorder import HourlyBounds, Recorder
from lastword.record.retention import limits_of
from lastword.record.run import this_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.record.run import Row
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
            self._sink = recorder_process.started(self.store, this, limits_of(os.environ))
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
        """Note that another machine has a session's log, which cannot say so here.

        Args:
            agents_id: The agent's id of it.
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
            self._recorder.record(_without_unknown(entry))

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


def _without_unknown(entry: Entry) -> Entry:
    """Return the entry without unknown facts."""
    facts = {name: value for name, value in entry.facts.items() if value not in {None, ""}}
    return msgspec.structs.replace(entry, facts=facts)
