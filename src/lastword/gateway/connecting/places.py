"""Places and items of a connector: where it stands in each session, and what is still to be done.

Owns the order of what the editor said, and what of it has to be said again over the next link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import acp
from lastword.gateway.connecting import frames
from lastword.gateway.connecting.frames import count_of, seq_of
from lastword.gateway.entries import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.protocol.acp import Dialect


class Place(msgspec.Struct):
    """One session that the editor uses.

    Attributes:
        session_id: the session's.
        folder: JSON text of what an attach says of the session beside its id.
        epoch: of the log that `seq` counts in; empty before it is known.
        seq: the last entry that the editor has been told.
        parts: so many frames of the entry after it have been told, too.
        past: without a cursor, the past is wanted.
        attaching: the number of the request that attaches over this link; 0, none does.
        begun: that request's frames have begun.
        attached: it has been answered.
        probing: it only asks for the session's state: what comes with it is not told.
        skipping: the log is another than before: its past is not told twice.
        running: version 2: the session's foreground work runs.
    """

    session_id: str
    folder: dict[str, msgspec.Raw] = {}
    epoch: str = ""
    seq: int = 0
    parts: int = 0
    past: bool = False
    attaching: int = 0
    begun: bool = False
    attached: bool = False
    probing: bool = False
    skipping: bool = False
    running: bool = False

    @property
    def cursor(self) -> Cursor | None:
        """Where the editor is."""
        return Cursor(self.epoch, self.seq) if self.epoch else None

    def bring_back(self, item: Item) -> bytes:
        """The editor's own load or resume begins: the line that says it over this link."""
        line = item.line
        if not item.was_sent:
            self.forget()
            line = frames.with_compact_past(line)
        elif self.cursor is not None:
            line = frames.from_cursor(line, self.cursor)
        self.folder = frames.folder_of(item.line)
        self.attaching, self.begun, self.attached = item.number, False, False
        return line

    def look(self, item: Item) -> bytes:
        """Ask how the session is that the editor's `session/new` is to be given."""
        self.folder = frames.folder_of(item.line)
        self.probing, self.past = True, True
        self.attaching, self.begun = item.number, False
        return frames.attach_request(self.session_id, self.folder, acp.RESUME, item.number)

    def attach(self, number: int, dialect: Dialect) -> bytes:
        """A request of our own, with this number, attaches it where the editor is."""
        self.attaching, self.begun = number, False
        if self.cursor is not None:
            line = frames.attach_request(self.session_id, self.folder, acp.RESUME, number)
            return frames.from_cursor(line, self.cursor)
        replays = self.past and not dialect.turn_ends_by_state
        method = acp.LOAD if replays else acp.RESUME
        line = frames.attach_request(self.session_id, self.folder, method, number)
        if self.past and not replays:
            line = frames.with_param(line, "replayFrom", {"type": "start"})
        return frames.with_compact_past(line) if self.past else line

    def has_attached(self, ours: dict[str, Any]) -> None:
        """It is attached, with these facts of the gateway's."""
        self.attaching, self.attached = 0, True
        if not self.epoch:  # its frames have not said where they begin
            self.begin(ours)

    def skip_past(self) -> None:
        """The log is no longer what it was: it is attached anew, without the past."""
        self.forget()
        self.past = False
        self.skipping = True

    def begin(self, ours: dict[str, Any]) -> None:
        """Stand before the first entry that comes, as the gateway names it."""
        epoch = ours.get("epoch")
        before = self.epoch, self.seq
        self.epoch = epoch if isinstance(epoch, str) else ""
        self.seq = max(count_of(ours.get("from")) - 1, 0)
        if before != (self.epoch, self.seq):
            self.parts = 0

    def move(self, ours: dict[str, Any]) -> None:
        """A frame has come: what it says of its place in the log holds for the editor now."""
        seq = seq_of(ours)
        if seq is not None and not self.probing and (self.begun or self.attached):
            self.seq, self.parts = seq, 0

    def is_repeated(self, ours: dict[str, Any]) -> bool:
        """Is this a part of the next entry that was told before the link was cut within it?"""
        part = count_of(ours.get("part"))
        if not part or count_of(ours.get("of")) <= self.seq:
            return False
        told, self.parts = self.parts, max(self.parts, part)
        return part <= told

    def forget(self) -> None:
        """There is no position: the log is another, or is wanted from its beginning."""
        self.epoch, self.seq, self.parts = "", 0, 0

    def unlink(self) -> None:
        """The link is gone."""
        self.attaching = 0
        self.begun = self.attached = self.probing = self.skipping = False


class Item(msgspec.Struct):
    """One thing that the editor said, until it needs no more to be said.

    Attributes:
        number: its place in the order; of a request also its id towards the gateway.
        line: as the gateway is sent it.
        method: of a request or a notification; empty for an answer.
        session_id: which it names.
        request: the editor's id of a request (JSON text).
        answers: the id of the question (JSON text) that it answers.
        about: the number of the request that it cancels.
        was_sent: it went over some link.
    """

    number: int
    line: bytes
    method: str = ""
    session_id: str | None = None
    request: bytes | None = None
    answers: bytes | None = None
    about: int = 0
    was_sent: bool = False


class Items:
    """All of them, in order."""

    def __init__(self) -> None:
        self._all: dict[int, Item] = {}
        self._unsent: dict[int, Item] = {}
        self._last = 0
        self.unsent_bytes: int = 0

    def next_number(self) -> int:
        """The next number."""
        self._last += 1
        return self._last

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._all.values()))

    def get(self, number: int) -> Item | None:
        """The item with this number."""
        return self._all.get(number)

    def add(self, item: Item) -> None:
        """Take one in; it has not been sent."""
        self._all[item.number] = item
        self._unsent[item.number] = item
        self.unsent_bytes += len(item.line)

    def sent(self, item: Item) -> None:
        """It has gone over this link."""
        if self._unsent.pop(item.number, None) is not None:
            self.unsent_bytes -= len(item.line)
        item.was_sent = True

    def done(self, item: Item) -> None:
        """It needs no more to be said."""
        if self._unsent.pop(item.number, None) is not None:
            self.unsent_bytes -= len(item.line)
        self._all.pop(item.number, None)

    def unsent(self) -> list[Item]:
        """What has not gone over this link, in order."""
        return list(self._unsent.values())

    def unlink(self) -> None:
        """The link is gone: all that is not done is to be said again."""
        self._unsent = dict(sorted(self._all.items()))
        self.unsent_bytes = sum(len(item.line) for item in self._unsent.values())

    def request(self, request: bytes) -> Item | None:
        """The open request with this id of the editor's."""
        return next((item for item in self._all.values() if item.request == request), None)
