"""Records in a bucket of JetStream's key-value store, which may expire, and their mirror at a node.

Owns their creation, which succeeds for exactly one process, their renewal, and their end. They are
published as messages of the bucket's stream: nats-py's `update` loses a record's time to live, so
that it lasts for ever, and its `create` takes the server's mark of an expired record for a record.

A mirror follows a bucket by an ephemeral consumer, which has no state worth keeping: after a gap, a
silence, a lost connection or a change of the servers' leader, the next one begins with all records,
and what is not among them is gone. nats-py's `watch` would continue after the last record, tries to
once only, and does not notice that its connection has ended. Without a connection, the records stay
as they were.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import TYPE_CHECKING, Generic, NamedTuple

import nats.errors

from lastword.gateway.fleet.broker import ANSWER_SECONDS
from lastword.gateway.fleet.errors import (
    FencedError,
    FleetError,
    NotStoredError,
    OutcomeUnknownError,
    RefusedError,
)
from lastword.gateway.fleet.records import InvalidRecordError, RecordT
from lastword.platform.identity import roll, run_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nats.aio.msg import Msg

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.records import Records

TTL = "Nats-TTL"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
OPERATION = "KV-Operation"
MARKER = "Nats-Marker-Reason"
NO_MESSAGE = 10037

MARK_SECONDS = 300
"""How long the mark of a record's end is kept: a node that was away for longer reads all anew."""

MAX_UNSETTLED = 32

HEARTBEAT_SECONDS = 2
SILENCE_SECONDS = 3 * HEARTBEAT_SECONDS
"""After this long without a record and without a heartbeat, a consumer is given up."""

RETRY_SECONDS = 0.5
LOOK_SECONDS = 0.05
NANOSECONDS = 1_000_000_000

LAST_CONSUMED = "Nats-Last-Consumer"
STALLED = "Nats-Consumer-Stalled"


class StoredRecord(NamedTuple, Generic[RecordT]):
    """A record as its bucket has it, and the revision by which it is replaced."""

    record: RecordT
    revision: int


class _Last(NamedTuple):
    """The last message of a record's subject, which may be a mark of the record's end."""

    data: bytes = b""
    revision: int = 0
    is_record: bool = False


