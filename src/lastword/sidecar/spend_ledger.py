"""The ledger of what was spent: a small file beside the record, which all processes share.

Owns the file and its lock. It has what was spent on the user's present day, and what the latest
sessions have cost. Costs are collected for a write, of which there are a few in a second at most.
What cannot be written then, because of another process or the disk, is kept for the next; only the
end waits. Loaded where `--spend-limit` holds for sessions or days.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.costs import Spent
from lastword.platform import locks
from lastword.platform.files import CREATE, NO_LINK, READ

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.link.effects import Spend

FILE = "spending.json"
LOCK = "spending.lock"

MAX_SESSIONS = 512
"""Sessions that are remembered, the latest; a file of some tens of kilobytes."""

MAX_ID_CHARS = 1024
"""A session with a longer id is not remembered, so that the file stays within its size."""

MAX_BYTES = 4 * 1024 * 1024
WRITE_SECONDS = 0.25
"""How long costs are collected for one write: it takes a millisecond, in the sidecar's loop."""

RETRY_SECONDS = 5.0
"""How long to wait before trying again to write to a disk that has failed."""

LOOK_SECONDS = 5.0
"""How often to look, during a turn, at what other processes have spent."""

PAUSE_SECONDS = 0.01
"""The time between attempts to take the lock at the end. It is held for a millisecond or two."""

_PLACES = 9


def local_day() -> str:
    """Return the user's local day, such as `2026-11-25`."""
    return time.strftime("%Y-%m-%d")


class SpendLedger:
    """What was spent in all, by this process and others."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, FILE)
        self._read_mark: tuple[int, int, int] | None = None
        self._latest = Spent(day="")
        self._unwritten: dict[tuple[str, str], Spend] = {}
        self._write_at = self._look_at = 0.0
        self.problem: str | None = None
        """Why the file cannot be used, since it could not the last time."""

    def add(self, spend: Spend) -> None:
        """Keep what was spent here, once for each session: a disk may stay full for long."""
        earlier = self._unwritten.pop((spend.session_id, spend.currency), None)
        if earlier is not None:
            spend = msgspec.structs.replace(spend, added=earlier.added + spend.added)
        self._unwritten[spend.session_id, spend.currency] = spend

    def due(self, *, in_turn: bool) -> float | None:
        """Return when to call `tend`."""
        if self._unwritten:
            return self._write_at
        return self._look_at if in_turn else None

    def tend(self, now: float) -> Spent | None:
        """Write and look if that is due; return what is known if it may have changed."""
        if self._unwritten and now >= self._write_at:
            spent = self._settle()
            self._write_at = now + (WRITE_SECONDS if self.problem is None else RETRY_SECONDS)
            return spent
        if now < self._look_at:
            return None
        self._look_at = now + LOOK_SECONDS
        return self.look()

    def look(self) -> Spent | None:
        """Return what is known if another process has spent, or a new day has begun."""
        day, mark = local_day(), self._mark()
        if mark == self._read_mark and day == self._latest.day:
            return None
        try:
            spent = self._with_unwritten(self._read(day))
        except OSError:
            return None
        self._read_mark = mark
        return spent

    def close(self, seconds: float) -> bool:
        """Write what is left, waiting this long for other processes; return whether all is written.

        A disk that fails is not waited for.
        """
        end = time.monotonic() + seconds
        while self._unwritten:
            self._settle()
            if self._unwritten:
                if self.problem is not None or time.monotonic() >= end:
                    return False
                time.sleep(PAUSE_SECONDS)
        return True

    def _settle(self) -> Spent | None:
        """Write what was spent here, unless another process writes; return what is known then."""
        day = local_day()
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with self._locked() as is_ours:
                spent = self._with_unwritten(self._read(day))
                if is_ours:
                    self._write(spent)
                    self._unwritten.clear()
                    self._read_mark = self._mark()
        except OSError as error:
            self.problem = error.strerror or str(error)
            return None
        self.problem = None
        return spent

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        path = os.path.join(self._folder, LOCK)
        fd = os.open(path, os.O_RDWR | CREATE | NO_LINK, 0o600)
        try:
            yield _lock(fd)
        finally:
            os.close(fd)

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            status = os.lstat(self._path)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self, day: str) -> Spent:
        """Return what the file says of this day; nothing if there is none, or it is damaged.

        Raises:
            OSError: It cannot be read now; what it has must not be replaced.
        """
        try:
            spent = msgspec.json.decode(_content(self._path), type=Spent)
        except (ValueError, msgspec.MsgspecError):
            spent = Spent(day=day)
        # A process in a time zone to the east begins a day earlier, for all of them: they would
        # otherwise take turns at beginning it anew.
        if spent.day in {day, _day_after(day)}:
            return spent
        return Spent(day=day, sessions=spent.sessions)

    def _with_unwritten(self, spent: Spent) -> Spent:
        today, sessions = dict(spent.today), dict(spent.sessions)
        for spend in self._unwritten.values():
            sum_ = today.get(spend.currency, 0.0) + spend.added
            today[spend.currency] = round(sum_, _PLACES)
            if _can_be_written(spend.session_id):
                of_session = sessions.pop(spend.session_id, {})
                sessions[spend.session_id] = of_session | {spend.currency: spend.stated}
        newest = dict(list(sessions.items())[-MAX_SESSIONS:])
        self._latest = Spent(day=spent.day, today=today, sessions=newest)
        return self._latest

    def _write(self, spent: Spent) -> None:
        new = f"{self._path}.new"  # the lock is ours
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        fd = os.open(new, os.O_WRONLY | os.O_EXCL | CREATE, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(spent))
        os.replace(new, self._path)


def _can_be_written(session_id: str) -> bool:
    """Return whether a session can be remembered: an agent may choose an id that is not text."""
    is_text = session_id.encode(errors="replace").decode() == session_id
    return is_text and len(session_id) <= MAX_ID_CHARS


def _day_after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _content(path: str) -> bytes:
    """Return what a file has; nothing for a link, a queue or a device, which we never write."""
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


def _lock(fd: int) -> bool:
    """Return whether the lock is ours; it goes with the descriptor."""
    try:
        locks.lock(fd, wait=False)
    except BlockingIOError:
        return False
    return True
