"""Gateways that are put together wrongly: the referee has to see each of them.

Owns the mistakes, which are those that were found in programs of this kind.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from lastword.gateway.holder.hub import Hub
from lastword.gateway.log.entries import MAX_SEQ, LogKind
from lastword.gateway.viewing.reader import joined
from tests.kit.gateway.world import Machine, WatchedLog, frames_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.log.entries import Cursor, LogEntry, Numbered
    from lastword.gateway.viewing.reader import Attachment, Reset
    from lastword.gateway.viewing.render import Renderer
    from tests.kit.gateway.referee import Referee


class _LateLog(WatchedLog):
    """Gives out entries that are committed with the next ones only."""

    def __init__(self, referee: Referee) -> None:
        super().__init__(referee)
        self._late: list[LogEntry] = []

    def append(self, entries: Sequence[LogEntry]) -> int:
        if self._late:
            self._referee.committed(self.first, self.head, self._late)
        self._late = list(entries)
        for entry in entries:
            self._entries.append(entry)
            self.size_bytes += entry.size
            self.pins.note(self.head, entry)
        return self.head

    def crash(self) -> None:
        for _ in self._late:
            if self._entries:
                self.size_bytes -= self._entries.pop().size
        self._late = []


class SendsBeforeCommit(Machine):
    """What is sent may be lost with the process, and its number be given to something else."""

    def log(self, referee: Referee) -> WatchedLog:
        return _LateLog(referee)


class LivePath(Machine):
    """Viewers are fed by a queue beside the log, which they get from the moment they attach."""

    QUEUE = 8

    def __init__(self) -> None:
        self._queues: dict[Attachment, deque[Numbered]] = {}
        self._taken: dict[Attachment, int] = {}

    def pulled(self, attachment: Attachment, renderer: Renderer) -> list[bytes]:
        reader = attachment.reader
        if attachment not in self._queues:
            self._queues[attachment] = deque(maxlen=self.QUEUE)
            self._taken[attachment] = attachment.live_from
        queue = self._queues[attachment]
        log = reader._log
        for numbered in log.read(self._taken[attachment], max_entries=10_000):
            queue.append(numbered)  # the oldest falls out of a full one
            self._taken[attachment] = numbered.seq
        frames = []
        if reader.pos < attachment.live_from:
            frames = frames_of(attachment, renderer)
        for numbered in queue:
            frames += renderer._entry(numbered, attachment)
            reader.pos = max(reader.pos, numbered.seq)
        queue.clear()
        return frames


class EndOvertakes(Machine):
    """Answers go out at once, before what was said ahead of them."""

    def pulled(self, attachment: Attachment, renderer: Renderer) -> list[bytes]:
        pulled = attachment.reader.pull()
        ends = tuple(each for each in pulled.entries if each.entry.kind is LogKind.END)
        others = tuple(each for each in pulled.entries if each.entry.kind is not LogKind.END)
        first = [frame for end in ends for frame in renderer._frames(end, attachment)]
        rest = type(pulled)(pulled.gap, pulled.pinned, pulled.passed, others)
        return first + renderer.pulled(rest, attachment)


class JoinsTheLive(Machine):
    """What is said now is joined as the past is."""

    def pulled(self, attachment: Attachment, renderer: Renderer) -> list[bytes]:
        return renderer.pulled(joined(attachment.reader.pull(), MAX_SEQ), attachment)


class _DeafHub(Hub):
    """Goes on where it had stopped, whatever event its viewer has had last."""

    def go_back(self, attachment: Attachment, cursor: Cursor, parts: int = 0) -> Reset | None:
        del attachment, cursor, parts
        return None


class ForgetsTheId(Machine):
    """A stream that is cut goes on where the server had stopped."""

    hub = _DeafHub


MUTANTS = {
    "send_before_commit": SendsBeforeCommit,
    "live_path": LivePath,
    "end_overtakes": EndOvertakes,
    "joins_the_live": JoinsTheLive,
    "forgets_the_id": ForgetsTheId,
}
