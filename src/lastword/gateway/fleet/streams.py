"""Replicas of sessions on NATS JetStream.

Owns the requests, which follow the server's API directly: its Python client cannot read many
messages at once, nor store several in one step. `stream_messages` has the format.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections import OrderedDict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
import nats.errors

from lastword.gateway import wire
from lastword.gateway.fleet.broker import ANSWER_SECONDS, NOT_FOUND
from lastword.gateway.fleet.errors import FleetError, NotStoredError, RefusedError
from lastword.gateway.fleet.replica import (
    BATCH_BYTES,
    BATCH_ENTRIES,
    BUCKET_ENTRIES,
    EMPTY,
    StreamEnd,
)
from lastword.gateway.fleet.stream_messages import (
    SEQUENCE,
    SUBJECT,
    BatchAssembly,
    StoredMessage,
    Subjects,
    batch_messages,
    claim_message,
    is_signed,
    signed,
    state_in,
)

if TYPE_CHECKING:
    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.replica import LogState, ReplicaBatch, StoredBatch

BYTES_A_SECOND = 4 * 1024 * 1024
"""A large batch, which goes to three disks, may take a second longer for each of these."""

POLL_SECONDS = 2.0
"""How often a stream is read without a wake, which may be lost."""

END_SECONDS = 1.0
"""How long reading the end of a stream may take; a stream without a leader does not answer."""

READ_MESSAGES = 512
"""Messages that one request reads."""

MAX_PLACES = 256
"""How many readers' places are remembered."""

ANSWERED, NO_MESSAGE = "204", "404"
"""Statuses: all messages were sent; there are none."""


