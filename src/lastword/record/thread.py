"""The recorder thread for links in this process: one daemon thread, which may wait for disks.

Owns that thread, its queue, and its end when the process ends or forks. A turn hands an entry over
and continues; rows, bounds, the store and spans are handled in the thread.

Forks: none happens while a thread of this process uses one of our SQLite files. Owns that rule.
SQLite remembers a process's locks beside the file system: a child inherits that memory and not the
locks, so its own connections would have none (sqlite.org, "How To Corrupt An SQLite Database File",
2.6). A mutex that a thread of the parent holds, or an import that it is making, would never end in
the child, which has no such thread.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from lastword.core.timeline.entry import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lastword.record.recorder import Recorder


MAX_WAITING = 20_000
"""Entries that wait for a thread that gets no time; beyond it they are lost, and counted."""

BATCH_SECONDS = 0.2
"""How long entries are collected for one transaction."""

EXIT_SECONDS = 1.0
"""How long the end of the process waits for the last entries to be on disk."""

_AT_ONCE = 8
"""How many entries are handled before the threads that run turns get time."""

_URGENT = frozenset({Kind.ERROR, Kind.CONTEXT_LOST})
"""Kinds that are written at once: an agent that has failed is often killed next."""

_Item: TypeAlias = "tuple[int, Entry | Callable[[], Recorder] | None]"


class RecorderThread:
    """The recorder of every link in the process."""

    def __init__(self) -> None:
        self._waiting: deque[_Item] = deque()
        self._some = threading.Event()
        self._urgent = threading.Event()
        self._ending = False
        self._at_work = False
        self._numbers = itertools.count(1)  # `next` is one step, for threads that open at once
        self._lost = 0
        self._counting = threading.Lock()
        self.forked = False
        """Whether its thread is in the parent process, and this is only a copy of its memory."""
        # Only the thread's own stack holds recorders. After a fork the child has no such thread, so
        # none of the child's code can ever close, or use, its parent's store.
        self._thread = threading.Thread(target=self._run, name="lastword.record", daemon=True)
        self._thread.start()

    def open(self, start: Callable[[], Recorder]) -> int:
        """Open a link and return its number. `start` is called in the thread."""
        number = next(self._numbers)
        self._put(number, start)
        return number

    def send(self, number: int, entry: Entry) -> None:
        """Receive an entry of the link with this number; never wait."""
        if self.forked:
            return
        if len(self._waiting) >= MAX_WAITING:
            with self._counting:
                self._lost += 1
            return
        if self._lost:
            self._send_omitted(number, entry.at_seconds)
        self._put(number, entry)
        if entry.kind in _URGENT:
            self._urgent.set()

    def _send_omitted(self, number: int, at_seconds: float) -> None:
        with self._counting:
            lost, self._lost = self._lost, 0
        if lost:
            omitted = Entry(
                kind=Kind.OMITTED, at_seconds=at_seconds, facts={"count": lost, "kinds": {}}
            )
            self._put(number, omitted)

    def close(self, number: int) -> None:
        """Close a link once its entries are handled; no more will come."""
        if not self.forked:
            self._put(number, None)
            self._urgent.set()

    @property
    def idle(self) -> bool:
        return not (self._waiting or self._at_work)

    def finish(self) -> None:
        """Wait at the end of the process for the last entries, but not for a disk that hangs."""
        self._ending = True
        self._some.set()
        self._urgent.set()
        self._thread.join(EXIT_SECONDS)

    def _put(self, number: int, what: Entry | Callable[[], Recorder] | None) -> None:
        self._waiting.append((number, what))
        # Checked first: waking a thread takes longer than all the rest, and it is awake.
        if not self._some.is_set():
            self._some.set()

    def _run(self) -> None:
        recorders: dict[int, Recorder] = {}
        while not self._ending:
            self._some.wait()
            self._urgent.wait(BATCH_SECONDS)
            self._some.clear()
            self._urgent.clear()
            self._at_work = True
            self._drain(recorders)
            self._at_work = False
        self._drain(recorders)
        for recorder in recorders.values():
            with contextlib.suppress(Exception):  # as below
                recorder.close()

    def _drain(self, recorders: dict[int, Recorder]) -> None:
        for count in range(len(self._waiting)):
            number, what = self._waiting.popleft()
            with contextlib.suppress(Exception):  # one link's failure must not affect another
                if callable(what):
                    recorders[number] = what()
                elif number in recorders and what is not None:
                    recorders[number].record(what)
                elif number in recorders:
                    recorders.pop(number).close()
            if count % _AT_ONCE == 0:
                time.sleep(0)
        for recorder in recorders.values():
            with contextlib.suppress(Exception):  # as above
                recorder.flush()


_current: RecorderThread | None = None
_starting = threading.Lock()


def recorder_thread() -> RecorderThread:
    """Return the thread of this process, starting it if needed.

    Raises:
        RuntimeError: no thread can be started: the process ends, or is at its limit; or it was
            forked while its parent wrote.
    """
    global _current  # noqa: PLW0603 - one for each process is the point
    if gate.is_spoiled:
        raise RuntimeError("this process was forked while a disk kept its parent's record waiting")
    with _starting:
        if _current is None:
            _current = RecorderThread()
            atexit.register(_current.finish)
            # Most children of `multiprocessing` skip `atexit`.
            modules = (sys.modules.get(f"multiprocessing.{name}") for name in ("process", "util"))
            process, util = modules
            if process is not None and util is not None and process.parent_process() is not None:
                # Last of all: what else is run there may end a turn.
                util.Finalize(None, _current.finish, exitpriority=-1000)
        return _current


def _forget() -> None:
    """Forget the thread in a forked child, where a new link starts another."""
    global _current, _starting
    if _current is not None:
        _current.forked = True
        atexit.unregister(_current.finish)
    _current, _starting = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget)


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
        """Delay forks, and wait while there is one. It must not be nested."""
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
        """Wait until SQLite is not in use, for at most `FORK_SECONDS`."""
        with self._changed:
            self._forks += 1
            self._changed.wait_for(lambda: not self._uses, FORK_SECONDS)

    def after_in_parent(self) -> None:
        """Continue the uses that waited."""
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """Start again, without the parent's threads."""
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
