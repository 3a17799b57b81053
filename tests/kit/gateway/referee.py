"""What has to hold for a session of the gateway, whatever its players do.

Owns the promises V1 to V10, judged from outside: by what was committed, what each viewer applied,
and by what reached the agent. Knows nothing of how the gateway comes to it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from lastword.gateway.log.entries import LogKind
from tests.kit.simulation.ledger import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.log.entries import Cursor, LogEntry
    from lastword.gateway.viewing.reader import Viewer

_TAG = re.compile(r"<([0-9]+)>")
_TAG_IN_FRAME = re.compile(rb'"tag":([0-9]+)|"<([0-9]+)>')

PROMISES = ("lost", "double", "disorder", "untold", "unanswered")
PULL_BYTES = 512 * 1024


class Account:
    def __init__(self) -> None:
        self.last_seq = 0
        self.tags: list[int] = []
        self.seen: set[int] = set()
        self.gaps: list[tuple[int, int]] = []
        self.answers: Counter[int] = Counter()
        self.past = 0
        self.is_compact = False


class Referee:
    def __init__(self) -> None:
        self._truth: dict[int, tuple[LogKind, int, Any]] = {}
        """By sequence number: the kind, the tag of the agent's update, and whom it is about."""
        self._seq_of_tag: dict[int, int] = {}
        self._first = 1
        self._accounts: dict[str, Account] = {}
        self._reached: Counter[int] = Counter()
        self._asks: Counter[int] = Counter()
        self._dead_asks: set[int] = set()

    @staticmethod
    def _broken(promise: str, said: str) -> None:
        raise BrokenPromiseError(promise, said)

    def sits(self, viewer: Viewer) -> None:
        self._accounts[viewer.id] = Account()

    def begins_again(self, viewer: Viewer, *, forgets_answers: bool = False) -> None:
        """It wants all that is kept, whatever it has applied."""
        before = self._accounts[viewer.id]
        account = self._accounts[viewer.id] = Account()
        account.past, account.is_compact = before.past, before.is_compact
        if not forgets_answers:
            account.answers = before.answers

    def goes_on(self, before: Viewer, viewer: Viewer) -> None:
        """A new viewer goes on where another was, whose requests nobody waits for."""
        account = self._accounts[viewer.id] = self._accounts[before.id]
        account.answers = Counter()

    def attached(self, viewer: Viewer, head: int, *, compact: bool) -> None:
        """A viewer is there: up to there it is told the past, joined or not."""
        account = self._accounts[viewer.id]
        account.past, account.is_compact = head, compact

    def committed(self, first: int, head: int, entries: Sequence[LogEntry]) -> None:
        self._first = first
        for seq, entry in enumerate(entries, head - len(entries) + 1):
            if seq in self._truth:
                self._broken("V3", f"{seq} was committed twice")
            tag = 0
            if entry.kind is LogKind.OUT:
                tag = tag_of(entry.frame)
                self._seq_of_tag[tag] = seq
            about = entry.about
            self._truth[seq] = (entry.kind, tag, (about.viewer, about.request, about.number))

    def trimmed(self, first: int) -> None:
        """The log's oldest entry is this one now."""
        self._first = first

    def sent(self, committed: int, size: int, frames: list[dict[str, Any]]) -> None:
        """These go to a viewer after one pull."""
        if size > PULL_BYTES and len(frames) > 3:
            self._broken("V4", f"{size} bytes at once")
        for frame in frames:
            for tag in tags_in(frame):
                if self._seq_of_tag.get(tag, committed + 1) > committed:
                    self._broken("V3", f"update {tag} was sent and is not committed")

    def refused_cursor(self, cursor: Cursor | None, head: int) -> None:
        if cursor is None or cursor.seq <= head:
            self._broken("V10", f"a good cursor was refused: {cursor}")

    def applied(self, viewer: Viewer, frame: dict[str, Any]) -> int:
        """A viewer applied a frame; gives the position that it read there, 0 if none."""
        account = self._accounts[viewer.id]
        if "method" not in frame:
            self._answered(viewer, account, frame)
            return 0
        params = frame["params"]
        seq: int = params.get("_meta", {}).get("lastword", {}).get("seq", 0)
        gap = _gap(frame)
        if gap is not None:
            account.gaps.append(gap)
        tags = tags_in(frame)
        for tag in tags:
            # What stands for a gap may be told again, with the gap: it is state.
            at = self._seq_of_tag[tag]
            if not any(first <= at <= last for first, last in account.gaps):
                self._saw(account, tag)
        if len(tags) > 1:
            self._is_joined(account, tags, seq)
        # A position may be told again, by the frame that tells it alone.
        if seq and (seq < account.last_seq or (seq == account.last_seq and tags)):
            self._broken("disorder", f"{viewer.id} saw {seq} after {account.last_seq}")
        account.last_seq = max(account.last_seq, seq)
        return seq

    def _is_joined(self, account: Account, tags: list[int], seq: int) -> None:
        """Several updates came as one: of the past, without anything between them."""
        seqs = [self._seq_of_tag[tag] for tag in tags]
        if not account.is_compact or seqs[-1] > account.past:
            self._broken("joined", f"{tags} are not of the past, or were not to be joined")
        if seqs != list(range(seqs[0], seqs[-1] + 1)) or seq not in {0, seqs[-1]}:
            self._broken("joined", f"{seqs} have something between them, or were numbered {seq}")

    def _saw(self, account: Account, tag: int) -> None:
        if tag in account.seen:
            self._broken("double", f"update {tag}")
        if account.tags and self._seq_of_tag[tag] < self._seq_of_tag[account.tags[-1]]:
            self._broken("disorder", f"update {tag} after {account.tags[-1]}")
        account.seen.add(tag)
        account.tags.append(tag)

    def _answered(self, viewer: Viewer, account: Account, frame: dict[str, Any]) -> None:
        if self._is_refusal(frame):
            return  # each time that it is asked for
        account.answers[frame["id"]] += 1
        request = b"%d" % frame["id"]
        for seq, (kind, _, about) in self._truth.items():
            if kind is LogKind.END and about[:2] == (viewer.id, request):
                self._nothing_is_missing(viewer, account, seq)

    @staticmethod
    def _is_refusal(frame: dict[str, Any]) -> bool:
        data = frame.get("error", {}).get("data", {})
        return data.get("agent_error", {}).get("origin") == "lastword"

    def _nothing_is_missing(self, viewer: Viewer, account: Account, before: int) -> None:
        """An answer comes after the entries before it."""
        for seq, (kind, tag, _) in self._truth.items():
            if kind is LogKind.OUT and seq < before and tag not in account.seen:
                if any(first <= seq <= last for first, last in account.gaps):
                    continue
                if viewer.replay or seq >= self._first:
                    self._broken("V5", f"{viewer.id} has an answer at {before} and not {seq}")

    def reached_agent(self, tag: int) -> None:
        self._reached[tag] += 1
        if self._reached[tag] > 1:
            self._broken("double", f"prompt {tag} reached the agent twice")

    def asked(self, number: int) -> None:
        self._asks[number] = 0

    def agent_was_answered(self, number: int) -> None:
        self._asks[number] += 1
        if self._asks[number] > 1:
            self._broken("V7", f"the agent's question {number} was answered twice")

    def agent_died(self) -> None:
        """Nothing that it asked will be answered."""
        self._dead_asks |= self._asks.keys()

    def rests(self, viewer: Viewer, position: int, head: int, unanswered: set[int]) -> None:
        account = self._accounts[viewer.id]
        if position != head:
            self._broken("V9", f"{viewer.id} stands at {position} of {head}")
        if unanswered:
            self._broken("unanswered", f"{viewer.id} waits for {sorted(unanswered)}")
        for seq, (kind, tag, _) in self._truth.items():
            if kind is not LogKind.OUT or tag in account.seen:
                continue
            if any(first <= seq <= last for first, last in account.gaps):
                continue
            self._broken("untold" if seq < self._first else "lost", f"{viewer.id}: update {tag}")
        for request, count in account.answers.items():
            if count > 1:
                self._broken("double", f"{viewer.id} has {count} answers to {request}")

    def is_over(self) -> None:
        """Nobody is there any more, and what waited for somebody has waited long enough."""
        ends = Counter(about[2] for kind, _, about in self._truth.values() if kind is LogKind.END)
        for kind, _, about in self._truth.values():
            if kind is LogKind.IN and about[2] and ends[about[2]] != 1:
                self._broken("V6", f"request {about[2]} has {ends[about[2]]} ends")
        for number, count in self._asks.items():
            if count != 1 and number not in self._dead_asks:
                self._broken("V7", f"the agent's question {number} has {count} answers")


def tag_of(frame: bytes) -> int:
    """The number of an agent's update, or of a prompt; 0 for another frame."""
    found = _TAG_IN_FRAME.search(frame)
    return int(found[1] or found[2]) if found else 0


def tags_in(frame: dict[str, Any]) -> list[int]:
    """The updates of the agent's that a frame tells, by their tags."""
    update = frame.get("params", {}).get("update")
    if update is None:
        return []
    tag = update.get("tag")
    if tag is not None:
        return [tag]
    text = update.get("content", {}).get("text", "") if "content" in update else ""
    return [int(found) for found in _TAG.findall(text)] if text[:1] == "<" else []


def _gap(frame: dict[str, Any]) -> tuple[int, int] | None:
    params = frame["params"]
    if frame["method"] == "_lastword/gap":
        return params["from"], params["to"]
    told = params.get("update", {}).get("_meta", {}).get("lastword", {}).get("gap")
    return (told["from"], told["to"]) if told else None