class Bucket(Generic[RecordT]):
    """A bucket."""

    def __init__(  # noqa: PLR0913 - what a bucket is
        self,
        broker: Broker,
        name: str,
        form: type[RecordT],
        records: Records,
        seconds: float = 0.0,
        *,
        replaces_invalid: bool = False,
    ) -> None:
        """Use a bucket.

        Args:
            broker: The connection.
            name: The bucket's name.
            form: What its records are.
            records: Reads and writes them.
            seconds: How long a record lives without being renewed; 0 for ever.
            replaces_invalid: Whether `create` may replace a record that no node of this fleet
                has written.
        """
        self.broker: Broker = broker
        self._form = form
        self._records = records
        self._ttl = {TTL: f"{seconds:.0f}s"} if seconds else {}
        self._replaces_invalid = replaces_invalid
        self._unsettled: dict[str, list[bytes]] = {}
        """By name, what may have been stored since the record's last known revision."""
        self.name: str = name

    @property
    def stream(self) -> str:
        """Return the name of its stream."""
        return stream_of(self.name)

    def subject(self, name: str) -> str:
        """Return the subject of a record, or that of all records for `>`."""
        return f"$KV.{self.name}.{name}"

    def decode(self, name: str, data: bytes) -> RecordT:
        """Return the record in a message.

        Raises:
            InvalidRecordError: It is not from a node of this fleet.
        """
        return self._records.decode(self.name, name, data, self._form)

    async def read(self, name: str) -> StoredRecord[RecordT] | None:
        """Return a record, from the server that leads its stream; `None` if there is none.

        Raises:
            FleetError: There is no answer.
        """
        last = await self._last(name)
        if not last.is_record:
            return None
        try:
            return StoredRecord(self.decode(name, last.data), last.revision)
        except InvalidRecordError:
            return None

    async def create(self, name: str, record: RecordT) -> int:
        """Create a record that is not there; return its revision.

        No two processes may create the same record: if the answer was lost, its content shows
        whose it is.

        Raises:
            FencedError: There is one already.
            FleetError: It was not stored, or it is not known whether it was.
        """
        return await self._replace(name, record, 0, is_new=True)

    async def renew(self, name: str, record: RecordT, revision: int) -> int:
        """Replace a revision of a record, which then lives as long again; return the new revision.

        Raises:
            FencedError: The record has another revision, or is gone.
            FleetError: It was not stored, or it is not known whether it was.
        """
        return await self._replace(name, record, revision, is_new=False)

    async def put(self, name: str, record: RecordT) -> int:
        """Store a record, whatever is there; return its revision.

        Raises:
            FleetError: It was not stored, or it is not known whether it was.
        """
        data = self._records.encode(self.name, name, record)
        return await self.broker.store(self.subject(name), data, self._ttl)

    async def delete(self, name: str, revision: int = 0) -> None:
        """Delete a record; with a revision, only that one.

        Raises:
            FencedError: The record has another revision.
            FleetError: It was not deleted, or it is not known whether it was.
        """
        self._unsettled.pop(name, None)
        expected = {EXPECTED: str(revision)} if revision else {}
        headers = {OPERATION: "DEL", TTL: f"{MARK_SECONDS}s", **expected}
        await self.broker.store(self.subject(name), b"", headers)

    async def _replace(self, name: str, record: RecordT, revision: int, *, is_new: bool) -> int:
        data = self._records.encode(self.name, name, record)
        sent = self._unsettled.setdefault(name, [])
        sent.append(data)
        del sent[:-MAX_UNSETTLED]
        loop = asyncio.get_running_loop()
        until = loop.time() + ANSWER_SECONDS
        while True:
            headers = {EXPECTED: str(revision), **self._ttl}
            try:
                revision = await self.broker.store(self.subject(name), data, headers)
            except FencedError:
                last = await self._last(name)
                if last.is_record and last.data == data:
                    revision = last.revision
                elif last.revision == revision:
                    # Another message is about to be stored, which may be an earlier one of ours:
                    # servers that are too few, or slow, have it and cannot store it yet.
                    if loop.time() > until:
                        sent.remove(data)
                        raise OutcomeUnknownError("another message may be stored yet") from None
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
                elif self._follows(name, last, sent, is_new=is_new):
                    revision = last.revision
                    continue
                else:
                    self._unsettled.pop(name, None)
                    raise
            except NotStoredError:
                sent.remove(data)
                raise
            self._unsettled.pop(name, None)
            return revision

    def _follows(self, name: str, last: _Last, sent: list[bytes], *, is_new: bool) -> bool:
        """Return whether a record may replace the last message: the mark of an end, or our own."""
        if not last.is_record:
            return is_new
        if last.data in sent:
            return True
        if is_new and self._replaces_invalid:
            try:
                self.decode(name, last.data)
            except InvalidRecordError:
                return True
        return False

    async def _last(self, name: str) -> _Last:
        request = {"last_by_subj": self.subject(name)}
        try:
            answer = await self.broker.call(f"STREAM.MSG.GET.{self.stream}", request)
        except RefusedError as error:
            if error.code != NO_MESSAGE:
                raise
            return _Last()
        message = answer["message"]
        headers = base64.b64decode(message.get("hdrs", "")).decode(errors="replace")
        names = {line.partition(":")[0] for line in headers.splitlines()[1:]}
        data = base64.b64decode(message.get("data", ""))
        return _Last(data, int(message["seq"]), is_record(names))


def stream_of(bucket: str) -> str:
    """Return the name of a bucket's stream."""
    return f"KV_{bucket}"


def is_record(headers: Collection[str]) -> bool:
    """Return whether a message with these headers is a record, and not a mark of its end."""
    return OPERATION not in headers and MARKER not in headers


class _GapError(Exception):
    """Something was missed; all is read again."""


