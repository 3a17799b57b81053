"""Forks: none happens while a thread of this process uses one of our SQLite files.

Owns that rule. SQLite remembers a process's locks beside the file system: a child inherits that
memory and not the locks, so its own connections would be without any (sqlite.org, "How To Corrupt
An SQLite Database File", 2.6). A mutex, or a module's import, that a thread of the parent is at
would never end in the child, which has no such thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FORK_SECONDS = 1.0
"""How long a fork waits for a disk. After that the child keeps no record."""


class ForkGate:
    """Keeps a process's uses of SQLite and its forks apart."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._uses = 0
        self._forks = 0
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
            with self._changed:
                self._uses -= 1
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait until nothing is in use, or for the time that a fork may take."""
        with self._changed:
            self._forks += 1
            self._changed.wait_for(lambda: not self._uses, FORK_SECONDS)

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


gate: ForkGate = ForkGate()
"""The gate of this process."""

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=gate.before_fork,
        after_in_parent=gate.after_in_parent,
        after_in_child=gate.after_in_child,
    )
