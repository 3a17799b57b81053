"""Pinned entries: the part of a session's state that must stay when the log is trimmed.

Owns which entry represents which piece of state, and until when. A viewer that returns after the
entries it needs were trimmed gets the pinned ones in their place.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.gateway.log.entries import LogKind, Numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lastword.gateway.log.entries import LogEntry

MAX_TOOLS = 512
"""Open tool calls that are kept; beyond it the oldest is let go."""

MAX_ENDS = 256
"""Answers that are kept. A viewer that has not had its answer sends the request again when it is
back: it must be known by then that the agent has had it."""


WAIT = "wait:limit"
"""The key of the wait for the end of a limit, in which a session has one turn at most."""

_ENDS_WAIT = frozenset({acp.PROMPT, acp.CANCEL, acp.CANCEL_REQUEST})
"""What a user sends to end it."""

_WAIT_IS_OVER = frozenset({WORDS[Kind.CONTINUED], WORDS[Kind.SESSION_ENDED]})


class Pins:
    """The pinned entries of one log, by what they represent."""

    def __init__(self, pinned: Iterable[tuple[str, Numbered]] = ()) -> None:
        self._kinds: defaultdict[str, dict[str, Numbered]] = defaultdict(dict)
        """The keys of each kind, which is what stands before their colon; the newest last."""
        for key, value in pinned:
            self._of_kind(key)[key] = value

    def _of_kind(self, key: str) -> dict[str, Numbered]:
        return self._kinds[key.partition(":")[0]]

    def note_all(
        self, first: int, entries: Sequence[LogEntry]
    ) -> list[tuple[str, Numbered | None]]:
        """Take in entries numbered from `first`, each as `note` does."""
        changes: list[tuple[str, Numbered | None]] = []
        for seq, entry in enumerate(entries, first):
            if not entry.is_text:
                changes += self.note(seq, entry)
        return changes

    def note(self, seq: int, entry: LogEntry) -> list[tuple[str, Numbered | None]]:
        """Take in an entry; return what has changed, with `None` for what is no longer pinned."""
        changes: list[tuple[str, Numbered | None]] = []
        if entry.kind is LogKind.OUT:
            self._note_update(seq, entry, changes)
        elif entry.kind is LogKind.ASK:
            self._set(f"ask:{entry.about.number}", Numbered(seq, entry), changes)
        elif entry.kind is LogKind.TOLD:
            self._drop(f"ask:{entry.about.number}", changes)
        elif entry.kind is LogKind.LIFE:
            self._note_life(seq, entry, changes)
        elif entry.kind is LogKind.IN:
            self._set("in", Numbered(seq, entry), changes)
            if entry.about.method in _ENDS_WAIT:
                self._drop(WAIT, changes)
            if entry.about.number:
                self._set(f"open:{entry.about.number}", Numbered(seq, entry), changes)
        elif entry.kind is LogKind.END:
            self._drop(f"open:{entry.about.number}", changes)
            if entry.about.method == acp.PROMPT:
                self._drop(WAIT, changes)
            self._set(f"end:{entry.about.number}", Numbered(seq, entry), changes)
            self._let_go_of("end:", MAX_ENDS, changes)
        return changes

    def _note_life(
        self, seq: int, entry: LogEntry, changes: list[tuple[str, Numbered | None]]
    ) -> None:
        if entry.about.word == WORDS[Kind.LIMIT_WAIT]:
            self._set(WAIT, Numbered(seq, entry), changes)
        elif entry.about.word in _WAIT_IS_OVER:
            self._drop(WAIT, changes)

    def _note_update(
        self, seq: int, entry: LogEntry, changes: list[tuple[str, Numbered | None]]
    ) -> None:
        if entry.is_text:
            return
        frame = jsonrpc.decode(entry.frame)
        update = frame.message.update if isinstance(frame, jsonrpc.Frame) else None
        if update is None:
            return
        kind, session = update.session_update, entry.about.session
        if kind in acp.SESSION_STATE_KINDS or kind in {"plan", acp.STATE_UPDATE}:
            self._set(f"state:{session}:{kind}", Numbered(seq, entry), changes)
        elif kind in acp.TOOL_KINDS:
            first = f"tool:{session}:{update.tool_call_id}"
            later = f"{first}:update"
            if update.status in acp.TOOL_ENDS:
                self._drop(first, changes)
                self._drop(later, changes)
            elif kind == "tool_call" or first in self._of_kind(first):
                self._set(first if kind == "tool_call" else later, Numbered(seq, entry), changes)
                self._let_go_of("tool:", 2 * MAX_TOOLS, changes)

    def _let_go_of(
        self, prefix: str, limit: int, changes: list[tuple[str, Numbered | None]]
    ) -> None:
        pinned = self._of_kind(prefix)
        while len(pinned) > limit:
            self._drop(next(iter(pinned)), changes)

    def _set(self, key: str, value: Numbered, changes: list[tuple[str, Numbered | None]]) -> None:
        pinned = self._of_kind(key)
        pinned.pop(key, None)
        pinned[key] = value
        changes.append((key, value))

    def _drop(self, key: str, changes: list[tuple[str, Numbered | None]]) -> None:
        if self._of_kind(key).pop(key, None) is not None:
            changes.append((key, None))

    def items(self) -> list[tuple[str, Numbered]]:
        """Return all pinned entries with their keys, in order."""
        items = [item for kind in self._kinds.values() for item in kind.items()]
        return sorted(items, key=lambda item: item[1].seq)

    def between(self, after: int, last: int) -> list[Numbered]:
        """Return the pinned entries of a range, in order, each once."""
        by_seq = {
            each.seq: each
            for kind in self._kinds.values()
            for each in kind.values()
            if after < each.seq <= last
        }
        return [by_seq[seq] for seq in sorted(by_seq)]

    def of(self, prefix: str) -> list[Numbered]:
        """Return the pinned entries of one kind of key, in order."""
        return sorted(self._of_kind(prefix).values(), key=lambda each: each.seq)
