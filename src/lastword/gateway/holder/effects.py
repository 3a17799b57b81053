"""What a hub asks its session to do, and two kinds of entries that it logs.

Effects: what a hub asks its session to do, and the order in which that is done. Owns one rule: an
effect is carried out once everything that the hub committed before it is in the log, also where the
log commits later than it is written.

The wait of a session's turn for the end of a limit, in the session's log. Owns the entry with which
it begins, and reading it back in the process that takes the session over. It is pinned until the
turn continues, ends or is cancelled (`log.pins`).

Bounds on the entries about viewers, so that these do not push a session's conversation out. Owns
how many are logged in an hour, and the count of those that are not. Sans-IO: times come in.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lastword.core.link.waits import StoredWait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.gateway.log.entries import About, LogEntry, LogKind
from lastword.gateway.viewing.access import Rate, RateLimiter
from lastword.gateway.viewing.frames import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.log.store import Log, ReadableLog
    from lastword.gateway.viewing.reader import Attachment


class Commit(msgspec.Struct, frozen=True):
    """Commit these entries to the log."""

    entries: Sequence[LogEntry]


class ToAgent(msgspec.Struct, frozen=True):
    """Send this line to the agent."""

    line: bytes


class ToViewer(msgspec.Struct, frozen=True):
    """Send this to one attachment, outside the log: a refusal is not part of the session."""

    attachment: Attachment
    line: bytes


class Retell(msgspec.Struct, frozen=True):
    """Send one attachment the outcome of its own request again, outside the log."""

    attachment: Attachment
    end: Numbered


class Then(msgspec.Struct, frozen=True):
    """Call this function, which shows something, once the log has it."""

    call: Callable[[], None]


Message: TypeAlias = ToAgent | ToViewer | Retell | Then
"""What is done outside the log."""

HubEffect: TypeAlias = Commit | Message


class Effects:
    """The effects of one hub, on their way to its log, its agent and its viewers."""

    def __init__(self, log: Log, send: Callable[[Message], None]) -> None:
        self._log = log
        self._send = send
        self._last = 0
        """The number of the last entry that was written."""
        self._waiting: deque[tuple[int, Message]] = deque()
        """Messages, each with the entry that is to be committed first."""
        self.is_writing: bool = False
        """Whether a commit is reported while it is being written, rather than later."""

    def carry_out(self, effects: Iterable[HubEffect]) -> None:
        """Carry out effects in their order."""
        for effect in effects:
            if isinstance(effect, Commit):
                self.is_writing = True
                try:
                    self._last = self._log.append(effect.entries)
                finally:
                    self.is_writing = False
            elif self.are_committed and not self._waiting:
                self._send(effect)
            else:
                self._waiting.append((self._last, effect))
        self.send_waiting()

    @property
    def are_committed(self) -> bool:
        """Whether the log has all entries that were written; some logs commit later."""
        return self._last <= self._log.head

    def send_waiting(self) -> None:
        """Send the messages whose entries have been committed."""
        while self._waiting and self._waiting[0][0] <= self._log.head:
            self._send(self._waiting.popleft()[1])

    def drop(self) -> None:
        """Drop the messages that wait: another process may have the session."""
        self._waiting.clear()


PER_HOUR = 240
"""Entries about the viewers of one role, or of clients' own errors: as many as the record keeps of
a session. At the size that an entry counts for, that is 11 KiB."""


class PresenceBounds:
    """The entries of one session."""

    def __init__(self) -> None:
        self._now = 0.0
        self._pace = RateLimiter(Rate(PER_HOUR / 3600, PER_HOUR), lambda: self._now)
        self._left_out: dict[str, int] = {}

    def allow(self, source: str, now_ms: int) -> int | None:
        """Count one entry; return how many were left out since the last, `None` to leave it out.

        Setting the clock back allows no more.
        """
        self._now = max(self._now, now_ms / 1000)
        if self._pace.wait_seconds(source):
            self._left_out[source] = self._left_out.get(source, 0) + 1
            return None
        return self._left_out.pop(source, 0)


class WaitingTurn(msgspec.Struct, frozen=True):
    """A turn that waits: its number towards the agent, its prompt as the agent had it, the wait."""

    number: int
    prompt: bytes
    stored: StoredWait


def begun(stored: StoredWait, now_ms: int) -> LogEntry:
    """Return the entry of a wait that begins."""
    until_ms = math.ceil((stored.wait.until_epoch_seconds or 0.0) * 1000)
    facts = {
        "type": stored.type.value,
        "wait_seconds": max((until_ms - now_ms) / 1000, 0.0),
        "until_epoch_ms": until_ms,
    }
    about = About(word=WORDS[Kind.LIMIT_WAIT], facts=facts)
    return LogEntry(LogKind.LIFE, now_ms, msgspec.json.encode(stored), about)


def waiting_turn(log: ReadableLog) -> WaitingTurn | None:
    """Return the turn that waits since an earlier process, if any."""
    open_prompts = {each.entry.about.number: each.entry for each in log.pins.of("open:")}
    for pinned in log.pins.of("wait:"):
        try:
            stored = msgspec.json.decode(pinned.entry.frame, type=StoredWait)
        except msgspec.MsgspecError:
            return None  # of another version of lastword
        number = number_of(stored.request_id)
        prompt = open_prompts.get(number)
        frame = jsonrpc.decode(prompt.frame) if prompt is not None else None
        if isinstance(frame, jsonrpc.Frame):
            if _has_shown_more(log, pinned.seq):
                wait = msgspec.structs.replace(stored.wait, resends=False)
                stored = msgspec.structs.replace(stored, wait=wait)
            return WaitingTurn(number, jsonrpc.with_id(frame, stored.request_id), stored)
    return None


def _has_shown_more(log: ReadableLog, after: int) -> bool:
    """Return whether the agent has shown, asked or begun something after this entry."""
    while entries := log.read(after):
        for _, entry in entries:
            if entry.kind is LogKind.ASK:
                return True
            frame = jsonrpc.decode(entry.frame) if entry.kind is LogKind.OUT else None
            if not isinstance(frame, jsonrpc.Frame):
                continue
            method, update = frame.message.method, frame.message.update
            if method != acp.UPDATE:
                is_work = method not in acp.HARMLESS_METHODS
            else:
                kind = update.session_update if update is not None else ""
                is_work = kind in acp.SHOWN_KINDS or kind not in acp.HARMLESS_KINDS
            if is_work:
                return True
        after = entries[-1].seq
    return False
