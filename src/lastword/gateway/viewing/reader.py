"""Viewers in a log: their positions, compact replays, and slow viewers.

A viewer's position in a log, and the only way in which entries reach it. Owns attach, replay and
live sending, which are the same: entries that are committed and not yet pulled are pulled. There is
no second path, so nothing has to be handed over, held back or deduplicated.

Viewers: the clients of a session, what each may do, and what it understands. Owns the value for a
viewer, and the state of each of its attachments. A viewer is a logical client: its sockets come and
go, and the newest one wins.

Compact replays: the pieces of a past message are sent as one frame. Owns which entries are pieces
of the same message, and the frame that replaces them. Pieces are joined within one pull; nothing is
kept between pulls, and a viewer that begins in the middle of a message gets the rest of it.

Slow viewers: when a viewer counts as slow, and what happens then. Owns the rule and its numbers, in
the order in which they apply to a viewer that reads too slowly:

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

A viewer that is closed keeps its position, and continues from there. A slow viewer never slows the
log itself. A replay of the past is not lag; only newer entries that the viewer has not read are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET

from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.gateway.log.entries import MAX_SEQ, Cursor, Gap, LogEntry, LogKind, Numbered
from lastword.gateway.log.store import BATCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.log.store import ReadableLog


class CursorError(ValueError):
    """A cursor is not valid; the text says why."""


class Pulled(msgspec.Struct, frozen=True):
    """What to send next, in this order.

    Attributes:
        gap: entries that are no longer kept.
        pinned: the pinned entries in place of the gap, or a part of them.
        passed: the last entry of a gap that ends here; 0 if none does.
        entries: the entries that follow.
        is_own: the entries were put together for one viewer; no other gets the same.
    """

    gap: Gap | None = None
    pinned: tuple[Numbered, ...] = ()
    passed: int = 0
    entries: tuple[Numbered, ...] = ()
    is_own: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to send until the log grows."""
        return self.gap is None and not self.pinned and not self.entries


NOTHING_NEW = Pulled()


class Reader:
    """A position in a log, which moves as the log is read."""

    def __init__(self, log: ReadableLog, after: int) -> None:
        """Begin after an entry: 0 for all that is kept, `log.head` for nothing of the past."""
        self._log = log
        self.pos: int = after
        self._gap_ends = 0
        self._standing: deque[Numbered] = deque()
        """The entries in place of the current gap that have not been pulled yet."""

    @property
    def lag(self) -> int:
        """Return how many entries it is behind."""
        return self._log.head - self.pos

    def go_to(self, after: int) -> None:
        """Continue after another entry, which may be one that was already read."""
        self.pos, self._gap_ends = after, 0
        self._standing.clear()

    def pull(self) -> Pulled:
        """Return what comes next; empty if everything has been read."""
        if self._gap_ends:
            return self._of_gap(None)
        log, pos = self._log, self.pos
        if pos >= log.head:
            return NOTHING_NEW
        entries = tuple(log.read(pos))
        first = entries[0].seq if entries else log.head + 1
        if first > pos + 1:
            self._gap_ends = first - 1
            self._standing.extend(log.pins.between(pos, first - 1))
            return self._of_gap(Gap(pos + 1, first - 1))
        self.pos = entries[-1].seq
        return Pulled(entries=entries)

    def _of_gap(self, gap: Gap | None) -> Pulled:
        """Return the gap, or the next part of its replacement."""
        part: list[Numbered] = []
        size = 0
        while self._standing and (not part or size + self._standing[0].entry.size <= BATCH_BYTES):
            part.append(self._standing.popleft())
            size += part[-1].entry.size
        if self._standing:
            return Pulled(gap, tuple(part))
        self.pos, self._gap_ends = self._gap_ends, 0
        return Pulled(gap, tuple(part), passed=self.pos)


def cursor_of(value: object) -> Cursor:
    """Read a cursor as a viewer sends it: `{"epoch": …, "seq": …}`.

    Raises:
        CursorError: It is not one.
    """
    members = value if isinstance(value, dict) else {}
    epoch, seq = members.get("epoch"), members.get("seq")
    if not isinstance(epoch, str) or not epoch:
        raise CursorError("a cursor names its epoch, as the gateway gave it")
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= MAX_SEQ:
        raise CursorError("a cursor's seq is a whole number, 0 or more")
    return Cursor(epoch, seq)


def start(log: ReadableLog, cursor: Cursor | None) -> tuple[int, bool]:
    """Return where a viewer with this cursor begins, and whether that is not at the cursor.

    A cursor of another epoch cannot be used, so that everything that is kept is sent.

    Raises:
        CursorError: Its number is greater than any in this log.
    """
    if cursor is None or cursor.epoch != log.epoch:
        return 0, cursor is not None
    if cursor.seq > log.head:
        raise CursorError(f"the log's last entry is {log.head}, and the cursor's is {cursor.seq}")
    return cursor.seq, False


