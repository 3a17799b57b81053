"""The holders' counts: commits, reads of their logs, and events of their sessions."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from lastword.core.protocol import acp
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import BY_WORD
from lastword.gateway.log.entries import LogKind
from lastword.gateway.quality import metrics
from lastword.gateway.quality.metrics import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.core.timeline.entry import Entry
    from lastword.gateway.holder.hub import Hub
    from lastword.gateway.log.store import Committed, Log
    from lastword.gateway.viewing.reader import Pulled

MAX_GONE = 1024
"""Viewers that have left a session, and are known when they come back."""

AGAIN = "attached again"
"""Why an attachment ends when its viewer attaches again over the same link: it was never gone."""


class MeasuredSession(Protocol):
    """What is measured of a session."""

    hub: Hub
    log: Log

    def bytes_after(self, seq: int) -> float:
        """Return the approximate size of the entries after one."""
        ...


class HolderQuality:
    """The counts of all holders."""

    def __init__(self) -> None:
        self.counts: Counts = Counts()

    def committed(self, commit: Committed) -> None:
        """Count the entries of one commit."""
        self.counts.add(metrics.ENTRIES, len(commit.entries))
        self.counts.add(metrics.WRITTEN, commit.size_bytes)
        self.counts.observe(metrics.COMMIT, commit.seconds)

    def noted(self, entry: Entry) -> None:
        """Count what a turn has cost, according to an entry of the link to the agent."""
        if entry.kind is Kind.COST:
            self.counts.add(metrics.COST, entry.facts["amount"], entry.facts["currency"])

    def pulled(self, pulled: Pulled, live_from: int) -> None:
        """Count what a viewer is sent; up to `live_from` it is the past."""
        add = self.counts.add
        if pulled.gap is not None:
            add(metrics.GAPS, 1, pulled.gap.reason)
            add(metrics.MISSED, pulled.gap.last - pulled.gap.first + 1, pulled.gap.reason)
        if pulled.entries:
            add(metrics.DELIVERED, len(pulled.entries))
            past = live_from + 1 - pulled.entries[0].seq
            if past > 0:
                add(metrics.REPLAYED, min(past, len(pulled.entries)))

    def gauges(self, sessions: Iterable[MeasuredSession]) -> dict[str, float]:
        """Return the gauges of these sessions."""
        gauges: dict[str, float] = {metrics.LAG_MOST.key(): 0}
        for session in sessions:
            hub, log = session.hub, session.log
            running = "running" if hub.turn_of is not None else "idle"
            readings: list[tuple[str, float]] = [
                (metrics.SESSIONS.key("waiting" if hub.open_questions else running), 1),
                (metrics.OPEN_QUESTIONS.key(), hub.open_questions),
                (metrics.LOG_SIZE.key(), log.size_bytes),
            ]
            for each in hub.attached:
                readings.append((metrics.VIEWERS.key(each.viewer.role.value), 1))
                if each.reader.lag > 0:
                    readings.append((metrics.LAG.key(), each.reader.lag))
                    readings.append((metrics.LAG_SIZE.key(), session.bytes_after(each.reader.pos)))
            for key, value in readings:
                gauges[key] = gauges.get(key, 0) + value
            most = max((each.reader.lag for each in hub.attached), default=0)
            gauges[metrics.LAG_MOST.key()] = max(gauges[metrics.LAG_MOST.key()], most)
        return gauges


class LogCounts:
    """The counts of one session's log, which it observes."""

    def __init__(self, quality: HolderQuality) -> None:
        self._quality = quality
        self._gone: OrderedDict[str, str] = OrderedDict()
        """The codes that viewers left with."""

    def committed(self, commit: Committed) -> None:
        """Count a commit, and what its entries report."""
        self._quality.committed(commit)
        add = self._quality.counts.add
        for entry in commit.events:
            about = entry.about
            if entry.kind is LogKind.OUT:
                continue
            if entry.kind is LogKind.ASK:
                add(metrics.ASKED, 1)
            elif entry.kind is LogKind.TOLD:
                add(metrics.SETTLED, 1, about.word)
            elif entry.kind is LogKind.END and about.method == acp.PROMPT:
                add(metrics.TURNS, 1, "failed" if about.failure is not None else "answered")
                if about.failure is not None:
                    add(metrics.ERRORS, 1, str(about.failure.get("type")))
            elif entry.kind is LogKind.LIFE:
                add(metrics.EVENTS, 1, about.word)
                kind = BY_WORD.get(about.word)
                if kind is Kind.VIEWER_LEFT and about.facts.get("cause") != AGAIN:
                    self._gone[about.viewer] = str(about.facts.get("code"))
                    if len(self._gone) > MAX_GONE:
                        self._gone.popitem(last=False)
                elif kind is Kind.VIEWER_CAME:
                    unseen = metrics.UNKNOWN_CODE if about.facts.get("back") is True else None
                    code = self._gone.pop(about.viewer, unseen)
                    if code is not None:
                        add(metrics.RECONNECTS, 1, code)
