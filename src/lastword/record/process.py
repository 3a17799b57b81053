"""The sidecar's way to the store: a process of its own, which may wait for the disk.

Owns that process and the pipe to it. It outlives a sidecar that is killed for as long as it takes
to write what it was sent, and it never holds one up: what the pipe does not take is counted and
lost.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.posix.process import close, widen
from lastword.record.run import Row, Run, storable

if TYPE_CHECKING:
    from lastword.record.retention import Limits
    from lastword.record.sink import StartTelemetry, StoreSink

MAX_PENDING_BYTES = 1024 * 1024
"""What waits for a recorder that does not read, beside the pipe's own megabyte."""

CLOSE_SECONDS = 1.0
"""How long our end waits for the recorder's last words to be on disk."""

LAST_SECONDS = 20
"""How long the recorder may live on after us."""

BATCH_SECONDS = 0.2
"""How long entries are collected for one transaction."""

_END = b"\n"
"""An empty line: the sidecar itself said that there is no more."""

_READ_BYTES = 64 * 1024
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class RecorderProcess:
    """A forked process that writes rows, and our end of its pipe."""

    __slots__ = ("_encoder", "_fd", "_pending", "_pid")

    def __init__(
        self,
        path: str | None,
        run: Run,
        limits: Limits,
        *,
        telemetry: StartTelemetry | None = None,
    ) -> None:
        """Fork it. To be called before any thread exists. Telemetry is begun in there.

        Raises:
            OSError: no process, or no pipe, is to be had.
        """
        read_end, write_end = os.pipe()
        try:
            self._pid = self._begin(read_end, path, run, limits, telemetry)
        except OSError:
            close(write_end)
            raise
        finally:
            close(read_end)
        widen(write_end)
        os.set_blocking(write_end, False)
        self._fd = write_end
        self._pending = bytearray()
        self._encoder = msgspec.json.Encoder()

    def _begin(
        self,
        read_end: int,
        path: str | None,
        run: Run,
        limits: Limits,
        telemetry: StartTelemetry | None,
    ) -> int:
        """Begin the process, which reads there; gives its id."""
        pid = os.fork()
        if pid == 0:
            _live(read_end, path, run, limits, telemetry)
        return pid

    def send(self, rows: list[Row]) -> None:
        """Send rows, as far as there is room."""
        if self._fd < 0:
            return
        if len(self._pending) < MAX_PENDING_BYTES:
            for row in rows:
                self._pending += self._encoded(row) + b"\n"
        self._flush()

    def _encoded(self, row: Row) -> bytes:
        try:
            return self._encoder.encode(row)
        except UnicodeEncodeError:
            return self._encoder.encode(storable(row))

    def _flush(self) -> None:
        try:
            while self._pending:
                written = os.write(self._fd, self._pending[:_READ_BYTES])
                del self._pending[:written]
        except BlockingIOError:
            return
        except OSError:
            # Somebody ended it. There is nobody to tell, and no turn that would care.
            self._give_up()

    def close(self) -> None:
        """Let it finish; a disk that hangs is not waited for."""
        deadline = time.monotonic() + CLOSE_SECONDS
        self._pending += _END
        while self._pending and self._fd >= 0 and time.monotonic() < deadline:
            select.select([], [self._fd], [], 0.05)
            self._flush()
        self._give_up()
        while time.monotonic() < deadline and not self._reaped():
            time.sleep(0.002)

    def _give_up(self) -> None:
        if self._fd >= 0:
            close(self._fd)
            self._fd = -1
            self._pending.clear()

    def _reaped(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True


def _live(
    read_end: int,
    path: str | None,
    run: Run,
    limits: Limits,
    start_telemetry: StartTelemetry | None,
) -> None:
    """The recorder's whole life; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        # First of all: a copy of a pipe's end would keep somebody from seeing it closed.
        os.dup2(read_end, 0)
        os.closerange(1, 4096)
        live(path, run, limits, start_telemetry)
    finally:
        os._exit(0)


def live(
    path: str | None, run: Run, limits: Limits, start_telemetry: StartTelemetry | None
) -> None:
    """Write what comes on stdin until there is no more; stdin is the one descriptor in use."""
    os.setsid()
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.umask(0o077)
    os.nice(5)
    # A file of SQLite's must not be given the number of a standard stream.
    for _ in range(2):
        os.open(os.devnull, os.O_RDWR)
    # Loaded here: the sidecar itself never needs them.
    from lastword.core.redact.known_secrets import secrets_of  # noqa: PLC0415
    from lastword.record.sink import StoreSink  # noqa: PLC0415

    secrets = secrets_of(os.environ)
    telemetry = None if start_telemetry is None else start_telemetry(run)
    _write_all(StoreSink(path, run, limits, telemetry=telemetry, secrets=secrets))


def _write_all(sinks: StoreSink) -> None:
    decoder = msgspec.json.Decoder(Row)
    rest = b""
    ended = False
    while True:
        data = os.read(0, _READ_BYTES)
        if not data:
            break
        # What comes together goes to the disk together.
        deadline = time.monotonic() + BATCH_SECONDS
        while len(data) < MAX_PENDING_BYTES:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([0], [], [], left)[0]:
                break
            more = os.read(0, _READ_BYTES)
            if not more:
                break
            data += more
        *lines, rest = (rest + data).split(b"\n")
        ended = ended or b"" in lines
        sinks.send([decoder.decode(line) for line in lines if line])
    signal.alarm(LAST_SECONDS)
    sinks.close(ended=ended)
