"""The spending ledger: a small file beside the record, which all processes share.

Owns the file and its lock. The file has today's spending and the costs of the latest sessions.
Costs are collected, and written a few times in a second at most. What cannot be written because of
another process or the disk is kept for the next write; only the end waits. A thread does all work
on the file, one order after the other, so that a slow disk delays no frame. Loaded where
`--spend-limit` applies to sessions or days.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from datetime import date, timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.costs import Spent
from lastword.platform.files import CREATE, NO_LINK, READ, lock

if TYPE_CHECKING:
    from typing import TypeAlias

    from lastword.core.link.effects import Spend

    _Spends: TypeAlias = dict[tuple[str, str], Spend]

FILE = "spending.json"
LOCK = "spending.lock"

MAX_SESSIONS = 512
"""The number of sessions in the file, the latest ones: some tens of kilobytes."""

MAX_ID_CHARS = 1024
"""A session with a longer id is left out, so that the file stays small."""

MAX_BYTES = 4 * 1024 * 1024
WRITE_SECONDS = 0.25
"""How long costs are collected for one write."""

COLLECT_SECONDS = 0.05
"""How often to check whether the thread is done."""

PROMPT_SECONDS = 0.1
"""How long the client's next message waits for a look at the file, which takes 0.1 ms: if another
process has reached the limit, a prompt must not pass to the agent."""

RETRY_SECONDS = 5.0
"""How long to wait before writing again after the disk has failed."""

LOOK_SECONDS = 5.0
"""How often to read, during a turn, what other processes have spent."""

PAUSE_SECONDS = 0.01
"""The time between attempts to take the lock at the end. It is held for a millisecond or two."""

_PLACES = 9


def local_day() -> str:
    """Return the user's local day, such as `2026-11-25`."""
    return time.strftime("%Y-%m-%d")


class _Outcome(msgspec.Struct, frozen=True):
    """The thread's answer to an order.

    Attributes:
        stored: the file's content; `None` if it has not changed, or cannot be read.
        is_written: whether the order's costs are in the file.
        problem: why the file cannot be written, if it cannot.
        seconds: how long it took.
    """

    stored: Spent | None = None
    is_written: bool = False
    problem: str | None = None
    seconds: float = 0.0


class SpendLedger:
    """The spending of this process and all others.

    Apart from the work on the file, everything is done in the caller's thread.
    """

    def __init__(self, folder: str) -> None:
        self._file = _LedgerFile(folder)
        self._unwritten: _Spends = {}
        self._handed_over: _Spends | None = None
        """What the thread shall write: empty for a look; `None` while it waits for work."""
        self._orders: SimpleQueue[tuple[str, _Spends]] = SimpleQueue()
        self._outcomes: SimpleQueue[_Outcome] = SimpleQueue()
        self._has_thread = False
        self._is_slow = False
        self._written_at, self._look_at = -RETRY_SECONDS, 0.0
        self.problem: str | None = None
        """Why the file could not be used the last time, if so."""

    def add(self, spend: Spend) -> None:
        """Add what was spent here, as one sum for each session: a disk may stay full for long."""
        earlier = self._unwritten.pop((spend.session_id, spend.currency), None)
        if earlier is not None:
            spend = msgspec.structs.replace(spend, added=earlier.added + spend.added)
        self._unwritten[spend.session_id, spend.currency] = spend

    def due(self, now: float, *, in_turn: bool) -> float | None:
        """Return when to call `tend`."""
        if self._handed_over is not None:
            return now + COLLECT_SECONDS
        if self._unwritten:
            return self._write_at
        return self._look_at if in_turn else None

    @property
    def _write_at(self) -> float:
        return self._written_at + (WRITE_SECONDS if self.problem is None else RETRY_SECONDS)

    def tend(self, now: float) -> Spent | None:
        """Order a write or a look that is due; return the spending if it may have changed."""
        if self._handed_over is None:
            if self._unwritten and now >= self._write_at:
                self._written_at = now
                self._begin(write=True)
            elif now >= self._look_at:
                self._look_at = now + LOOK_SECONDS
                self._begin(write=False)
        return self._collect(0.0)

    def look(self) -> Spent | None:
        """Return the spending if another process has spent, or a new day has begun.

        A slow disk is waited for only once, until it answers in time again.
        """
        if self._handed_over is None:
            self._begin(write=False)
        return self._collect(0.0 if self._is_slow else PROMPT_SECONDS)

    def close(self, seconds: float) -> bool:
        """Write what is left, waiting this long for the disk and other processes.

        A disk that fails is not waited for. Return whether everything is written.
        """
        end = time.monotonic() + seconds
        self._collect(seconds)
        while self._unwritten and self._handed_over is None:
            self._begin(write=True)
            self._collect(max(end - time.monotonic(), 0.0))
            if self._unwritten:
                if self.problem is not None or time.monotonic() >= end:
                    return False
                time.sleep(PAUSE_SECONDS)
        if self._handed_over is not None:
            self.problem = "the disk does not answer"
        return not (self._handed_over or self._unwritten)

    def _begin(self, *, write: bool) -> None:
        spends: _Spends = {}
        if write:
            spends, self._unwritten = self._unwritten, spends
        self._handed_over = spends
        # The day is read here: a process that is forked meanwhile must not find its lock taken.
        self._orders.put((local_day(), spends))
        if not self._has_thread:
            try:
                threading.Thread(target=self._run, name="lastword.spending", daemon=True).start()
                self._has_thread = True
            except RuntimeError:  # the user's limit of processes is reached
                self._work()

    def _run(self) -> None:
        while True:
            self._work()

    def _work(self) -> None:
        day, spends = self._orders.get()
        self._outcomes.put(self._file.settle(day, spends))

    def _collect(self, seconds: float) -> Spent | None:
        """Wait this long for the thread's outcome; return the spending if it has changed."""
        if self._handed_over is None:
            return None
        try:
            outcome = self._outcomes.get(seconds > 0, seconds)
        except Empty:
            self._is_slow = self._is_slow or seconds > 0
            return None
        self._is_slow = outcome.seconds > PROMPT_SECONDS
        spends, self._handed_over = self._handed_over, None
        if spends:
            self.problem = outcome.problem
            if not outcome.is_written:
                later, self._unwritten = self._unwritten, spends
                for spend in later.values():
                    self.add(spend)
        return None if outcome.stored is None else _sum(outcome.stored, self._unwritten)


