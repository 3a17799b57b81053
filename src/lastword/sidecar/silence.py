"""Looks at a silent agent's processes and connections: when, and what is kept between them.

Owns the schedule and the cost: at most once in 2 s, at most a five-hundredth of the time unless a
timer takes effect, and only while one turn is silent. `silence_cause` judges what is seen. It is
loaded at the first silence; on a system that shows nothing there is no cause.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lastword.platform.process_tree import read_tree, sockets_of
from lastword.platform.tcp_sockets import TcpSocket, read_tcp_sockets
from lastword.sidecar.silence_cause import Judge, Look, OwnSocket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.link.evidence import SilentTurn
    from lastword.core.link.facts import SilenceCause
    from lastword.platform.process_tree import Process

LOOK_SECONDS = 2.0
LOOK_SHARE = 500
"""The next look waits this many times as long as the last one took: 0.2 % of a core."""

MAX_LOOK_SECONDS = 30.0
MAX_STORED = 4096


class SilenceLooks:
    """The causes of an agent's silences."""

    __slots__ = (
        "_due",
        "_has_sockets",
        "_judge",
        "_looked_at",
        "_others",
        "_owners",
        "_root",
        "seconds",
    )

    def __init__(self) -> None:
        self._judge = Judge()
        self._root = 0
        self._looked_at = -LOOK_SECONDS
        self._due = 0.0
        self._owners: dict[int, int] = {}
        """The process of each of the agent's connections, by its number."""
        self._others: set[int] = set()
        """The numbers of connections that are not the agent's."""
        self._has_sockets = True
        self.seconds: float = 0.0
        """How long the looks have taken altogether, of this thread's own time."""

    def is_due(self, now: float, *, for_timer: bool = False) -> bool:
        """Return whether another look may be made; before a timer, whatever the last one cost."""
        return now >= (self._looked_at + LOOK_SECONDS if for_timer else self._due)

    def look(
        self, root: int, turns: Sequence[SilentTurn], now: float, *, port: int | None = None
    ) -> SilenceCause | None:
        """Return why the only silent turn is silent, if that is seen.

        Args:
            root: The agent's process.
            turns: The silent turns. Of several, nobody can tell whose a connection is.
            now: The time.
            port: The port at which the agent serves its events to us.
        """
        began = time.thread_time()
        if root != self._root:
            self._root, self._judge = root, Judge()
            self._owners.clear()
        processes = read_tree(root)
        sockets = self._sockets(processes, port)
        took = time.thread_time() - began
        self.seconds += took
        self._looked_at = now
        self._due = now + min(max(LOOK_SECONDS, took * LOOK_SHARE), MAX_LOOK_SECONDS)
        look = Look(now, tuple(processes), tuple(sockets))
        if len(turns) != 1:
            return None
        return self._judge.judge(look, turns[0])

    def _sockets(self, processes: Sequence[Process], port: int | None) -> list[OwnSocket]:
        if not self._has_sockets or not processes:
            return []
        try:
            listed = [
                each
                for each in read_tcp_sockets()
                if port is None
                or (each.local_port != port and not (each.loopback and each.remote_port == port))
            ]
        except OSError:
            # A sandbox without this source: the processes are still seen.
            self._has_sockets = False
            return []
        self._find_owners(listed, processes)
        return [
            OwnSocket(self._owners[each.inode], each)
            for each in listed
            if each.inode in self._owners
        ]

    def _find_owners(self, listed: Sequence[TcpSocket], processes: Sequence[Process]) -> None:
        """Find the process of each new connection; reading descriptors is what costs."""
        inodes = {each.inode for each in listed}
        pids = {process.pid for process in processes}
        self._others &= inodes
        self._owners = {
            inode: pid for inode, pid in self._owners.items() if inode in inodes and pid in pids
        }
        if inodes <= self._others | self._owners.keys():
            return
        # Later processes first: what a child has inherited, the parent has too.
        for process in reversed(processes):
            for inode in sockets_of(process.pid):
                if inode in inodes:
                    self._owners[inode] = process.pid
        self._others = set(sorted(inodes - self._owners.keys())[:MAX_STORED])
