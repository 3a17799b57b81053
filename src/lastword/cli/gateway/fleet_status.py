"""The lines and the JSON of `lastword gateway status --fleet`."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from lastword.core.failure.phrases import counted
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.status import report, settings_in
from lastword.gateway.run_folder import pid_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.gateway.fleet.records import OwnerRecord, SessionRecord
    from lastword.gateway.fleet.status import FleetReport


def fleet_of(run_folder: str) -> FleetReport:
    """Return the fleet of the gateway with this run folder.

    Raises:
        FleetError: It is in no fleet, or the fleet cannot be reached.
    """
    settings = settings_in(run_folder)
    if settings is None:
        if pid_of(run_folder) is None:
            raise FleetError("no gateway of a fleet is running on this port")
        raise FleetError("the gateway on this port is in no fleet; start it with --fleet")
    return asyncio.run(report(settings))


def lines_of(fleet: FleetReport) -> Iterator[str]:
    yield (
        f"fleet: {counted(len(fleet.nodes), 'node')}, {counted(len(fleet.owned), 'session')}, "
        f"by the NATS server {fleet.server}"
    )
    by_node = defaultdict(list)
    for session, owner in fleet.owned:
        by_node[owner.node].append(_line_of(session, owner))
    for node in fleet.nodes:
        agents = f"{node.used} of {counted(node.slots, 'agent')}, lastword {node.version}"
        state = f"on {node.host}, {agents}" if node.host else f"not running; {agents}"
        yield f"node {node.node}: {state}"
        yield from by_node[node.node]
    for session in fleet.ownerless:
        last = session.owner.node if session.owner is not None else session.node
        yield f"  {session.session}: without an owner, term {session.term}; the last was {last}"
    whole = [each for each in fleet.streams if each.is_whole]
    copies = min((each.copies for each in whole), default=0)
    each_has = f", {counted(copies, 'copy')} of each" if whole else ""
    yield f"streams: {len(whole)} of {len(fleet.streams)} are whole{each_has}"
    for each in fleet.streams:
        if not each.leader:
            yield f"  {each.name}: no leader, so nothing of it can be read or written"
        elif each.behind:
            yield (
                f"  {each.name}: {each.copies} of {each.replicas} copies, led by {each.leader}; "
                f"behind: {', '.join(each.behind)}"
            )
    if fleet.invalid:
        yield f"records that no node of this fleet wrote: {fleet.invalid}"


def _line_of(session: SessionRecord, owner: OwnerRecord) -> str:
    state = owner.view.state.value.replace("_", " ")
    viewers = owner.view.viewers.controllers + owner.view.viewers.observers
    behind = owner.not_replicated
    rest = f", {counted(behind, 'entry')} not replicated" if behind else ""
    parts = f"{state}, term {session.term}, {counted(viewers, 'viewer')}{rest}"
    return f"  {session.session}: {parts}"


def members_of(fleet: FleetReport) -> dict[str, Any]:
    return {
        "server": fleet.server,
        "nodes": [
            {
                "node": each.node,
                "host": each.host or None,
                "used": each.used,
                "slots": each.slots,
                "roots": each.roots,
                "workspace": each.workspace or None,
                "lastword_version": each.version,
                "started_epoch_ms": each.started_epoch_ms,
            }
            for each in fleet.nodes
        ],
        "sessions": [
            {
                "session_id": each.session,
                "node": owner.node,
                "term": each.term,
                "state": owner.view.state.value,
                "cwd": each.cwd,
                "not_replicated": owner.not_replicated,
            }
            for each, owner in fleet.owned
        ]
        + [
            {
                "session_id": each.session,
                "node": None,
                "term": each.term,
                "state": "lost",
                "cwd": each.cwd,
                "not_replicated": None,
            }
            for each in fleet.ownerless
        ],
        "ended_sessions": fleet.ended,
        "streams": [
            {
                "name": each.name,
                "leader": each.leader or None,
                "copies": each.copies,
                "replicas": each.replicas,
                "behind": each.behind,
            }
            for each in fleet.streams
        ],
        "invalid_records": fleet.invalid,
    }
