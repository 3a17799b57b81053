"""A bucket's records as each node has them in memory.

Owns one ephemeral consumer a bucket, which has no state worth keeping: after a gap, a silence, a
lost connection or a change of the servers' leader, the next one begins with all records, and what
is not among them is gone. Without a connection, the records stay as they were.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Generic

import nats.errors

from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.expiring import is_record
from lastword.gateway.fleet.records import InvalidRecordError, RecordT
from lastword.platform.identity import roll, run_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from nats.aio.msg import Msg

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.expiring import Bucket

HEARTBEAT_SECONDS = 2
SILENCE_SECONDS = 3 * HEARTBEAT_SECONDS
"""After this long without a record and without a heartbeat, a consumer is given up."""

RETRY_SECONDS = 0.5
NANOSECONDS = 1_000_000_000

LAST_CONSUMED = "Nats-Last-Consumer"
STALLED = "Nats-Consumer-Stalled"


class _GapError(Exception):
    """Something was missed; all is read again."""


class Mirror(Generic[RecordT]):
    """The records of a bucket.

    Attributes:
        records: the records, by their names.
    """

    def __init__(self, broker: Broker, bucket: Bucket[RecordT]) -> None:
        self._broker = broker
        self._bucket = bucket
        self._listeners: list[Callable[[str, RecordT | None], None]] = []
        self._complete = asyncio.Event()
        self.records: dict[str, RecordT] = {}

    def listen(self, listener: Callable[[str, RecordT | None], None]) -> None:
        """Call a function with each record that comes or changes, and `None` for one that ends."""
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
        inbox = self._broker.new_inbox()
        messages: asyncio.Queue[Msg | None] = asyncio.Queue()

        def changed(is_connected: bool) -> None:  # noqa: FBT001 - a listener
            if not is_connected:
                messages.put_nowait(None)

        self._broker.listen(changed)
        subscription = await self._broker.subscribe(inbox, messages.put_nowait)
        try:
            pending = await self._consume(inbox)
            await self._receive(messages, pending)
        finally:
            self._broker.ignore(changed)
            with contextlib.suppress(nats.errors.Error):
                await subscription.unsubscribe()  # and the server forgets the consumer

    async def _consume(self, inbox: str) -> int:
        """Make a consumer; return how many records it has to send."""
        name = f"lw-{run_id()}"
        config: dict[str, Any] = {
            "name": name,
            "deliver_subject": inbox,
            "deliver_policy": "last_per_subject",
            "filter_subject": self._bucket.subject(">"),
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "idle_heartbeat": HEARTBEAT_SECONDS * NANOSECONDS,
            "flow_control": True,
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": SILENCE_SECONDS * NANOSECONDS,
        }
        stream = self._bucket.stream
        answer = await self._broker.call(
            f"CONSUMER.CREATE.{stream}.{name}.{config['filter_subject']}",
            {"stream_name": stream, "config": config, "action": "create"},
        )
        return int(answer.get("num_pending", 0))

    async def _receive(self, messages: asyncio.Queue[Msg | None], pending: int) -> None:
        """Apply what a consumer sends.

        Raises:
            _GapError: Something of it is missing, or the connection is lost.
            TimeoutError: Nothing comes any more.
        """
        names: set[str] | None = set()
        count = 0
        is_all = not pending
        while True:
            if is_all and names is not None:
                self._reconcile(names)
                names = None
            async with asyncio.timeout(SILENCE_SECONDS):
                message = await messages.get()
            if message is None:
                raise _GapError
            headers = message.headers or {}
            if "Status" in headers:
                await self._answer(message)
                if int(headers.get(LAST_CONSUMED, count)) != count:
                    raise _GapError
                # A heartbeat comes when nothing else does.
                is_all = is_all or not (message.reply or STALLED in headers)
                continue
            count += 1
            place = message.metadata.sequence
            if place.consumer != count:
                raise _GapError
            name = message.subject.removeprefix(self._bucket.subject(""))
            self._apply(name, message)
            is_all = is_all or not message.metadata.num_pending
            if names is not None:
                names.add(name)

    async def _answer(self, status: Msg) -> None:
        """Let a server go on that waits to be read."""
        subject = status.reply or (status.headers or {}).get(STALLED)
        if subject:
            await self._broker.publish(subject)

    def _reconcile(self, names: set[str]) -> None:
        """End the records that the bucket has no more."""
        for name in self.records.keys() - names:
            self._end(name)
        self._complete.set()

    def _apply(self, name: str, message: Msg) -> None:
        try:
            if not is_record(message.headers or ()):
                self._end(name)
                return
            record = self._bucket.decode(name, message.data)
        except InvalidRecordError:
            self._end(name)
            return
        self.records[name] = record
        for listener in self._listeners:
            listener(name, record)

    def _end(self, name: str) -> None:
        if self.records.pop(name, None) is not None:
            for listener in self._listeners:
                listener(name, None)
