"""Lag: how far a viewer is behind, in bytes, and when that is reported.

Owns the measurement. The past that a viewer is being sent is not lag; only newer entries that it
has not taken are.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lastword.gateway.viewing.attachment import Attachment

LAG_SHARE = 0.25
"""Of the log's limit: a viewer that is so far behind may fall out of the log."""

CAUGHT_UP_SHARE = 0.1
"""Of what it lagged at least: no further behind, it has caught up."""


class LagNote(msgspec.Struct, frozen=True):
    """A viewer lags, or has caught up.

    Attributes:
        viewer: the viewer's id.
        kind: `VIEWER_LAGS` or `VIEWER_CAUGHT_UP`.
        entries: how many entries it is behind.
        bytes: their approximate size.
    """

    viewer: str
    kind: Kind
    entries: int = 0
    bytes: int = 0


class LagMeter:
    """One session's viewers."""

    def __init__(self, *, limit_bytes: int, first: int, head: int, written_bytes: int) -> None:
        """Begin with a log of these entries.

        Args:
            limit_bytes: the maximum size of the log.
            first: its oldest entry's number.
            head: its last entry's.
            written_bytes: the size of all of them.
        """
        self._most = limit_bytes * LAG_SHARE
        self._seqs = [first - 1, head]
        self._written = [0, written_bytes]
        self._lagging: set[Attachment] = set()

    def mark(self, first: int, head: int, written_bytes: int) -> None:
        """Note where the log begins and ends now; called from time to time."""
        if head > self._seqs[-1]:
            self._seqs.append(head)
            self._written.append(written_bytes)
        gone = bisect_right(self._seqs, first - 1) - 1
        if gone > 0:
            del self._seqs[:gone]
            del self._written[:gone]

    def bytes_until(self, seq: int) -> float:
        """Return the size of all entries up to one; between two marks, entries count as equal."""
        after = bisect_right(self._seqs, seq)
        if after == 0:
            return self._written[0]
        if after == len(self._seqs):
            return self._written[-1]
        begin, end = self._seqs[after - 1], self._seqs[after]
        low, high = self._written[after - 1], self._written[after]
        return low + (high - low) * (seq - begin) / (end - begin)

    def look(
        self, attached: Iterable[Attachment], head: int, written_bytes: int
    ) -> Iterator[LagNote]:
        """Return what to report about each viewer."""
        self.mark(self._seqs[0] + 1, head, written_bytes)
        present = set(attached)
        self._lagging &= present
        for each in present:
            viewer, pos, lag = each.viewer.id, each.reader.pos, each.reader.lag
            if each in self._lagging:
                if written_bytes - self.bytes_until(pos) <= self._most * CAUGHT_UP_SHARE:
                    self._lagging.discard(each)
                    yield LagNote(viewer, Kind.VIEWER_CAUGHT_UP)
            elif written_bytes - self.bytes_until(max(pos, each.live_from)) > self._most:
                self._lagging.add(each)
                behind = written_bytes - self.bytes_until(pos)
                yield LagNote(viewer, Kind.VIEWER_LAGS, lag, int(behind))