class Role(StrEnum):
    """What a viewer may do."""

    CONTROLLER = "controller"
    """It prompts, decides and answers."""
    OBSERVER = "observer"
    """It sees."""


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """One viewer.

    Attributes:
        id: identifies it, over all its sockets.
        role: what it may do.
        session: the only session that it may use; empty for all.
        profile: what its `initialize` declared.
        replay: it negotiated cursors, so its frames carry their sequence numbers.
        is_new: it sent no secret, so it sent no requests over an earlier link.
    """

    id: str
    role: Role = Role.CONTROLLER
    session: str = ""
    profile: ClientProfile = ClientProfile()
    replay: bool = False
    is_new: bool = False

    @property
    def controls(self) -> bool:
        """Return whether it may prompt, decide and answer."""
        return self.role is Role.CONTROLLER


class Attachment:
    """One socket of a viewer at one session: its position, and what it has received.

    Attributes:
        viewer: the viewer.
        reader: its position in the log.
        live_from: the log's head when it attached; entries up to there are the past.
        from_cursor: it attached with a cursor, so it knows its own prompts.
        open_at_start: the numbers of the questions that were open when it attached: of the past,
            only those are asked again.
        questions: the numbers of the questions that it has open.
        answered: the numbers of its own requests whose answers it has received.
        repeated: the numbers of requests that it repeated, whose answers are ahead of its position.
        owed: its own answers in a gap, which are sent after the gap.
        compact: the pieces of a past message are joined.
        again_until: it has gone back; entries up to here are sent a second time.
        parts: the number of an entry of several frames, and how many of them it has received.
    """

    __slots__ = (
        "again_until",
        "answered",
        "compact",
        "from_cursor",
        "live_from",
        "open_at_start",
        "owed",
        "parts",
        "questions",
        "reader",
        "repeated",
        "viewer",
    )

    def __init__(  # noqa: PLR0913 - what it begins with
        self,
        viewer: Viewer,
        reader: Reader,
        *,
        head: int,
        from_cursor: bool,
        open_at_start: frozenset[int] = frozenset(),
        compact: bool = False,
    ) -> None:
        self.viewer: Viewer = viewer
        self.reader: Reader = reader
        self.live_from: int = head
        self.from_cursor: bool = from_cursor
        self.open_at_start: frozenset[int] = open_at_start
        self.questions: set[int] = set()
        self.answered: set[int] = set()
        self.repeated: set[int] = set()
        self.owed: list[Numbered] = []
        self.compact: bool = compact
        self.again_until: int = 0
        self.parts: tuple[int, int] = (0, 0)

    def go_back(self, after: int, parts: int = 0) -> None:
        """Continue after an entry that it has applied, and `parts` frames of the next one."""
        self.again_until = max(self.again_until, self.reader.pos)
        self.reader.go_to(after)
        self.owed = []
        self.parts = (after + 1, parts)

    def waits_for(self, end: Numbered) -> bool:
        """Return whether it still needs this answer to its own request.

        It has received the answers of the past, except those for which it repeats its request.
        """
        about = end.entry.about
        number = about.number
        if number in self.answered:
            # A fork is answered on the connection's own stream, which cannot go back.
            return end.seq <= self.again_until and about.method != acp.FORK
        is_past = end.seq <= self.live_from
        return not is_past or number in self.repeated

    def pop_owed(self) -> list[Numbered]:
        """Remove and return the owed answers, which are sent now."""
        owed, self.owed = self.owed, []
        return owed


MAX_JOINED_BYTES = 64 * 1024
"""The largest frame of joined pieces."""

_PIECES = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_MARK = b'_chunk"'
_SPACE = rb"[ \t\r\n]*+"
_CHARACTERS = rb'(?:[^"\\]++|\\.)*+'
_TEXT = re.compile(
    rb'\{S"type"S:S"text"S,S"text"S:S"(?P<text>C)"S\}'.replace(b"S", _SPACE).replace(
        b"C", _CHARACTERS
    )
)
_INSIDE = re.compile(_CHARACTERS)


class _Mould(NamedTuple):
    """A piece's frame without its text: the bytes before and after it."""

    before: bytes
    after: bytes


