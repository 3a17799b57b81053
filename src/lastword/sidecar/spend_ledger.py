"""The ledger of what was spent: a small file beside the record, which all processes share.

Owns the file and its lock. It has what was spent on the user's present day, and what the latest
sessions have cost. Never waits: what cannot be written now, because of another process or the disk,
is kept and written with the next cost. Loaded where `--spend-limit` holds for sessions or days.
"""

from __future__ import annotations

import contextlib
import os
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.costs import Spent
from lastword.platform import locks
from lastword.platform.files import CREATE, NO_LINK

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
TRIES, PAUSE_SECONDS = 10, 0.002
"""How often the lock is tried for: whoever has it needs less than a millisecond."""

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
        self.problem: str | None = None
        """Why the file cannot be used, since it could not the last time."""

    @property
    def is_behind(self) -> bool:
        """Return whether something is not written yet."""
        return bool(self._unwritten)

    def look(self) -> Spent | None:
        """Return what is known if another process has spent, or a new day has begun."""
        day, mark = local_day(), self._mark()
        if mark == self._read_mark and day == self._latest.day:
            return None
        self._read_mark = mark
        return self._with_unwritten(self._read(day))

    def add(self, spend: Spend) -> Spent:
        """Add what was spent here; return what is known then."""
        self._keep(spend)
        day = local_day()
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with self._locked() as is_ours:
                if not is_ours:
                    return self._with_unwritten(self._read(day))
                spent = self._with_unwritten(self._read(day))
                self._write(spent)
        except OSError as error:
            self.problem = error.strerror or str(error)
            return self._with_unwritten(self._read(day))
        self.problem = None
        self._unwritten.clear()
        self._read_mark = self._mark()
        return spent

    def _keep(self, spend: Spend) -> None:
        """Keep what is to be written, once for each session: a disk may stay full for long."""
        earlier = self._unwritten.pop((spend.session_id, spend.currency), None)
        if earlier is not None:
            spend = msgspec.structs.replace(spend, added=earlier.added + spend.added)
        self._unwritten[spend.session_id, spend.currency] = spend

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
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self, day: str) -> Spent:
        """Return what the file says of this day; nothing if there is none, or it is damaged."""
        try:
            with open(self._path, "rb") as file:
                spent = msgspec.json.decode(file.read(MAX_BYTES), type=Spent)
        except (OSError, ValueError, msgspec.MsgspecError):
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
        fd = os.open(new, os.O_WRONLY | os.O_TRUNC | CREATE, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(spent))
        os.replace(new, self._path)


def _can_be_written(session_id: str) -> bool:
    """Return whether a session can be remembered: an agent may choose an id that is not text."""
    is_text = session_id.encode(errors="replace").decode() == session_id
    return is_text and len(session_id) <= MAX_ID_CHARS


def _day_after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _lock(fd: int) -> bool:
    """Return whether the lock is ours, after a moment at most; it goes with the descriptor."""
    for _ in range(TRIES):
        try:
            locks.lock(fd, wait=False)
        except BlockingIOError:
            time.sleep(PAUSE_SECONDS)
        else:
            return True
    return False
