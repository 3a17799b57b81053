"""The wait of a session's turn for the end of a limit, in the session's log.

Owns the entry with which it begins, and reading it back in the process that takes the session over.
It is pinned until the turn goes on, ends or is cancelled (`log.pins`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.waits import StoredWait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.gateway.log.entries import About, LogEntry, LogKind
from lastword.gateway.viewing.request_ids import number_of

if TYPE_CHECKING:
    from lastword.gateway.log.store import ReadableLog


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
    open_prompts = {each.entry.about.number: each.entry for each in log.pins_of("open:")}
    for pinned in log.pins_of("wait:"):
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
        if any(_is_work(entry) for _, entry in entries):
            return True
        after = entries[-1].seq
    return False


def _is_work(entry: LogEntry) -> bool:
    if entry.kind is LogKind.ASK:
        return True
    frame = jsonrpc.decode(entry.frame) if entry.kind is LogKind.OUT else None
    if not isinstance(frame, jsonrpc.Frame):
        return False
    if frame.message.method != acp.UPDATE:
        return frame.message.method not in acp.HARMLESS_METHODS
    kind = frame.message.update.session_update if frame.message.update is not None else ""
    return kind in acp.SHOWN_KINDS or kind not in acp.HARMLESS_KINDS
