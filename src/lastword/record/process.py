"""The recorder process: how the sidecar writes to the store without waiting for the disk.

Owns that process and the pipe to it. If the sidecar is killed, the process lives on until it has
written what it was sent. It never delays the sidecar: what the pipe does not accept is counted and
lost. A failure that is to be reported stays here until the recorder has written it, and is sent to
another recorder if the first is killed.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from lastword.core.timeline.entry import Kind
from lastword.platform import pipes
from lastword.platform.signals import ENDING
from lastword.record.run import Row, Run, storable
from lastword.record.sinks_of import sinks_of

assert sys.platform != "win32"  # noqa: S101 - for type checkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.record.paths import Limits
    from lastword.record.sink import StartReportSink, StartSink, StoreSink

MAX_PENDING_BYTES = 1024 * 1024
"""How much waits for a recorder that does not read, besides the pipe's own megabyte."""

CLOSE_SECONDS = 1.0
"""How long our end waits until the recorder's last entries are on disk."""

LAST_SECONDS = 20
"""How long the recorder may live on after us."""

BATCH_SECONDS = 0.2
"""How long entries are collected for one transaction."""

RETRY_SECONDS = 5.0
"""How long to wait before trying again to write to the store."""

_END = b"\n"
"""An empty line: the sidecar itself ended the stream."""

MAX_LIVES = 5
"""How often a killed recorder is replaced if failures are to be reported."""

MAX_UNCONFIRMED = 256
"""The most failures that wait for a recorder's confirmation."""

_URGENT = b'["%s",' % Kind.ERROR.value.encode()
"""The beginning of a failure's row."""

_READ_BYTES = 64 * 1024


