"""The fleet as `lastword gateway status --fleet` reports it.

Owns the report, which is read from the NATS servers, and the file in a node's run folder by which
the command knows them. The file may hold a password, as the folder is for its user alone.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway.fleet.buckets import Mirror
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.records import living_owner
from lastword.gateway.fleet.services import FleetServices
from lastword.gateway.fleet.start import ALL_STREAMS
from lastword.gateway.settings.values import FleetSettings
from lastword.platform.files import write_whole

if TYPE_CHECKING:
    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.records import NodeRecord, OwnerRecord, SessionRecord

NAME = "fleet.json"
CONNECT_SECONDS, READ_SECONDS = 3.0, 10.0


class FleetStream(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as its servers keep it, or one that cannot be read.

    Attributes:
        name: its name.
        leader: the server that leads it; empty if it has none.
        copies: how many servers have all of it.
        replicas: on how many it is kept.
        behind: the servers that do not have all of it.
    """

    name: str
    leader: str
    copies: int
    replicas: int
    behind: list[str]

    @property
    def is_whole(self) -> bool:
        """Return whether it has a leader and all its copies."""
        return bool(self.leader) and not self.behind


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet at one moment.

    Attributes:
        server: the NATS server that reported it.
        nodes: the nodes that live.
        owned: the sessions that have an owner, with it.
        ownerless: the sessions that have none and have not ended.
        ended: how many sessions have ended.
        streams: the streams.
        invalid: how many records no node of this fleet wrote.
    """

    server: str
    nodes: list[NodeRecord]
    owned: list[tuple[SessionRecord, OwnerRecord]]
    ownerless: list[SessionRecord]
    ended: int
    streams: list[FleetStream]
    invalid: int


def store_settings(run_folder: str, settings: FleetSettings) -> None:
    """Write the settings of a node to its run folder.

    Raises:
        FleetError: They cannot be written.
    """
    path = os.path.join(run_folder, NAME)
    try:
        write_whole(path, msgspec.json.encode(settings))
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise FleetError(f"{path} cannot be written ({reason})") from None


def settings_in(run_folder: str) -> FleetSettings | None:
    """Return the settings of the node that has a run folder; `None` if it has none of a fleet."""
    try:
        with open(os.path.join(run_folder, NAME), "rb") as file:
            return msgspec.json.decode(file.read(), type=FleetSettings)
    except (OSError, msgspec.DecodeError):
        return None


async def report(settings: FleetSettings) -> FleetReport:
    """Return a fleet's state as its servers report it.

    Raises:
        FleetError: They cannot be reached, or do not answer.
    """
    services = FleetServices(settings, FleetKey.at(settings.key_file), "lastword gateway status")
    broker = services.broker
    await broker.open(CONNECT_SECONDS)
    nodes, sessions = Mirror(services.nodes), Mirror(services.sessions)
    reading = [asyncio.create_task(each.run()) for each in (nodes, sessions)]
    try:
        async with asyncio.timeout(READ_SECONDS):
            await asyncio.gather(*(each.complete() for each in (nodes, sessions)))
            streams = await asyncio.gather(*(_stream(broker, name) for name in ALL_STREAMS))
        server = broker.server
    except TimeoutError:
        raise FleetError(
            f"the NATS server {broker.server} does not send the fleet's records: most servers of "
            "its cluster have to run"
        ) from None
    finally:
        for task in reading:
            task.cancel()
        await asyncio.wait(reading)
        await broker.close()
    instances = {name: each.instance for name, each in nodes.records.items()}
    all_sessions = sorted(sessions.records.values(), key=lambda each: each.session)
    living = [(each, living_owner(each, instances)) for each in all_sessions]
    rest = [each for each, owner in living if owner is None]
    return FleetReport(
        server=server,
        nodes=sorted(nodes.records.values(), key=lambda each: each.node),
        owned=[(each, owner) for each, owner in living if owner is not None],
        ownerless=[each for each in rest if each.ended is None],
        ended=sum(each.ended is not None for each in rest),
        streams=list(streams),
        invalid=services.records.invalid,
    )


async def _stream(broker: Broker, name: str) -> FleetStream:
    """Return a stream's state; one without a leader does not answer."""
    try:
        info = await broker.call(f"STREAM.INFO.{name}")
    except FleetError:
        return FleetStream(name=name, leader="", copies=0, replicas=0, behind=[])
    cluster = info.get("cluster") or {}
    others = cluster.get("replicas") or []
    behind = [
        str(each.get("name", "")) for each in others if each.get("offline") or not each["current"]
    ]
    return FleetStream(
        name=name,
        leader=str(cluster.get("leader") or ""),
        copies=1 + len(others) - len(behind),
        replicas=int(info["config"].get("num_replicas", 1)),
        behind=sorted(behind),
    )
