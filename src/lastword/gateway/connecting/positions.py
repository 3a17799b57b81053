"""The connector's position in each session, and the messages that are not done yet.

Owns the order of the editor's messages, and which of them must be sent again over the next link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import acp
from lastword.gateway.connecting import frames
from lastword.gateway.connecting.frames import count_of, seq_of
from lastword.gateway.log.entries import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.protocol.acp import Dialect


class Position(msgspec.Struct):
    """One session that the editor uses.

    Attributes:
        session_id: the session's id.
        folder: JSON text of what an attach says about the session beside its id.
        epoch: the log to which `seq` belongs; empty until it is known.
        seq: the last entry that the editor has received.
        parts: how many frames of the next entry it has received, too.
        past: the past is wanted, although there is no cursor.
        attaching: the number of the request that attaches it over this link; 0 if there is none.
        begun: the frames of that request have begun.
        attached: the request has been answered.
        probing: the request only asks for the session's state; what comes with it is dropped.
        skipping: the log is a different one: its past is not repeated.
        running: version 2: the session's foreground work is running.
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
        """Return the editor's position."""
        return Cursor(self.epoch, self.seq) if self.epoch else None

    def bring_back(self, item: Item) -> bytes:
        """Return the line for the editor's own load or resume, over this link."""
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
        """Return a request for the state of the session that answers the editor's `session/new`."""
        self.folder = frames.folder_of(item.line)
        self.probing, self.past = True, True
        self.attaching, self.begun = item.number, False
        return frames.attach_request(self.session_id, self.folder, acp.RESUME, item.number)

    def attach(self, number: int, dialect: Dialect) -> bytes:
        """Return a request of the connector that attaches at the editor's position."""
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
        """Note that it is attached, with these facts of the gateway."""
        self.attaching, self.attached = 0, True
        if not self.epoch:  # its frames have not said where they begin
            self.begin(ours)

    def skip_past(self) -> None:
        """Attach anew without the past: the log is no longer the same."""
        self.forget()
        self.past = False
        self.skipping = True

    def begin(self, ours: dict[str, Any]) -> None:
        """Move to before the first entry that comes, as named by the gateway."""
        epoch = ours.get("epoch")
        before = self.epoch, self.seq
        self.epoch = epoch if isinstance(epoch, str) else ""
        self.seq = max(count_of(ours.get("from")) - 1, 0)
        if before != (self.epoch, self.seq):
            self.parts = 0

    def move(self, ours: dict[str, Any]) -> None:
        """Move on: a frame has come with this position in the log."""
        seq = seq_of(ours)
        if seq is not None and not self.probing and (self.begun or self.attached):
            self.seq, self.parts = seq, 0

    def is_repeated(self, ours: dict[str, Any]) -> bool:
        """Return whether this is a part of the next entry that came before the link was lost."""
        part = count_of(ours.get("part"))
        if not part or count_of(ours.get("of")) <= self.seq:
            return False
        received, self.parts = self.parts, max(self.parts, part)
        return part <= received

    def forget(self) -> None:
        """Drop the position: the log is a different one, or is wanted from its beginning."""
        self.epoch, self.seq, self.parts = "", 0, 0

    def unlink(self) -> None:
        """Note that the link is gone."""
        self.attaching = 0
        self.begun = self.attached = self.probing = self.skipping = False


class Item(msgspec.Struct):
    """One message of the editor, until it is done.

    Attributes:
        number: its place in the order; for a request, also its id towards the gateway.
        line: the line for the gateway.
        method: of a request or a notification; empty for an answer.
        session_id: the session that it names.
        request: the editor's id of a request (JSON text).
        answers: the id (JSON text) of the question that it answers.
        about: the number of the request that it cancels.
        was_sent: it has been sent over some link.
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
    """All messages that are not done, in order."""

    def __init__(self) -> None:
        self._all: dict[int, Item] = {}
        self._unsent: dict[int, Item] = {}
        self._last = 0
        self.unsent_bytes: int = 0

    def next_number(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._all.values()))

    def get(self, number: int) -> Item | None:
        """Return the item with this number."""
        return self._all.get(number)

    def add(self, item: Item) -> None:
        """Add an item that has not been sent."""
        self._all[item.number] = item
        self._unsent[item.number] = item
        self.unsent_bytes += len(item.line)

    def sent(self, item: Item) -> None:
        """Note that it has been sent over this link."""
        if self._unsent.pop(item.number, None) is not None:
            self.unsent_bytes -= len(item.line)
        item.was_sent = True

    def done(self, item: Item) -> None:
        """Drop an item that is done."""
        if self._unsent.pop(item.number, None) is not None:
            self.unsent_bytes -= len(item.line)
        self._all.pop(item.number, None)

    def unsent(self) -> list[Item]:
        """Return what has not been sent over this link, in order."""
        return list(self._unsent.values())

    def unlink(self) -> None:
        """Note that the link is gone: everything not done is to be sent again."""
        self._unsent = dict(sorted(self._all.items()))
        self.unsent_bytes = sum(len(item.line) for item in self._unsent.values())

    def request(self, request: bytes) -> Item | None:
        """Return the open request with this id of the editor."""
        return next((item for item in self._all.values() if item.request == request), None)