class RecorderProcess:
    """A forked process that writes rows, and our end of its pipe."""

    __slots__ = (
        *("_board", "_encoder", "_fd", "_unconfirmed", "_let_go", "_lives", "_pending", "_pid"),
        "_start",
    )

    def __init__(  # noqa: PLR0913 - what a recorder may have
        self,
        path: str | None,
        run: Run,
        limits: Limits,
        *,
        telemetry: StartSink | None = None,
        reports: StartReportSink | None = None,
        board: Board | None = None,
    ) -> None:
        """Fork it. Must be called before any thread exists.

        Args:
            path: the path of the store; `None` keeps no record.
            run: the run.
            limits: the limits of the store.
            telemetry: starts telemetry, in the new process.
            reports: starts reports, in the new process; each failure reaches them, even if a
                recorder is killed.
            board: the board, where what starts reports is not known here.

        Raises:
            OSError: no process, or no pipe, could be created.
        """
        self._board = Board() if reports is not None else board
        self._unconfirmed: deque[bytes] = deque()
        self._let_go = 0
        self._lives = 1
        self._pending = bytearray()
        self._encoder = msgspec.json.Encoder()
        self._start = partial(sinks_of, path, run, limits, telemetry=telemetry, reports=reports)
        self._pid, self._fd = self._opened()

    def _opened(self) -> tuple[int, int]:
        """Return a recorder's process id, and our end of its pipe."""
        read_end, write_end = os.pipe()
        try:
            pid = self._begin(read_end)
        except OSError:
            pipes.close(write_end)
            raise
        finally:
            pipes.close(read_end)
        pipes.widen(write_end)
        os.set_blocking(write_end, False)
        return pid, write_end

    def _begin(self, read_end: int) -> int:
        """Start the process, which reads from that end, and return its id."""
        pid = os.fork()
        if pid == 0:
            _live(read_end, self._start, self._board)
        return pid

    def send(self, rows: list[Row]) -> None:
        """Send rows, as far as there is room.

        Without rows, a recorder that was killed before it had written down a failure is replaced.
        With rows, the pipe itself shows that its reader is gone.
        """
        if self._fd < 0:
            return
        if not rows and self._unconfirmed and self._reaped():
            self._give_up()
            if not self._begin_again():
                return
        if len(self._pending) < MAX_PENDING_BYTES:
            for row in rows:
                try:
                    line = self._encoder.encode(row) + b"\n"
                except UnicodeEncodeError:
                    line = self._encoder.encode(storable(row)) + b"\n"
                self._pending += line
                if self._board is not None and line.startswith(_URGENT):
                    self._forget_written()
                    self._unconfirmed.append(line)
                    if len(self._unconfirmed) > MAX_UNCONFIRMED:
                        self._unconfirmed.popleft()
                        self._let_go += 1
        self._flush()

    def _forget_written(self) -> None:
        if self._board is not None:
            written = self._board.drain()
            # Those that were dropped came before those that are kept.
            position = min(written, self._let_go)
            self._let_go -= position
            for _ in range(min(written - position, len(self._unconfirmed))):
                self._unconfirmed.popleft()

    def _flush(self) -> None:
        try:
            while self._pending:
                written = os.write(self._fd, self._pending[:_READ_BYTES])
                del self._pending[:written]
        except BlockingIOError:
            return
        except OSError:
            # The recorder was killed, which is not reported: no turn depends on it.
            self._give_up()
            self._reaped()
            self._begin_again()

    def _begin_again(self) -> bool:
        """Send unwritten failures, if there are any, to another recorder; return whether it began.

        The first one must have ended, so that it is known what it has written.
        """
        self._forget_written()
        if not self._unconfirmed or self._lives >= MAX_LIVES:
            return False
        self._lives += 1
        self._let_go = 0
        try:
            self._pid, self._fd = self._opened()
        except OSError:
            return False
        self._pending += b"".join(self._unconfirmed)
        self._flush()
        return True

    def close(self) -> None:
        """Have it finish, without waiting for a disk that hangs."""
        deadline = time.monotonic() + CLOSE_SECONDS
        again = True
        while again:
            self._pending += _END
            while self._pending and self._fd >= 0 and time.monotonic() < deadline:
                # Not `select`, which accepts no descriptor from 1024 up: an editor may have left us
                # as many.
                poll = select.poll()
                poll.register(self._fd, select.POLLOUT)
                poll.poll(50)
                self._flush()
            self._give_up()
            ended = False
            while time.monotonic() < deadline and not ended and not self._is_written:
                ended = self._reaped()
                if not ended:
                    time.sleep(0.002)
            again = ended and not self._is_written and self._begin_again()

    @property
    def _is_written(self) -> bool:
        """Return whether everything is on disk, and the recorder has only reports left to send."""
        return self._board is not None and self._board.is_closed

    def _give_up(self) -> None:
        if self._fd >= 0:
            pipes.close(self._fd)
            self._fd = -1
            self._pending.clear()

    def _reaped(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True


class Board:
    """Memory that the recorder writes and the sidecar reads, even if either dies."""

    __slots__ = ("_counted", "_memory", "_unwritten")

    def __init__(self, file: int = -1) -> None:
        """Use the first page of a shared file, or with -1 memory that a fork inherits."""
        self._memory = mmap.mmap(file, mmap.PAGESIZE)
        self._counted = self._unwritten = 0

    def expect(self, count: int) -> None:
        """Note how many more failures are to be written."""
        self._unwritten += count

    def written(self) -> None:
        position = int.from_bytes(self._memory[:8], "little")
        self._memory[:8] = (position + self._unwritten).to_bytes(8, "little")
        self._unwritten = 0

    def drain(self) -> int:
        """Return how many more are on disk since the last call."""
        position = int.from_bytes(self._memory[:8], "little")
        news, self._counted = position - self._counted, position
        return news

    def close(self) -> None:
        self._memory[8] = 1

    @property
    def is_closed(self) -> bool:
        return self._memory[8] == 1


def _live(read_end: int, start: Callable[[], StoreSink], board: Board | None) -> None:
    """Run the recorder and exit."""
    try:
        signal.set_wakeup_fd(-1)
        # First of all, since a copy of a pipe's end would hide its closing from the reader.
        os.dup2(read_end, 0)
        os.closerange(1, 4096)
        live(start, board)
    finally:
        os._exit(0)


def live(start: Callable[[], StoreSink], board: Board | None = None) -> None:
    """Write the rows that arrive on stdin, the only descriptor in use, until its end."""
    os.setsid()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.umask(0o077)
    os.nice(5)
    # SQLite's files must not get the number of a standard stream.
    for _ in range(2):
        os.open(os.devnull, os.O_RDWR)
    sinks = start()
    decoder = msgspec.json.Decoder(Row)
    rest = b""
    ended = False
    while True:
        while sinks.is_behind and not select.select([0], [], [], RETRY_SECONDS)[0]:
            sinks.send([])
        data = os.read(0, _READ_BYTES)
        if not data:
            break
        # Rows that arrive together are written together, except those to be reported.
        deadline = time.monotonic() + BATCH_SECONDS
        while len(data) < MAX_PENDING_BYTES and not (board is not None and _URGENT in data):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([0], [], [], left)[0]:
                break
            more = os.read(0, _READ_BYTES)
            if not more:
                break
            data += more
        *lines, rest = (rest + data).split(b"\n")
        ended = ended or b"" in lines
        if board is not None:
            board.expect(sum(line.startswith(_URGENT) for line in lines))
        note = None if board is None else board.written
        sinks.send([decoder.decode(line) for line in lines if line], note=note)
    signal.alarm(LAST_SECONDS)
    sinks.close_record(ended=ended)
    if board is not None:
        board.close()
    sinks.close_others()
