"""A fleet's NATS servers at a node's start: checked, and what is missing there made.

Owns the streams and buckets, and the sentences about servers that cannot serve a fleet.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import nats.errors

from lastword._version import __version__
from lastword.gateway.fleet.broker import START_SECONDS
from lastword.gateway.fleet.buckets import MARK_SECONDS, Bucket, stream_of
from lastword.gateway.fleet.errors import (
    FencedError,
    FleetError,
    NotStoredError,
    OutcomeUnknownError,
    RefusedError,
)
from lastword.gateway.fleet.records import (
    FLEET,
    NODES,
    OPENINGS,
    PAGE_LINKS,
    SESSIONS,
    SUBSCRIPTIONS,
    FormatRecord,
)
from lastword.gateway.fleet.stream_messages import STREAMS
from lastword.platform.identity import run_id

if TYPE_CHECKING:
    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.records import Records

SERVER_MINIMUM = (2, 12)
"""The first version that stores several messages in one step."""

PAYLOAD_MINIMUM = 1_000_000
"""What a server must accept as a message, twice the size of a part; the default is 1 MiB."""

FORMAT = 1
FORMAT_NAME = "format"
CLOCK_SECONDS = 5.0
MAKE_SECONDS = 5.0
"""How long a stream may take to be made: its servers elect a leader for it."""

NANOSECONDS = 1_000_000_000

LEASED = (NODES, OPENINGS)
"""The buckets whose records expire at once: in the servers' memory, which renewals do not wear."""
LASTING = (SESSIONS, PAGE_LINKS, SUBSCRIPTIONS, FLEET)

AGAIN_SECONDS = 0.2
WAKE = "lwh.check"

ALL_STREAMS = (
    *(f"LW{number}" for number in range(STREAMS)),
    *map(stream_of, (*LEASED, *LASTING)),
)
"""The names of all streams, those of buckets included."""

NO_LEADER = 10008
NO_STREAM = 10059
NAME_IN_USE = 10058
NO_JETSTREAM = frozenset({10039, 10076})
NOT_CLUSTERED = 10074
NO_PEERS = 10005
"""Too few servers of the cluster can keep a copy; one that has just joined may not count yet."""
OVERLAP = 10065
NO_ROOM = frozenset({10002, 10023, 10026, 10027, 10028, 10047, 10052})
_NEEDED = ("subjects", "storage", "allow_direct", "allow_msg_ttl", "allow_rollup_hdrs")
_PERMISSIONS = "the documentation's page on the fleet lists the permissions that a node needs"


class _PeerOfflineError(FleetError):
    """A stream's copies have no place; a cluster that has just started may have one soon."""


async def prepare(broker: Broker, records: Records, replicas: int) -> FormatRecord:
    """Check the servers, make what is missing there, and return the fleet's format.

    Raises:
        FleetError: They cannot serve this fleet; the sentence says why and what to do.
    """
    until = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        try:
            return await _prepare(broker, records, replicas)
        except _PeerOfflineError:
            if asyncio.get_running_loop().time() > until:
                raise
            await asyncio.sleep(AGAIN_SECONDS)
        except OutcomeUnknownError:
            if asyncio.get_running_loop().time() > until:
                raise FleetError(
                    f"the JetStream of the NATS server {broker.server} does not answer: most "
                    "servers of its cluster have to run"
                ) from None
            await asyncio.sleep(AGAIN_SECONDS)


async def _prepare(broker: Broker, records: Records, replicas: int) -> FormatRecord:
    """Do the same once.

    Raises:
        OutcomeUnknownError: Something is not answered; for example, no leader is elected yet, or
            this server does not know a stream that another one has just made.
        FleetError: As above.
    """
    try:
        version = broker.server_version
        if version[:2] < SERVER_MINIMUM:
            raise FleetError(
                f"the NATS server {broker.server} is version {'.'.join(map(str, version))}, and a "
                "fleet needs 2.12 or newer; distributions have older ones: install it from "
                "https://nats.io/download"
            )
        if broker.max_payload < PAYLOAD_MINIMUM:
            raise FleetError(
                f"the NATS server {broker.server} accepts messages of {broker.max_payload} bytes "
                "only: set its max_payload to 1MB, the default, or more"
            )
        try:
            await broker.call("INFO")
        except NotStoredError as error:
            is_refused = isinstance(error, RefusedError) and error.code not in NO_JETSTREAM
            if is_refused or not broker.is_connected:
                raise
            raise FleetError(
                f"the NATS server {broker.server} has no JetStream for this user's account: enable "
                "it for the server and for the account (`jetstream: enabled`)"
            ) from None
        made = await asyncio.gather(
            *(_stream(broker, config, replicas) for config in _configs(replicas)),
            return_exceptions=True,
        )
        for failure in made:
            if failure is not None:
                raise failure
        # Whether this user may publish to logs shows in a message that is refused in any case.
        await broker.publish(WAKE)
        never = {"Nats-Expected-Last-Sequence": str(2**53)}
        try:
            await broker.store("lw.0.check", b"", never)
        except FencedError:
            if violation := broker.violation_of(WAKE):
                raise RefusedError(0, violation) from None
        return await _format(broker, records)
    except RefusedError as error:
        if error.code in (NO_LEADER, NO_STREAM):  # this server learns of it in a moment
            raise OutcomeUnknownError(str(error)) from None
        if "permissions violation" in str(error):
            raise FleetError(
                f"the NATS user lacks a permission ({error}); {_PERMISSIONS}"
            ) from None
        raise FleetError(f"the NATS server {broker.server} refuses a request: {error}") from None
    except NotStoredError as error:  # a stream has no leader now, or the connection was lost
        raise OutcomeUnknownError(str(error)) from None
    except nats.errors.Error:
        raise OutcomeUnknownError("the connection was lost") from None


