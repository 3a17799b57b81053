"""Forks: none happens while a thread of this process has one of our SQLite files open.

Owns that rule. SQLite remembers a process's locks beside the file system: a child inherits that
memory and not the locks, so its own connections would be without any (sqlite.org, "How To Corrupt
An SQLite Database File", 2.6). A mutex, or a module's import, that a thread of the parent is at
would never end in the child, which has no such thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterator

FORK_SECONDS = 1.0
"""How long a fork waits for a disk. After that the child keeps no record."""


class Resting(Protocol):
    """Keeps a file open between its uses."""

    @property
    def is_at_rest(self) -> bool:
        """Return whether the file is closed."""
        ...

    def rest(self) -> None:
        """Close the file; the next use opens it again."""
        ...


class ForkGate:
    """Keeps a process's uses of SQLite and its forks apart."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._uses = 0
        self._forks = 0
        self._resting: WeakSet[Resting] = WeakSet()
        self.is_spoiled: bool = False
        """This process was forked in the middle of a use: SQLite must not be touched in it."""

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Put off forks; waits while there is one. It must not be nested."""
        with self._changed:
            self._changed.wait_for(lambda: not self._forks)
            self._uses += 1
        try:
            yield
        finally:
            self._end_use()

    def _end_use(self) -> None:
        with self._changed:
            self._uses -= 1
            self._changed.notify_all()

    def close_before_forks(self, what: Resting) -> None:
        """Have `what` closed before each fork, as long as it lives."""
        with self._changed:
            self._resting.add(what)

    def before_fork(self) -> None:
        """Wait until nothing is in use or open, or for the time that a fork may take."""
        deadline = time.monotonic() + FORK_SECONDS
        with self._changed:
            self._forks += 1
            if not self._changed.wait_for(lambda: not self._uses, FORK_SECONDS):
                return
            opened = [each for each in self._resting if not each.is_at_rest]
            if opened:
                self._uses += 1
                try:
                    # In a thread, since a disk may hang.
                    threading.Thread(target=self._rest, args=(opened,), daemon=True).start()
                except RuntimeError:  # none is to be had
                    self._rest(opened)
                self._changed.wait_for(lambda: not self._uses, deadline - time.monotonic())

    def _rest(self, opened: list[Resting]) -> None:
        for each in opened:
            with contextlib.suppress(Exception):  # the fork comes in any case
                each.rest()
        self._end_use()

    def after_in_parent(self) -> None:
        """Let those in that waited."""
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """Start again: the threads that were in it are the parent's."""
        self.is_spoiled = self.is_spoiled or self._uses > 0
        self._changed = threading.Condition()
        self._uses = self._forks = 0
        self._resting = WeakSet()


gate: ForkGate = ForkGate()
"""The gate of this process."""

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=gate.before_fork,
        after_in_parent=gate.after_in_parent,
        after_in_child=gate.after_in_child,
    )