class _LedgerFile:
    """The file, which only the thread reads and writes."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, FILE)
        self._last_mark: tuple[str, tuple[int, int, int] | None] = ("", None)
        """The day and the file's identity when it was last read."""

    def settle(self, day: str, spends: _Spends) -> _Outcome:
        """Write what was spent, unless another process is writing; read the file."""
        begun = time.monotonic()
        try:
            outcome = self._add(day, spends) if spends else self._look(day)
        except Exception as error:  # noqa: BLE001 - a session continues without its ledger
            reason = error.strerror if isinstance(error, OSError) else None
            outcome = _Outcome(problem=reason or str(error) or type(error).__name__)
        return msgspec.structs.replace(outcome, seconds=time.monotonic() - begun)

    def _look(self, day: str) -> _Outcome:
        mark = day, self._mark()
        if mark == self._last_mark:
            return _Outcome()
        stored = self._read(day)
        self._last_mark = mark
        return _Outcome(stored)

    def _add(self, day: str, spends: _Spends) -> _Outcome:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = os.path.join(self._folder, LOCK)
        fd = os.open(path, os.O_RDWR | CREATE | NO_LINK, 0o600)
        try:
            try:
                lock(fd, wait=False)  # it is released with the descriptor
            except BlockingIOError:
                return _Outcome(self._read(day))
            stored = _sum(self._read(day), spends)
            new = f"{self._path}.new"
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new)
            written = os.open(new, os.O_WRONLY | os.O_EXCL | CREATE, 0o600)
            with os.fdopen(written, "wb") as file:
                file.write(msgspec.json.encode(stored))
            os.replace(new, self._path)
            self._last_mark = day, self._mark()
            return _Outcome(stored, is_written=True)
        finally:
            os.close(fd)

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            status = os.lstat(self._path)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self, day: str) -> Spent:
        """Return the file's content for this day; nothing if the file is missing or damaged.

        Raises:
            OSError: It cannot be read now, and must not be replaced.
        """
        try:
            spent = msgspec.json.decode(_content(self._path), type=Spent)
        except (ValueError, msgspec.MsgspecError):
            spent = Spent(day=day)
        # A process in a time zone to the east begins the next day for all of them: otherwise each
        # would begin its own day again and again.
        if spent.day in {day, (date.fromisoformat(day) + timedelta(days=1)).isoformat()}:
            return spent
        return Spent(day=day, sessions=spent.sessions)


def _sum(spent: Spent, spends: _Spends) -> Spent:
    today, sessions = dict(spent.today), dict(spent.sessions)
    for spend in spends.values():
        sum_ = today.get(spend.currency, 0.0) + spend.added
        today[spend.currency] = round(sum_, _PLACES)
        session_id = spend.session_id
        # An agent may choose an id that is not text.
        is_text = session_id.encode(errors="replace").decode() == session_id
        if is_text and len(session_id) <= MAX_ID_CHARS:
            of_session = sessions.pop(session_id, {})
            sessions[session_id] = of_session | {spend.currency: spend.stated}
    newest = dict(list(sessions.items())[-MAX_SESSIONS:])
    return Spent(day=spent.day, today=today, sessions=newest)


def _content(path: str) -> bytes:
    """Return a file's content; nothing for a link, a pipe or a device, which we never write."""
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, READ)) as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(MAX_BYTES) if is_file else b""
    except FileNotFoundError:
        return b""
    except OSError as error:
        if error.errno == errno.ELOOP:
            return b""
        raise
