"""Gateways that are put together wrongly: the referee has to see each of them.

Owns the mistakes, which are those that were found in programs of this kind.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import structs

from lastword.gateway.holder.openings import Openings
from lastword.gateway.log.entries import MAX_SEQ, LogKind, Pins
from lastword.gateway.viewing.reader import joined
from tests.kit.gateway.committing import CommittingHub
from tests.kit.gateway.world import SESSION, Machine, WatchedLog, frames_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.holder.hub import Hub
    from lastword.gateway.holder.openings import OpeningLink
    from lastword.gateway.log.entries import Cursor, LogEntry, Numbered
    from lastword.gateway.viewing.reader import Attachment, Reset, Viewer
    from lastword.gateway.viewing.render import Renderer
    from tests.kit.gateway.limited_link import LimitedLink
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


class _DeafHub(CommittingHub):
    """Goes on where it had stopped, whatever event its viewer has had last."""

    def go_back(self, attachment: Attachment, cursor: Cursor, parts: int = 0) -> Reset | None:
        del attachment, cursor, parts
        return None


class ForgetsTheId(Machine):
    """A stream that is cut goes on where the server had stopped."""

    def hub(self, log: WatchedLog, numbers: Callable[[], int]) -> Hub:
        return _DeafHub(log, session_id=SESSION, numbers=numbers, unattended_seconds=50.0)


class _ForgetfulOpenings(Openings):
    """Knows nothing of a request that has been answered."""

    def session_of(self, viewer: str, request_id: bytes) -> str:
        del viewer, request_id
        return ""


class OpensAgain(Machine):
    """A `session/new` whose answer was lost opens a second session when it is sent again."""

    def openings(self) -> Openings:
        return _ForgetfulOpenings()


class _StubbornOpenings(Openings):
    """Answers over the link by which it was asked first."""

    def is_under_way(self, link: OpeningLink, viewer: str, request_id: bytes) -> bool:
        asked = [(each.viewer, each.request_id) for each in self._waiting.values()]
        del link
        return (viewer, request_id) in asked


class AnswersTheCut(Machine):
    """A `session/new` that still waits is answered over a link that is gone."""

    def openings(self) -> Openings:
        return _StubbornOpenings()


class _ConfusedOpenings(Openings):
    """Takes another viewer's request with the same id for the same."""

    def session_of(self, viewer: str, request_id: bytes) -> str:
        del viewer
        found = [session for (_, asked), session in self._opened.items() if asked == request_id]
        return found[-1] if found else ""


class ConfusesViewers(Machine):
    """Whoever comes back is given the session that another has opened."""

    def openings(self) -> Openings:
        return _ConfusedOpenings()


class _StickyOpenings(Openings):
    """Takes an answered id for the same request over a first link, too."""

    def again(
        self, link: OpeningLink, viewer: Viewer, request_id: bytes, sessions: Container[str]
    ) -> str | None:
        known = structs.replace(viewer, is_new=False)
        return super().again(link, known, request_id, sessions)


class OneIdOneSession(Machine):
    """A client that uses one id for all is given one session for all."""

    def openings(self) -> Openings:
        return _StickyOpenings()


class ForgetsThatItWentOn(Machine):
    """The log does not say that a turn went on after a limit: the next process sends it again."""

    def goes_on(self, hub: Hub, now_ms: int) -> list[HubEffect]:
        del hub, now_ms
        return []


class _StubbornPins(Pins):
    """Keeps the wait for a limit whatever the user sends."""

    def note(self, seq: int, entry: LogEntry) -> list[tuple[str, Numbered | None]]:
        if entry.kind is LogKind.IN:
            entry = structs.replace(entry, about=structs.replace(entry.about, method=""))
        return super().note(seq, entry)


class ForgetsTheCancel(Machine):
    """The next process goes on with a wait that the user had ended."""

    def log(self, referee: Referee) -> WatchedLog:
        made = WatchedLog(referee)
        made.pins = _StubbornPins()
        return made


class GoesOnLate(Machine):
    """A turn goes on however late it is."""

    def is_too_late(self, link: LimitedLink, now: float) -> bool:
        del link, now
        return False


MUTANTS = {
    "send_before_commit": SendsBeforeCommit,
    "live_path": LivePath,
    "end_overtakes": EndOvertakes,
    "joins_the_live": JoinsTheLive,
    "forgets_the_id": ForgetsTheId,
    "opens_again": OpensAgain,
    "answers_the_cut": AnswersTheCut,
    "confuses_viewers": ConfusesViewers,
    "one_id_one_session": OneIdOneSession,
    "forgets_that_it_went_on": ForgetsThatItWentOn,
    "forgets_the_cancel": ForgetsTheCancel,
    "goes_on_late": GoesOnLate,
}
