"""Compact replays: the pieces of a past message are sent as one frame.

Owns which entries are pieces of the same message, and the frame that replaces them. Pieces are
joined within one pull; nothing is kept between pulls, and a viewer that begins in the middle of a
message gets the rest of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.log.entries import LogEntry, LogKind, Numbered

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.viewing.reader import Pulled

MAX_JOINED_BYTES = 64 * 1024
"""The largest frame that pieces are joined to."""

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
    """A piece's frame without its text: what comes before and after that."""

    before: bytes
    after: bytes

    def text_in(self, frame: bytes) -> bytes | None:
        """Return the text of another piece, JSON-encoded; `None` if more than the text differs."""
        begin, end = len(self.before), len(frame) - len(self.after)
        if begin > end or not frame.startswith(self.before) or not frame.endswith(self.after):
            return None
        return frame[begin:end] if _INSIDE.fullmatch(frame, begin, end) else None


class _Run:
    """Consecutive pieces of one message."""

    def __init__(self, first: Numbered) -> None:
        self._mould = _mould(first.entry)
        self._first = self._last = first
        self._texts: list[bytes] = []
        """Of the pieces behind the first."""
        self._size = len(first.entry.frame)

    def joins(self, numbered: Numbered) -> bool:
        """Add the next piece; return whether it was one."""
        if self._mould is None or numbered.entry.kind is not LogKind.OUT:
            return False
        text = self._mould.text_in(numbered.entry.frame)
        if text is None or self._size + len(text) > MAX_JOINED_BYTES:
            return False
        self._last = numbered
        self._texts.append(text)
        self._size += len(text)
        return True

    def joined(self) -> Numbered:
        """What stands for them, with the number of the last; a single one as it came."""
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
    told: list[Numbered] = []
    run = _Run(past[0])
    for numbered in past[1:]:
        if not run.joins(numbered):
            told.append(run.joined())
            run = _Run(numbered)
    told += (run.joined(), *entries[len(past) :])
    if len(told) == len(entries):
        return pulled
    return msgspec.structs.replace(pulled, entries=tuple(told), is_own=True)


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