def _configs(replicas: int) -> list[dict[str, Any]]:
    """Return the configurations of all streams, buckets included."""
    common = {
        "retention": "limits",
        "discard": "new",
        "num_replicas": replicas,
        "max_consumers": -1,
        "max_bytes": -1,
        "max_age": 0,
        "allow_direct": True,
        "allow_msg_ttl": True,
        "allow_rollup_hdrs": True,
    }
    logs = [
        {
            "name": f"LW{number}",
            "subjects": [f"lw.{number}.>"],
            "storage": "file",
            "max_msgs_per_subject": -1,
            "allow_atomic": True,
            **common,
        }
        for number in range(STREAMS)
    ]
    buckets = [
        {
            "name": stream_of(bucket),
            "subjects": [f"$KV.{bucket}.>"],
            "storage": "memory" if bucket in LEASED else "file",
            "max_msgs_per_subject": 1,
            "subject_delete_marker_ttl": MARK_SECONDS * NANOSECONDS,
            **common,
        }
        for bucket in (*LEASED, *LASTING)
    ]
    return [*logs, *buckets]


async def _stream(broker: Broker, config: dict[str, Any], replicas: int) -> None:
    """Make a stream unless it exists; check it and, by the answer's date, the clock.

    Raises:
        FleetError: It cannot be made or is not this fleet's, or the clocks differ too much.
    """
    name, before = config["name"], time.time()
    try:
        info = await broker.call(f"STREAM.INFO.{name}")
    except RefusedError as error:
        if error.code != NO_STREAM:
            raise
        try:
            info = await broker.call(f"STREAM.CREATE.{name}", config, seconds=MAKE_SECONDS)
        except RefusedError as refused:
            if not refused.code:
                raise
            if refused.code != NAME_IN_USE:
                kind = _PeerOfflineError if refused.code == NO_PEERS else FleetError
                raise kind(_why_not_made(broker, config, refused)) from None
            info = await broker.call(f"STREAM.INFO.{name}")  # another node was first
    after = time.time()
    there = info["config"]
    wrong = [key for key in _NEEDED if there.get(key, False) != config[key]]
    if wrong:
        raise FleetError(
            f"the NATS account has a stream {name} that is not this fleet's ({', '.join(wrong)} "
            "differ): give the fleet its own account"
        )
    copies = int(there.get("num_replicas", 1))
    if copies < replicas:
        raise FleetError(
            f"the stream {name} is kept on {copies} NATS server{'s' if copies > 1 else ''}, and "
            f"--fleet-replicas asks for {replicas}: run `nats stream edit {name} --replicas "
            f"{replicas}` for it and the fleet's other streams, or give --fleet-replicas {copies}"
        )
    # Tokens and waits end by the clocks. The time that an answer took does not count.
    if answered := str(info.get("ts", "")):
        moment = datetime.fromisoformat(answered).timestamp()  # cuts the server's nanoseconds
        for seconds, which in ((before - moment, "ahead of"), (moment - after, "behind")):
            if seconds > CLOCK_SECONDS:
                raise FleetError(
                    f"this machine's clock is {seconds:.0f} s {which} the NATS server's: set it, "
                    "for example with NTP"
                )


def _why_not_made(broker: Broker, config: dict[str, Any], error: RefusedError) -> str:
    name, replicas = config["name"], config["num_replicas"]
    if error.code in (NO_PEERS, NOT_CLUSTERED) and replicas > 1:
        return (
            f"the NATS server {broker.server} is not one of {replicas} servers that could keep "
            f"{replicas} copies ({error}): start {replicas} as a cluster, or give "
            "--fleet-replicas 1, which survives no loss"
        )
    if error.code == OVERLAP:
        return (
            f"another stream of the NATS account has the subjects of {name}: give the fleet its "
            "own account"
        )
    if error.code in NO_ROOM:
        return (
            f"the NATS account or its servers have no room for the stream {name} ({error}): a "
            f"fleet needs {len(ALL_STREAMS)} streams of {replicas} copies; "
            "raise the limits"
        )
    return f"the stream {name} cannot be created ({error})"


async def _format(broker: Broker, records: Records) -> FormatRecord:
    """Return the fleet's format; the first node writes it.

    Raises:
        FleetError: The fleet has another key, or a newer format.
    """
    bucket = Bucket(broker, FLEET, FormatRecord, records)
    stored = await bucket.read(FORMAT_NAME)
    if stored is None:
        record = FormatRecord(format=FORMAT, fleet=run_id(), version=__version__)
        try:
            await bucket.create(FORMAT_NAME, record)
        except FencedError:
            stored = await bucket.read(FORMAT_NAME)  # another node was first
            if stored is None:
                raise FleetError(
                    f"the NATS account at {broker.server} belongs to a fleet with another key: "
                    "give --fleet-key-file with its key, or use another account"
                ) from None
        else:
            return record
    if stored.record.format != FORMAT:
        raise FleetError(
            f"the fleet has format {stored.record.format} of lastword {stored.record.version}, and "
            f"this lastword {__version__} has format {FORMAT}: install the same version on every "
            "node"
        )
    return stored.record
