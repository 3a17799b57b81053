"""Messages of sessions' streams: their subjects, headers and payloads.

Owns the format. A batch is one message or, where it is large or has a state, several messages that
the broker stores in one step. The writer's fence stands on the first of them. Sans-IO: `streams`
sends and receives.

A session's messages have the subjects `lw.K.s.NAME.BUCKET`, its state has `lw.K.p.NAME`, both in
stream `LWK`. K is the session's share of the streams, NAME the name of its log's file, BUCKET the
number of the batch's first entry divided by `BUCKET_ENTRIES`. `lwh.NAME` wakes readers that wait
for entries; it is in no stream, since subscribers would see refused messages too.

Each message has a code that only a node can make, since it needs the fleet's key: an agent is
restored from a stream's content. The code also covers the subject, so that no message passes for
one of another session.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lastword.gateway.fleet.replica import BUCKET_ENTRIES, LogState, StoredBatch, StreamEnd
from lastword.gateway.log.entries import LogEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lastword.gateway.fleet.replica import ReplicaBatch

STREAMS = 16
"""The number of streams that all sessions share."""

PART_BYTES = 512 * 1024
"""The largest payload: a server's default limit is 1 MiB, headers included."""

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_OF = "Nats-Expected-Last-Subject-Sequence-Subject"
ROLLUP = "Nats-Rollup"
BATCH_ID, BATCH_SEQUENCE, BATCH_COMMIT = (
    "Nats-Batch-Id",
    "Nats-Batch-Sequence",
    "Nats-Batch-Commit",
)
SEQUENCE, SUBJECT = "Nats-Sequence", "Nats-Subject"
"""The broker's headers."""

FIRST, LAST, TERM, EPOCH, NODE, PART, PARTS = (
    "LW-First",
    "LW-Last",
    "LW-Term",
    "LW-Epoch",
    "LW-Node",
    "LW-Part",
    "LW-Parts",
)
"""Headers of a batch; a claim has all but the last two."""

CODE = "LW-Code"
_SIGNED = (FIRST, LAST, TERM, EPOCH, NODE, PART, PARTS)

_encoder = msgspec.msgpack.Encoder()
_entries_of = msgspec.msgpack.Decoder(list[LogEntry])
_state_of = msgspec.msgpack.Decoder(LogState)


class StreamMessage(NamedTuple):
    """A message to be stored."""

    subject: str
    payload: bytes
    headers: dict[str, str]


class StoredMessage(NamedTuple):
    """A message as it was read, with its number in the stream."""

    sequence: int
    headers: Mapping[str, str]
    payload: bytes

    @property
    def end(self) -> StreamEnd:
        """Return the end of the session's stream behind this message.

        Raises:
            ValueError: The message has no such format.
        """
        headers = self.headers
        return StreamEnd(
            sequence=self.sequence,
            term=int(headers.get(TERM, "")),
            node=headers.get(NODE, ""),
            epoch=headers.get(EPOCH, ""),
            last=int(headers.get(LAST, "")),
        )


def signed(key: bytes, message: StreamMessage) -> StreamMessage:
    """Return a message with its code."""
    code = _code(key, message.subject, message.headers, message.payload)
    return message._replace(headers=message.headers | {CODE: code})


def is_signed(key: bytes, subject: str, headers: Mapping[str, str], payload: bytes) -> bool:
    """Return whether a message is from a node of this fleet."""
    received = headers.get(CODE, "").encode()
    return hmac.compare_digest(received, _code(key, subject, headers, payload).encode())


def _code(key: bytes, subject: str, headers: Mapping[str, str], payload: bytes) -> str:
    facts = "\n".join((subject, *(headers.get(name, "") for name in _SIGNED)))
    code = hmac.new(key, facts.encode() + b"\0", "sha256")
    code.update(payload)
    return code.hexdigest()


class Subjects(NamedTuple):
    """The stream and the subjects of a session.

    Attributes:
        stream: the stream's name.
        batches: all its batches and claims.
        state: its state.
        wake: where readers that wait for entries are woken.
    """

    stream: str
    batches: str
    state: str
    wake: str

    @classmethod
    def of(cls, name: str) -> Subjects:
        """Return those of the session whose files have this name."""
        share = int(name, 16) % STREAMS
        return cls(f"LW{share}", f"lw.{share}.s.{name}.*", f"lw.{share}.p.{name}", f"lwh.{name}")

    def bucket(self, seq: int) -> str:
        """Return the subject of the batches that begin in the bucket of an entry."""
        return f"{self.batches[:-1]}{seq // BUCKET_ENTRIES}"


