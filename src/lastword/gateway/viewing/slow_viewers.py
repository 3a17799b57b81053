"""Slow viewers: when a viewer counts as slow, and what happens then.

Owns the whole rule and its numbers. In the order in which it meets a viewer that reads too little:

| what is seen | limit | what happens |
|---|---|---|
| its holder's connection is not read | `UNREAD_BY_FRONT_BYTES` | no more is pulled from the log |
| frames wait on one of its streams | `QUEUED_FRAMES` | its holder's connection is not read |
| answers wait that are in no log | `UNREAD_ANSWERS_BYTES` | its next request is refused (503) |
| entries wait that are not of its past | `LAG_SHARE` of the log's limit | "viewer lags" is logged |
| the log drops entries it has not had | `--log-limit` | it is sent a gap |
| its socket or stream takes no byte | `STALL_SECONDS` | it is closed (4408), or cut off |
| no pong comes | `--pong-timeout` | it is closed |
| it does not read that it is closed | `CLOSE_SECONDS`, `ABORT_SECONDS` | it is cut off |
| none of its streams is open | `ALONE_SECONDS` | its connection is over |

A viewer that is closed keeps its position, and goes on from there. The log itself is never slower
for a slow viewer. The past that a viewer is being sent is not lag; only newer entries that it has
not taken are.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lastword.gateway.viewing.attachment import Attachment

UNREAD_BY_FRONT_BYTES = 64 * 1024
"""What a holder has written to a front that does not read; as much may be in the front's reader."""

QUEUED_FRAMES = 256
UNREAD_ANSWERS_BYTES = 1024 * 1024

STALL_SECONDS = 60.0
CLOSE_SECONDS = 2.0
"""How long a close waits for what is to be sent before it."""

ABORT_SECONDS = 5.0
"""How long a close that was sent may take to reach the other end."""

ALONE_SECONDS = 60.0

COMMENT_SECONDS = 15.0
"""A stream that has nothing to send gets a comment this often: proxies cut silent connections."""

LAG_SHARE = 0.25
"""Of the log's limit: a viewer that is this far behind may fall out of the log."""

CAUGHT_UP_SHARE = 0.1
"""Of that distance at least: a viewer that is not further behind has caught up."""

LOOK_AT_LAG_SECONDS = 1.0
"""How often lag is measured."""


def stall_limit() -> asyncio.Timeout:
    """Return the timeout within which a viewer has to take what it is sent."""
    return asyncio.timeout(STALL_SECONDS)


def has_room(queued_frames: int) -> bool:
    """Return whether a stream with this many waiting frames takes another."""
    return queued_frames < QUEUED_FRAMES


def must_read_first(unread_bytes: int) -> bool:
    """Return whether a viewer has to read its answers before it may send another request."""
    return unread_bytes > UNREAD_ANSWERS_BYTES


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
