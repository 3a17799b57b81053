"""The ownership of a holder's sessions, without a holder and without a broker."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.fleet.ownership import Ownership
from lastword.gateway.fleet.records import NodeAddress, OwnerRecord, SessionRecord
from lastword.gateway.log import files
from lastword.gateway.log.entries import LogEntry, LogKind
from lastword.gateway.settings.fleet import FleetSettings
from lastword.gateway.settings.holder import HolderSettings
from tests.kit.fleet.leases_in_memory import MemoryBucket, owner
from tests.kit.fleet.replica_in_memory import MemoryReplicaStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.node_link import Serve
    from lastword.gateway.fleet.replica import ReplicaStore
    from lastword.gateway.log.store import Log


class MemoryFleet:
    """What the nodes of a fleet share."""

    def __init__(self) -> None:
        self.leases: MemoryBucket[OwnerRecord] = MemoryBucket()
        self.sessions: MemoryBucket[SessionRecord] = MemoryBucket()
        self.replicas: ReplicaStore = MemoryReplicaStore()

    async def open(self, serve: Serve, connection: Callable[[bool], None]) -> NodeAddress:
        """Return an address."""
        del serve, connection
        return NodeAddress(host="127.0.0.1", port=1, fingerprint="f" * 64)

    async def close(self) -> None:
        """Do nothing."""


class OwningNode:
    """A holder of one node, as its ownership knows it."""

    def __init__(self, fleet: MemoryFleet, folder: Path, name: str, workspace: str = "") -> None:
        state = folder / name
        state.mkdir(exist_ok=True)
        root = folder / "shared" if workspace else state
        root.mkdir(exist_ok=True)
        self.settings = HolderSettings(
            log_folder=str(state),
            root=str(root),
            fleet=FleetSettings(urls=["nats://x"], node=name, workspace=workspace),
        )
        self.left: list[tuple[str, int, int]] = []
        self.has_left = asyncio.Event()
        self.has_left_all = False
        self.ownership = Ownership(fleet, self)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve nobody."""

    def fenced(self, session_id: str, term: int, entries: int) -> None:
        self.left.append((session_id, term, entries))
        self.has_left.set()

    def leave_all(self) -> None:
        self.has_left_all = True

    def path(self, session_id: str) -> str:
        """Where a session's log is."""
        return files.path_in(self.settings.log_folder, wire.name_of(session_id))

    def open(self, session_id: str) -> OwnedHere:
        """Return a session whose log is open."""
        return OwnedHere(session_id, self.ownership.open_log(session_id, self.path(session_id)))

    def has_file(self, session_id: str) -> bool:
        """Whether the session's log is here."""
        return os.path.exists(self.path(session_id))


class OwnedHere:
    """A session, as its ownership knows it."""

    def __init__(self, session_id: str, log: Log) -> None:
        self.id = session_id
        self.agents_id = session_id
        self.log = log
        self.is_finished = False
        self.notices: list[str] = []

    def say(self, *texts: str) -> None:
        self.log.append([LogEntry(LogKind.OUT, 1, text.encode()) for text in texts])

    def said(self) -> list[str]:
        """What is in the log, as whoever reads it sees it."""
        return [entry.frame.decode() for _, entry in self.log.read(0)]

    def view(self) -> SessionView:
        """Return it as the API shows it."""
        state = SessionState.ENDED if self.is_finished else SessionState.RUNNING
        return msgspec.structs.replace(owner("").view, id=self.id, state=state, cwd="/work")

    def show_outage(self, line: str, times: int) -> None:
        self.notices.append(f"{times}: {line}")

    def finish(self) -> None:
        self.is_finished = True
        self.log.finish()