def claim_message(subjects: Subjects, expected: StreamEnd, node: str) -> StreamMessage:
    """Return the claim of the next term after an end of the stream."""
    claimed = msgspec.structs.replace(expected, term=expected.term + 1, node=node)
    headers = _fence(subjects, expected) | _facts(claimed, expected.last + 1, expected.epoch)
    return StreamMessage(subjects.bucket(expected.last + 1), b"", headers)


def batch_messages(
    subjects: Subjects, batch: ReplicaBatch, after: StreamEnd
) -> list[StreamMessage]:
    """Return the messages of a batch that is to follow an end of the stream."""
    end = msgspec.structs.replace(after, last=batch.last)
    facts = _facts(end, batch.first, batch.epoch)
    messages: list[StreamMessage] = []
    if batch.state is not None:
        messages += _parts(subjects.state, facts, _encoder.encode(batch.state))
        messages[0].headers[ROLLUP] = "sub"
    if batch.entries:
        payload = _encoder.encode(batch.entries)
        messages += _parts(subjects.bucket(batch.first), facts, payload)
    messages[0].headers.update(_fence(subjects, after))
    if len(messages) > 1:
        batch_id = secrets.token_hex(8)
        for number, message in enumerate(messages, 1):
            message.headers[BATCH_ID] = batch_id
            message.headers[BATCH_SEQUENCE] = str(number)
        messages[-1].headers[BATCH_COMMIT] = "1"
    return messages


def _fence(subjects: Subjects, expected: StreamEnd) -> dict[str, str]:
    return {EXPECTED: str(expected.sequence), EXPECTED_OF: subjects.batches}


def _facts(end: StreamEnd, first: int, epoch: str) -> dict[str, str]:
    numbers = {FIRST: first, LAST: end.last, TERM: end.term}
    texts = {name: str(number) for name, number in numbers.items()}
    return texts | {EPOCH: epoch, NODE: end.node}


def _parts(subject: str, facts: dict[str, str], payload: bytes) -> list[StreamMessage]:
    pieces = [payload[at : at + PART_BYTES] for at in range(0, len(payload), PART_BYTES)]
    if len(pieces) == 1:
        return [StreamMessage(subject, payload, dict(facts))]
    return [
        StreamMessage(subject, piece, facts | {PART: str(number), PARTS: str(len(pieces))})
        for number, piece in enumerate(pieces, 1)
    ]


class Assembly:
    """Joins the parts of messages of one subject, in their order."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    @property
    def is_complete(self) -> bool:
        """Whether the last message was the last part of something."""
        return not self._pieces

    def add(self, message: StoredMessage) -> bytes | None:
        """Receive a message; return the whole payload if this is its last part.

        Parts whose beginning was dropped are ignored.
        """
        number = int(message.headers.get(PART, "1"))
        count = int(message.headers.get(PARTS, "1"))
        if number == 1:
            self._pieces.clear()
        elif len(self._pieces) != number - 1:
            return None
        self._pieces.append(message.payload)
        if number < count:
            return None
        whole = b"".join(self._pieces)
        self._pieces.clear()
        return whole


class BatchAssembly(Assembly):
    """Joins messages of a session's stream to batches."""

    def completed(self, messages: Iterable[StoredMessage], after: int) -> list[StoredBatch]:
        """Return the batches that these messages complete, if they have entries after a number.

        A message that cannot be read counts as missing, as in a log's file.
        """
        batches: list[StoredBatch] = []
        for message in messages:
            try:
                whole, end = self.add(message), message.end
                if whole and end.last > after:
                    first = int(message.headers.get(FIRST, ""))
                    batches.append(StoredBatch(end, first, _entries_of.decode(whole)))
            except (ValueError, msgspec.MsgspecError):
                continue
        return batches


def state_in(messages: Iterable[StoredMessage]) -> LogState | None:
    """Return the last state in these messages; `None` if they have none."""
    assembly, state = Assembly(), None
    for message in messages:
        try:
            whole = assembly.add(message)
            state = _state_of.decode(whole) if whole else state
        except (ValueError, msgspec.MsgspecError):
            continue
    return state
