"""What has to hold for a session of a fleet, whatever its nodes, its broker and its viewers do.

Owns the promises: nothing is shown, and nothing done by an agent, before it is in the stream
(`unreplicated`); terms ascend along the stream (`terms`), and no entry is replaced by another one
(`mixed`); no update is shown twice (`double`) or out of order (`disorder`); every viewer comes to
have what the log has (`lost`), and an answer to each request (`unanswered`); a prompt reaches one
agent (`double`); the session has an owner again in time (`late`). Questions are the gateway's.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lastword.gateway.log.entries import LogKind
from tests.kit.gateway.referee import tag_of, tags_in
from tests.kit.simulation.ledger import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.fleet.replica import ReplicaBatch, StoredBatch, StreamEnd
    from lastword.gateway.log.entries import LogEntry, Numbered

FLEET_PROMISES = (
    *("lost", "double", "disorder", "unanswered"),
    *("unreplicated", "terms", "mixed", "late"),
)


class Account:
    """What one viewer has applied since it began with the oldest entry."""

    def __init__(self) -> None:
        self.tags: list[int] = []
        self.last_seq = 0


class FleetReferee:
    def __init__(self) -> None:
        self._stream: dict[int, LogEntry] = {}
        """What a reader of the stream has, by number."""
        self._stored_tags: set[int] = set()
        self._accounts: dict[str, Account] = {}
        self._prompts: Counter[int] = Counter()
        self._answers: Counter[tuple[str, int]] = Counter()
        self._has_lost_tail = False
        self._alone: set[int] = set()
        """Tags of what was shown without a broker, as the user wanted."""
        self.is_excused = False
        """The broker has lost what its owner had the last copy of: no new owner can know of it."""

    @staticmethod
    def broken(promise: str, said: str) -> None:
        raise BrokenPromiseError(promise, said)

    # The stream.

    def stored(self, batch: ReplicaBatch, before: StreamEnd, end: StreamEnd) -> None:
        if end.term < before.term and not self._has_lost_tail:
            self.broken("terms", f"{end.term} of {end.node} follows {before.term} of {before.node}")
        replaced = [seq for seq in self._stream if seq >= batch.first] if batch.entries else []
        for seq in replaced:
            del self._stream[seq]
            if not self._has_lost_tail:
                self.broken("mixed", f"{seq} was stored, and is replaced")
        for seq, entry in enumerate(batch.entries, batch.first):
            self._stream[seq] = entry
            self._stored_tags.add(tag_of(entry.frame))

    def claimed(self, before: StreamEnd, end: StreamEnd) -> None:
        if end.term <= before.term:
            self.broken("terms", f"the claim of {end.term} follows {before.term}")

    def lost_tail(self, messages: Sequence[StoredBatch]) -> None:
        self._has_lost_tail = True
        self._stream = {
            seq: entry
            for message in messages
            for seq, entry in enumerate(message.entries, message.first)
        }

    @property
    def stream(self) -> list[LogEntry]:
        return [self._stream[seq] for seq in sorted(self._stream)]

    def lost_copy(self, *, is_last: bool) -> None:
        """An owner has died; what the stream has not, or has otherwise, is gone with its file."""
        if self._has_lost_tail and not is_last:
            self.is_excused = True

    # Owners.

    def visible(self, node: str, first: int, entries: Sequence[LogEntry], is_without: bool) -> None:
        for seq, entry in enumerate(entries, first):
            if is_without:
                self._alone.add(tag_of(entry.frame))
            elif self._stream.get(seq) != entry and not self._has_lost_tail:
                self.broken("unreplicated", f"{node} shows {seq}, which is not in the stream")

    def _is_stored(self, tag: int) -> bool:
        return not tag or tag in self._stored_tags or tag in self._alone

    def reached_agent(self, tag: int, node: str) -> None:
        self._prompts[tag] += 1
        if self._prompts[tag] > 1 and not self._has_lost_tail and tag not in self._alone:
            self.broken("double", f"prompt {tag} reached an agent again, at {node}")
        if not self._is_stored(tag):
            self.broken("unreplicated", f"prompt {tag} reached the agent of {node}")

    # Viewers.

    def begins_again(self, viewer: str) -> None:
        """A viewer will have everything from the oldest entry on."""
        self._accounts[viewer] = Account()

    def sent(self, frames: Sequence[dict[str, Any]]) -> None:
        for frame in frames:
            for tag in tags_in(frame):
                if not self._is_stored(tag):
                    self.broken("unreplicated", f"update {tag} was sent")

    def applied(self, viewer: str, frame: dict[str, Any]) -> int:
        account = self._accounts[viewer]
        if "method" not in frame:
            return 0
        seq: int = frame["params"].get("_meta", {}).get("lastword", {}).get("seq", 0)
        for tag in tags_in(frame):
            if tag in account.tags:
                self.broken("double", f"{viewer} has update {tag} again")
            account.tags.append(tag)
            if seq and seq < account.last_seq:
                self.broken("disorder", f"{viewer} has {seq} after {account.last_seq}")
        account.last_seq = max(account.last_seq, seq)
        return seq

    def answered(self, viewer: str, request: int, sent: int) -> None:
        self._answers[viewer, request] += 1
        if self._answers[viewer, request] > sent:
            self.broken("double", f"{viewer} has more answers to {request} than it has asked")

    def rests(self, viewer: str, log: Sequence[Numbered], unanswered: set[int]) -> None:
        """Everything has come to rest; this is the log."""
        expected = [
            tag_of(entry.frame) for _, entry in log if entry.kind is LogKind.OUT and entry.frame
        ]
        tags = self._accounts[viewer].tags
        if tags != expected and self.is_excused:
            return
        if tags != expected:
            missing = [tag for tag in expected if tag not in tags]
            more = [tag for tag in tags if tag not in expected]
            self.broken("lost", f"{viewer} misses {missing} and has {more}, which the log has not")
        if unanswered:
            self.broken("unanswered", f"{viewer} waits for {sorted(unanswered)}")
