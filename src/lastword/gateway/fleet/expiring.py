"""Records in a bucket of JetStream's key-value store, which may expire.

Owns their creation, of which exactly one succeeds, their renewal, and their end. They are published
as messages of the bucket's stream: nats-py's `update` loses a record's time to live, which then
lasts for ever, and its `create` takes the server's mark of an expired record for a record.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Generic, NamedTuple

from lastword.gateway.fleet.errors import FencedError, RefusedError
from lastword.gateway.fleet.records import InvalidRecordError, RecordT

if TYPE_CHECKING:
    from collections.abc import Collection

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.records import Records

TTL = "Nats-TTL"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
OPERATION = "KV-Operation"
MARKER = "Nats-Marker-Reason"
NO_MESSAGE = 10037

MARK_SECONDS = 300
"""How long the mark of a record's end is kept: a node that was away for longer reads all anew."""

MAX_UNSETTLED = 8


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
            seconds: How long a record lives that is not renewed; 0 for ever.
            replaces_invalid: A record that no node of this fleet has written is in nobody's way.
        """
        self._broker = broker
        self._form = form
        self._records = records
        self._ttl = {TTL: f"{seconds:.0f}s"} if seconds else {}
        self._replaces_invalid = replaces_invalid
        self._unsettled: dict[str, list[bytes]] = {}
        """What may have been stored of a record since its last known revision."""
        self.name: str = name

    @property
    def stream(self) -> str:
        """Return the name of its stream."""
        return stream_of(self.name)

    def subject(self, name: str) -> str:
        """Return the subject of a record; that of all for `>`."""
        return f"$KV.{self.name}.{name}"

    def decode(self, name: str, data: bytes) -> RecordT:
        """Return the record that a message has.

        Raises:
            InvalidRecordError: It has none of a node of this fleet.
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

        No other process may create the same record: by its content it is known as one's own if
        the answer was lost.

        Raises:
            FencedError: There is one already.
            FleetError: It was not stored, or that is not known.
        """
        return await self._replace(name, record, 0, is_new=True)

    async def renew(self, name: str, record: RecordT, revision: int) -> int:
        """Store a record in place of a revision, to live as long again; return the new revision.

        Raises:
            FencedError: The record has another revision, or is gone.
            FleetError: It was not stored, or that is not known.
        """
        return await self._replace(name, record, revision, is_new=False)

    async def put(self, name: str, record: RecordT) -> int:
        """Store a record, whatever is there; return its revision.

        Raises:
            FleetError: It was not stored, or that is not known.
        """
        data = self._records.encode(self.name, name, record)
        return await self._broker.store(self.subject(name), data, self._ttl)

    async def delete(self, name: str, revision: int = 0) -> None:
        """Delete a record; with a revision, only that one.

        Raises:
            FencedError: The record has another revision.
            FleetError: It was not deleted, or that is not known.
        """
        self._unsettled.pop(name, None)
        expected = {EXPECTED: str(revision)} if revision else {}
        headers = {OPERATION: "DEL", TTL: f"{MARK_SECONDS}s", **expected}
        await self._broker.store(self.subject(name), b"", headers)

    async def _replace(self, name: str, record: RecordT, revision: int, *, is_new: bool) -> int:
        data = self._records.encode(self.name, name, record)
        sent = self._unsettled.setdefault(name, [])
        sent.append(data)
        del sent[:-MAX_UNSETTLED]
        while True:
            headers = {EXPECTED: str(revision), **self._ttl}
            try:
                revision = await self._broker.store(self.subject(name), data, headers)
            except FencedError:
                last = await self._last(name)
                if last.is_record and last.data == data:
                    revision = last.revision
                elif last.revision != revision and self._follows(name, last, sent, is_new=is_new):
                    revision = last.revision
                    continue
                else:
                    self._unsettled.pop(name, None)
                    raise
            self._unsettled.pop(name, None)
            return revision

    def _follows(self, name: str, last: _Last, sent: list[bytes], *, is_new: bool) -> bool:
        """Return whether a record may be stored after a message: a mark, or one's own."""
        if not last.is_record:
            return is_new
        return last.data in sent or (
            is_new and self._replaces_invalid and not self._is_valid(name, last.data)
        )

    def _is_valid(self, name: str, data: bytes) -> bool:
        try:
            self.decode(name, data)
        except InvalidRecordError:
            return False
        return True

    async def _last(self, name: str) -> _Last:
        request = {"last_by_subj": self.subject(name)}
        try:
            answer = await self._broker.call(f"STREAM.MSG.GET.{self.stream}", request)
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
