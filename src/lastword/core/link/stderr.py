"""The agent's stderr: its beginning, its end, and its length.

Owns a bound on memory and the words that say what was cut. The shell reads the descriptor and
passes the bytes on.
"""

from __future__ import annotations

from collections import deque

import msgspec

from lastword.core.redact.truncate import from_word_start

HEAD_BYTES = 8 * 1024
TAIL_BYTES = 64 * 1024

LOOK_BYTES = 8 * 1024
"""How much of it is looked at while a turn is open."""

_MAX_PIECES = 512

MAX_SPANS = 256
"""Stretches that are left out; once there are more, what is between the last two is as well."""

_MAX_ARRIVALS = 64


class StderrRecord(msgspec.Struct, eq=False):
    """A bounded record of a byte stream: head, tail, total."""

    _head: bytes = b""
    _tail: list[bytes] = []
    _tail_bytes: int = 0
    _not_own: list[tuple[int, int]] = []
    """What may be of a tool or of another turn: where each stretch begins and ends."""
    _arrivals: deque[tuple[float, int]] = msgspec.field(
        default_factory=lambda: deque(maxlen=_MAX_ARRIVALS)
    )
    """When the last pieces came, each with its position."""
    total: int = 0
    recorded: int = 0
    """How many bytes the session record has entries for."""
    since_frame: int = 0
    """Bytes since the agent's last valid frame."""
    came_at: float = 0.0
    """When the last of it came."""
    looked_at: float = 0.0
    """When it was last looked at, while a turn was open, and how far."""
    looked_to: int = 0

    def receive(self, data: bytes, now: float = 0.0, *, own: bool = True) -> None:
        """Take in bytes; without `own`, a tool or another turn may have written them."""
        self.came_at = now
        self._arrivals.append((now, self.total))
        if not own:
            self._leave_out(self.total, self.total + len(data))
        self.total += len(data)
        self.since_frame += len(data)
        missing = HEAD_BYTES - len(self._head)
        if missing > 0:
            self._head += data[:missing]
        self._tail.append(data[-TAIL_BYTES:])
        self._tail_bytes += len(self._tail[-1])
        # Joined only when twice the bound is there, so that a flood does not cost a copy per chunk.
        if self._tail_bytes > 2 * TAIL_BYTES or len(self._tail) > _MAX_PIECES:
            self._compact()

    def _leave_out(self, begin: int, end: int) -> None:
        spans = self._not_own
        if spans and (spans[-1][1] == begin or len(spans) >= MAX_SPANS):
            begin = spans.pop()[0]
        spans.append((begin, end))

    def count_anew(self) -> None:
        """Restart the count: the agent sent a frame, or was stopped for its flood."""
        self.since_frame = 0

    def pop_unrecorded(self) -> int:
        """Return how many bytes the session record has no entry for; the caller writes one."""
        count = self.total - self.recorded
        self.recorded = self.total
        return count

    def has_news(self, since_at: float) -> bool:
        """Return whether something came at this time or later that was not looked at."""
        return self.looked_to != self.total and self.came_at >= since_at

    def unread(self, since: int, since_at: float) -> str:
        """Return the end of what came after the last look.

        Only that counts which came after the first `since` bytes, and at `since_at` or later.
        """
        begin = next((begin for came, begin in self._arrivals if came >= since_at), self.total)
        return self.own_tail(max(since, begin, self.looked_to, self.total - LOOK_BYTES))

    def news(self, since: int, since_at: float, now: float) -> str:
        """Return the same, which has then been looked at."""
        news = self.unread(since, since_at)
        self.looked_at, self.looked_to = now, self.total
        return news

    def _compact(self) -> bytes:
        joined = b"".join(self._tail)[-TAIL_BYTES:]
        self._tail = [joined]
        self._tail_bytes = len(joined)
        return joined

    def tail(self, since: int = 0) -> str:
        """Return the end of what came after the first `since` bytes, at most 64 KiB, as text."""
        tail = self._compact()
        size = max(0, self.total - since)
        text = tail[max(0, len(tail) - size) :].decode(errors="replace")
        return from_word_start(text) if size > len(tail) else text

    def own_tail(self, since: int) -> str:
        """Return as `tail` does, but only what came while one turn was open and no tool ran."""
        if not self._not_own or self._not_own[-1][1] <= since:
            return self.tail(since)
        tail = self._compact()
        cut = self.total - len(tail)
        begin = max(since, cut)
        pieces: list[bytes] = []
        for start, end in [*self._not_own, (self.total, self.total)]:
            if start > begin:
                pieces.append(tail[begin - cut : start - cut])
            begin = max(begin, end)
        return b"\n".join(pieces).decode(errors="replace")

    def summary(self) -> str:
        """Return head and tail as text, saying how many bytes between them were cut."""
        tail = self._compact()
        cut = self.total - len(self._head) - len(tail)
        if cut > 0:
            note = f"\n[... {cut} bytes of stderr left out ...]\n"
            return self._head.decode(errors="replace") + note + tail.decode(errors="replace")
        overlap = len(self._head) + len(tail) - self.total
        return (self._head + tail[overlap:]).decode(errors="replace")
