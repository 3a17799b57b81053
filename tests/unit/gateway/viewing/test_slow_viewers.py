"""How far viewers are behind, in bytes, and when that is said."""

from __future__ import annotations

from lastword.core.timeline.entry import Kind
from lastword.gateway.log.entries import LogEntry, LogKind
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import LAG_SHARE, Attachment, LagMeter, LagNote, Reader, Viewer

LIMIT = 1_000_000
ENTRY = LogEntry(LogKind.OUT, 0, b"x" * 952)
"""Of 1,000 bytes."""


class Play:
    """A log that is never trimmed, and what is said of its viewers."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.meter = LagMeter(limit_bytes=LIMIT, first=1, head=0, written_bytes=0)

    def grows(self, entries: int) -> None:
        self.log.append([ENTRY] * entries)

    def comes(self) -> Attachment:
        reader = Reader(self.log, 0)
        return Attachment(Viewer(id="a"), reader, head=self.log.head, from_cursor=False)

    def look(self, *viewers: Attachment) -> list[LagNote]:
        return list(self.meter.look(viewers, self.log.head, self.log.size_bytes))


def reads_all(viewer: Attachment) -> None:
    while not viewer.reader.pull().is_empty:
        pass


def test_a_slow_viewer_is_reported_once_as_lagging_and_once_as_caught_up() -> None:
    play = Play()
    viewer = play.comes()
    said: list[LagNote] = []
    for _ in range(10):
        play.grows(100)
        said += play.look(viewer)
    assert said == [LagNote("a", Kind.VIEWER_LAGS, 300, 300_000)]
    reads_all(viewer)
    assert play.look(viewer) == [LagNote("a", Kind.VIEWER_CAUGHT_UP)]
    assert play.look(viewer) == []


def test_the_replayed_past_does_not_count_as_lag() -> None:
    play = Play()
    play.grows(900)
    viewer = play.comes()
    assert play.look(viewer) == []
    play.grows(int(LIMIT * LAG_SHARE / 1000))
    assert play.look(viewer) == []
    play.grows(1)
    (note,) = play.look(viewer)
    assert (note.entries, note.bytes) == (1151, 1_151_000)


def test_a_viewer_that_left_while_lagging_is_not_reported_again() -> None:
    play = Play()
    viewer, other = play.comes(), play.comes()
    play.grows(300)
    assert [note.kind for note in play.look(viewer)] == [Kind.VIEWER_LAGS]
    reads_all(other)
    assert play.look(other) == []
    assert other.reader.lag == 0


def test_lag_is_interpolated_between_two_marks_and_clamped_outside() -> None:
    meter = LagMeter(limit_bytes=LIMIT, first=11, head=20, written_bytes=1000)
    meter.mark(11, 40, 5000)
    seqs = (0, 10, 15, 20, 30, 40, 99)
    assert [meter.bytes_until(seq) for seq in seqs] == [0, 0, 500, 1000, 3000, 5000, 5000]
    # Marks of trimmed entries are forgotten.
    meter = LagMeter(limit_bytes=LIMIT, first=1, head=0, written_bytes=0)
    for head in range(10, 110, 10):
        meter.mark(1, head, head * 100)
    meter.mark(46, 100, 10_000)
    assert [meter.bytes_until(seq) for seq in (10, 40, 45, 100)] == [4000, 4000, 4500, 10_000]