class Streams:
    """The replicas in a fleet's streams, over one connection."""

    def __init__(self, broker: Broker, key: bytes) -> None:
        """Use the fleet's key for replicas."""
        self._broker = broker
        self._key = key
        self._places: OrderedDict[tuple[str, int], int] = OrderedDict()
        """Where a reader that has read up to an entry of a session continues."""

    async def last(self, session_id: str) -> StreamEnd:
        """Return the end of a session's stream; `EMPTY` if it has no message.

        Raises:
            FleetError: There is no answer, or the last message is not from a node of this fleet.
        """
        message = await self._last_message(Subjects.of(wire.name_of(session_id)))
        if message is None:
            return EMPTY
        lines = base64.b64decode(message.get("hdrs", "")).decode().splitlines()[1:]
        pairs = [line.partition(":") for line in lines]
        headers = {name: value.strip() for name, colon, value in pairs if colon}
        payload = base64.b64decode(message.get("data", ""))
        if not is_signed(self._key, message["subject"], headers, payload):
            raise FleetError("the end of the session's stream is not from a node of this fleet")
        return StoredMessage(message["seq"], headers, b"").end

    async def changed_at(self, name: str) -> float | None:
        """Return when the session whose files have a name was last written to.

        Returns:
            The server's time, in seconds since 1970 UTC; `None` if the stream has nothing of it.

        Raises:
            FleetError: There is no answer.
        """
        message = await self._last_message(Subjects.of(name))
        return datetime.fromisoformat(message["time"]).timestamp() if message is not None else None

    async def _last_message(self, subjects: Subjects) -> dict[str, Any] | None:
        """Return the last message of a session's stream, as the server that leads it has it."""
        request = {"last_by_subj": subjects.batches}
        try:
            answer = await self._broker.call(
                f"STREAM.MSG.GET.{subjects.stream}", request, seconds=END_SECONDS
            )
        except RefusedError as error:
            if error.code in NOT_FOUND:
                return None
            raise
        message: dict[str, Any] = answer["message"]
        return message

    async def claim(self, session_id: str, expected: StreamEnd, node: str) -> StreamEnd:
        """Begin the next term; return the new end.

        Raises:
            FencedError: The stream has another end.
            NotStoredError: It was not stored.
            OutcomeUnknownError: It may have been stored.
        """
        subjects = Subjects.of(wire.name_of(session_id))
        message = claim_message(subjects, expected, node)
        sequence = await self._broker.store(*signed(self._key, message))
        return StoredMessage(sequence, message.headers, b"").end

    async def publish(self, session_id: str, batch: ReplicaBatch, after: StreamEnd) -> StreamEnd:
        """Store a batch; return the stream's new end.

        Raises:
            FencedError: The stream has another end.
            NotStoredError: It was not stored.
            OutcomeUnknownError: It may have been stored.
        """
        subjects = Subjects.of(wire.name_of(session_id))
        messages = [signed(self._key, each) for each in batch_messages(subjects, batch, after)]
        size = sum(len(message.payload) for message in messages)
        *before, last = messages
        try:
            for message in before:
                await self._broker.publish(
                    message.subject, message.payload, headers=message.headers
                )
        except (nats.errors.Error, OSError) as error:
            raise NotStoredError("the connection to the NATS server was lost") from error
        seconds = ANSWER_SECONDS + size / BYTES_A_SECOND
        sequence = await self._broker.store(*last, seconds=seconds)  # all of them, in one step
        if not batch.entries:
            return after
        end = StoredMessage(sequence, last.headers, b"").end
        wake = msgspec.json.encode({"last": end.last, "term": end.term})
        with contextlib.suppress(nats.errors.Error):  # readers also poll
            await self._broker.publish(subjects.wake, wake)
        return end

    # Reading.

    async def read(
        self, session_id: str, after: int, *, max_bytes: int = BATCH_BYTES
    ) -> list[StoredBatch]:
        """Return the oldest batches with entries after a number, in the order of the stream.

        Raises:
            FleetError: There is no answer.
        """
        name = wire.name_of(session_id)
        subjects = Subjects.of(name)
        # Begin at or before the batch with the entry after `after`.
        sequence = self._places.get((name, after), 1)
        earliest = after + 1 - BATCH_ENTRIES  # where a batch with that entry begins at the earliest
        if (name, after) not in self._places and earliest >= BUCKET_ENTRIES:
            bucket = await self._messages(subjects, subjects.bucket(earliest), 1, 1)
            sequence = bucket[0].sequence if bucket else 1
        assembly = BatchAssembly()
        batches: list[StoredBatch] = []
        while not batches or not assembly.is_complete:
            messages = await self._messages(subjects, subjects.batches, sequence, max_bytes)
            if not messages:
                break
            batches += assembly.completed(messages, after)
            sequence = messages[-1].sequence + 1
        if batches:
            end = batches[-1].end
            self._places[name, end.last] = end.sequence + 1
            if len(self._places) > MAX_PLACES:
                self._places.popitem(last=False)
        return batches

    async def state(self, session_id: str) -> LogState | None:
        """Return the last state that was stored; `None` if there is none.

        Raises:
            FleetError: There is no answer.
        """
        subjects = Subjects.of(wire.name_of(session_id))
        messages: list[StoredMessage] = []
        while more := await self._messages(
            subjects, subjects.state, messages[-1].sequence + 1 if messages else 1, BATCH_BYTES
        ):
            messages += more
        return state_in(messages)

    async def _messages(
        self, subjects: Subjects, subject: str, sequence: int, max_bytes: int
    ) -> list[StoredMessage]:
        """Return messages of a subject from a number in the stream, as any server has them.

        A message that is not from a node of this fleet is returned without its content.
        """
        request = {"seq": sequence, "next_by_subj": subject}
        bounds = {"batch": READ_MESSAGES, "max_bytes": max_bytes}
        inbox = self._broker.new_inbox()
        messages: list[StoredMessage] = []
        try:
            replies = await self._broker.subscribe(inbox)
            try:
                await self._broker.publish(
                    f"$JS.API.DIRECT.GET.{subjects.stream}",
                    msgspec.json.encode(request | bounds),
                    reply=inbox,
                )
                while True:
                    reply = await replies.next_msg(timeout=ANSWER_SECONDS)
                    headers = reply.headers or {}
                    status = headers.get("Status")
                    if status in {ANSWERED, NO_MESSAGE}:
                        return messages
                    if status is not None:
                        reason = f"{status} {headers.get('Description', '')}"
                        raise FleetError(f"the NATS server cannot read the stream ({reason})")
                    message = StoredMessage(int(headers[SEQUENCE]), headers, reply.data)
                    if not is_signed(self._key, headers.get(SUBJECT, ""), headers, reply.data):
                        message = StoredMessage(message.sequence, {}, b"")
                    messages.append(message)
            finally:
                await replies.unsubscribe()
        except (nats.errors.Error, OSError) as error:
            raise FleetError("the NATS server does not answer") from error

    # What is dropped.

    async def trim(self, session_id: str, before: int) -> None:
        """Drop the entries before a number, in whole buckets.

        Raises:
            FleetError: There is no answer.
        """
        subjects = Subjects.of(wire.name_of(session_id))
        first = await self._messages(subjects, subjects.bucket(before), 1, 1)
        if first:
            await self._purge(subjects, subjects.batches, first[0].sequence)

    async def forget(self, name: str) -> None:
        """Drop everything of the session whose files have a name.

        Raises:
            FleetError: There is no answer.
        """
        subjects = Subjects.of(name)
        for subject in (subjects.state, subjects.batches):
            await self._purge(subjects, subject, 0)
        for reader in [reader for reader in self._places if reader[0] == name]:
            del self._places[reader]

    async def _purge(self, subjects: Subjects, subject: str, before: int) -> None:
        bound = {"seq": before} if before else {}
        await self._broker.call(f"STREAM.PURGE.{subjects.stream}", {"filter": subject} | bound)

    # Waiting.

    async def wait(self, session_id: str, after: int, seconds: float) -> bool:
        """Wait until a stream has an entry after a number; return whether it has one.

        Raises:
            FleetError: There is no answer.
        """
        subjects = Subjects.of(wire.name_of(session_id))
        until = asyncio.get_running_loop().time() + seconds
        try:
            wakes = await self._broker.subscribe(subjects.wake)
        except nats.errors.Error as error:
            raise FleetError("the NATS server does not answer") from error
        try:
            while (await self.last(session_id)).last <= after:
                rest = until - asyncio.get_running_loop().time()
                if rest <= 0:
                    return False
                with contextlib.suppress(nats.errors.TimeoutError):
                    await wakes.next_msg(timeout=min(rest, POLL_SECONDS))
            return True
        finally:
            with contextlib.suppress(nats.errors.Error):
                await wakes.unsubscribe()