class _Run:
    """Consecutive pieces of one message."""

    def __init__(self, first: Numbered) -> None:
        self._mould = _mould(first.entry)
        self._first = self._last = first
        self._texts: list[bytes] = []
        """Of the pieces behind the first."""
        self._size = len(first.entry.frame)

    def joins(self, numbered: Numbered) -> bool:
        """Add the next piece; return whether it is one, and there is room for it."""
        if self._mould is None or numbered.entry.kind is not LogKind.OUT:
            return False
        frame, (before, after) = numbered.entry.frame, self._mould
        begin, end = len(before), len(frame) - len(after)
        if begin > end or not frame.startswith(before) or not frame.endswith(after):
            return False  # more than the text differs
        text = frame[begin:end]
        if not _INSIDE.fullmatch(text) or self._size + len(text) > MAX_JOINED_BYTES:
            return False
        self._last = numbered
        self._texts.append(text)
        self._size += len(text)
        return True

    def joined(self) -> Numbered:
        """Return the joined piece, with the last one's number; a single piece unchanged."""
        last = self._last
        if self._mould is None or not self._texts:
            return last
        first = self._first.entry.frame
        begun = first[: len(first) - len(self._mould.after)]
        frame = b"".join([begun, *self._texts, self._mould.after])
        return Numbered(last.seq, msgspec.structs.replace(last.entry, frame=frame))


def joined(pulled: Pulled, until: int) -> Pulled:
    """Return what was pulled, with the pieces of each past message joined.

    Pieces are joined if nothing comes between them and their frames differ only in their text.
    The joined text is the same, taken as UTF-16: a surrogate at the end of a piece is reunited
    with its other half.

    Args:
        pulled: The result of a pull.
        until: The last entry of the past. Later entries stay as they are.
    """
    entries = pulled.entries
    if len(entries) < 2 or entries[0].seq >= until:  # noqa: PLR2004 - two pieces make a run
        return pulled
    past = entries[: until - entries[0].seq + 1]  # numbers are dense
    shown: list[Numbered] = []
    run = _Run(past[0])
    for numbered in past[1:]:
        if not run.joins(numbered):
            shown.append(run.joined())
            run = _Run(numbered)
    shown += (run.joined(), *entries[len(past) :])
    if len(shown) == len(entries):
        return pulled
    return msgspec.structs.replace(pulled, entries=tuple(shown), is_own=True)


def _mould(entry: LogEntry) -> _Mould | None:
    """Return a piece's frame without its text; `None` if the entry is not a piece."""
    if entry.kind is not LogKind.OUT or not (entry.is_text or _MARK in entry.frame):
        return None
    frame = jsonrpc.decode(entry.frame)
    if not isinstance(frame, jsonrpc.Frame) or frame.message.method != acp.UPDATE or frame.shallow:
        return None
    update = frame.message.update
    if update is None or update.session_update not in _PIECES or update.content is UNSET:
        return None
    content = bytes(update.content)
    match = _TEXT.fullmatch(content)
    at = entry.frame.find(content)
    if match is None or at < 0 or entry.frame.find(content, at + 1) >= 0:
        return None
    return _Mould(entry.frame[: at + match.start("text")], entry.frame[at + match.end("text") :])


_CONVERSATION = acp.TEXT_KINDS | {"user_message_chunk", "user_message"}


def is_conversation(frame: Frame) -> bool:
    """Return whether it is part of the conversation."""
    update = frame.message.update
    return update is not None and update.session_update in _CONVERSATION


UNREAD_BY_FRONT_BYTES = 64 * 1024
"""The most that a holder writes to a front that does not read; the front may buffer as much."""

QUEUED_FRAMES = 256
UNREAD_ANSWERS_BYTES = 1024 * 1024

STALL_SECONDS = 60.0
CLOSE_SECONDS = 2.0
"""How long a close waits for the frames before it."""

ABORT_SECONDS = 5.0
"""How long a close frame may take to reach the other end."""

ALONE_SECONDS = 60.0

COMMENT_SECONDS = 15.0
"""How often an idle stream gets a comment: proxies close silent connections."""

LAG_SHARE = 0.25
"""A viewer lags if it is this share of the log's limit behind: it may fall out of the log."""

CAUGHT_UP_SHARE = 0.1
"""A viewer has caught up if it is no more than this share of that distance behind."""

LOOK_AT_LAG_SECONDS = 1.0
"""How often lag is measured."""


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
        """Note the log's first and last entry and its size; called from time to time."""
        if head > self._seqs[-1]:
            self._seqs.append(head)
            self._written.append(written_bytes)
        gone = bisect_right(self._seqs, first - 1) - 1
        if gone > 0:
            del self._seqs[:gone]
            del self._written[:gone]

    def bytes_until(self, seq: int) -> float:
        """Return the size of all entries up to one; interpolate between two marks."""
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
        """Return the viewers that now lag, and those that have caught up."""
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