class Mirror(Generic[RecordT]):
    """The records of a bucket.

    Attributes:
        records: the records, by their names.
    """

    def __init__(self, bucket: Bucket[RecordT]) -> None:
        self._broker = bucket.broker
        self._bucket = bucket
        self._listeners: list[Callable[[str, RecordT | None], None]] = []
        self._complete = asyncio.Event()
        self.records: dict[str, RecordT] = {}

    def listen(self, listener: Callable[[str, RecordT | None], None]) -> None:
        """Call a function with each new or changed record, and with `None` for one that ends."""
        self._listeners.append(listener)

    async def complete(self) -> None:
        """Wait until all records are there."""
        await self._complete.wait()

    async def run(self) -> None:
        """Follow the bucket until it is cancelled."""
        while True:
            await self._broker.connected()
            with contextlib.suppress(FleetError, nats.errors.Error, _GapError, TimeoutError):
                await self._follow()
            await asyncio.sleep(RETRY_SECONDS * (1 + roll()))

    async def _follow(self) -> None:
        """Read all records and then each change, until something is missed."""
        stream, subject = self._bucket.stream, self._bucket.subject(">")
        name, inbox = f"lw-{run_id()}", self._broker.new_inbox()
        consumer = {
            "name": name,
            "deliver_subject": inbox,
            "deliver_policy": "last_per_subject",
            "filter_subject": subject,
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "idle_heartbeat": HEARTBEAT_SECONDS * NANOSECONDS,
            "flow_control": True,
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": SILENCE_SECONDS * NANOSECONDS,
        }
        messages: asyncio.Queue[Msg | None] = asyncio.Queue()

        def changed(is_connected: bool) -> None:  # noqa: FBT001 - a listener
            if not is_connected:
                messages.put_nowait(None)

        self._broker.listen(changed)
        subscription = await self._broker.subscribe(inbox, messages.put_nowait)
        try:
            answer = await self._broker.call(
                f"CONSUMER.CREATE.{stream}.{name}.{subject}",
                {"stream_name": stream, "config": consumer, "action": "create"},
            )
            await self._receive(messages, int(answer.get("num_pending", 0)))
        finally:
            self._broker.ignore(changed)
            with contextlib.suppress(nats.errors.Error):
                await subscription.unsubscribe()  # and the server forgets the consumer

    async def _receive(self, messages: asyncio.Queue[Msg | None], pending: int) -> None:
        """Apply what a consumer sends; `pending` records were stored before it began.

        Raises:
            _GapError: A message is missing, or the connection is lost.
            TimeoutError: No message came for `SILENCE_SECONDS`.
        """
        names: set[str] | None = set()
        count = 0
        is_all = not pending
        while True:
            if is_all and names is not None:
                for name in self.records.keys() - names:  # the bucket no longer has these
                    self._end(name)
                self._complete.set()
                names = None
            async with asyncio.timeout(SILENCE_SECONDS):
                message = await messages.get()
            if message is None:
                raise _GapError
            headers = message.headers or {}
            if "Status" in headers:
                if subject := message.reply or headers.get(STALLED):
                    await self._broker.publish(subject)  # without it, the server sends no more
                if int(headers.get(LAST_CONSUMED, count)) != count:
                    raise _GapError
                # A heartbeat comes when nothing else does.
                is_all = is_all or not (message.reply or STALLED in headers)
                continue
            count += 1
            if message.metadata.sequence.consumer != count:
                raise _GapError
            name = message.subject.removeprefix(self._bucket.subject(""))
            try:
                is_kept = is_record(message.headers or ())
                record = self._bucket.decode(name, message.data) if is_kept else None
            except InvalidRecordError:
                record = None
            if record is None:
                self._end(name)
            else:
                self.records[name] = record
                for listener in self._listeners:
                    listener(name, record)
            is_all = is_all or not message.metadata.num_pending
            if names is not None:
                names.add(name)

    def _end(self, name: str) -> None:
        if self.records.pop(name, None) is not None:
            for listener in self._listeners:
                listener(name, None)
