"""Sessions that wait for the end of a limit while they have no holder.

Owns starting a holder for such a session when its limit ends, although nobody looks at it. While a
session has a holder, that one waits; and what follows is the holder's: it takes up the wait from
the session's log.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.waits import StoredWait
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.errors import StoreError
from lastword.gateway.front.holders import StartError
from lastword.gateway.log import files
from lastword.gateway.log.owner import owner_of
from lastword.gateway.log.stored import reading

if TYPE_CHECKING:
    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.log.stored import StoredLog

LOOK_SECONDS = 5.0
"""How often it is looked for them."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 15.0, 600.0
"""How long it is waited before a holder is started again for the same wait: twice as long each
time."""


class WaitingSession(msgspec.Struct, frozen=True):
    """A session that waits for the end of a limit.

    Attributes:
        id: its id.
        client: the `initialize` params of the client that opened it.
        wait: the wait.
    """

    id: str
    client: dict[str, Any]
    wait: StoredWait


class LimitWaits:
    """The sessions of a front that wait for the end of a limit."""

    def __init__(self, holders: Holders, directory: Directory) -> None:
        """Look for them in the logs of these holders; have them started by the directory."""
        self._holders = holders
        self._directory = directory
        self._again: dict[str, tuple[float, float]] = {}
        """By session: when a holder may be started again, and how long was waited for that."""

    async def watch(self) -> None:
        """Start a holder for each whose limit has ended, until cancelled."""
        while True:
            for session in await asyncio.to_thread(self._due, time.time()):
                with contextlib.suppress(StartError, OSError):
                    await self._directory.of_session(session.id, session.client)
            await asyncio.sleep(LOOK_SECONDS)

    def _due(self, now: float) -> list[WaitingSession]:
        """Return those without a holder whose limit has ended."""
        due = []
        for path in self._holders.waiting():
            if owner_of(path) is not None:
                continue
            try:
                session = reading(path, _waiting_in)
            except (FileNotFoundError, StoreError):
                continue
            if session is None:
                files.unmark_waiting(path)
            elif self._is_due(session, now):
                due.append(session)
        return due

    def _is_due(self, session: WaitingSession, now: float) -> bool:
        wait = session.wait.wait
        until, latest = wait.until_epoch_seconds, wait.latest_epoch_seconds
        if until is None or latest is None or not until <= now <= latest:
            return False
        again_at, pause = self._again.get(session.id, (0.0, 0.0))
        # A clock that was set back makes no pause longer.
        if again_at - pause <= now < again_at:
            return False
        pause = min(max(2 * pause, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        self._again[session.id] = now + pause, pause
        return True


def _waiting_in(log: StoredLog) -> WaitingSession | None:
    """Return the session of a log, if it waits for the end of a limit."""
    for pinned in log.pins_of("wait:"):
        return WaitingSession(
            id=log.remembered("id"),
            client=object_of(jsonrpc.loads(log.remembered("client").encode())),
            wait=msgspec.json.decode(pinned.entry.frame, type=StoredWait),
        )
    return None
