"""A gateway in the test's own process: it runs in a thread, with its agents beside it.

Owns what stands for a process there: the loop of a thread, its end, the signals that the main
thread takes for all, and what is one to a process. All else is the gateway's own code. For what a
process itself shows (a kill, a restart, a signal, a pid), there is `serving.Gateway`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest import mock

from lastword.cli.config.user_file import use
from lastword.cli.gateway import command
from lastword.cli.gateway.holder import holder_of
from lastword.cli.gateway.options import read
from lastword.gateway.front import control, process
from lastword.gateway.front.folders import run_folder_of
from lastword.gateway.front.process import FolderWatch
from lastword.sidecar import embedded
from tests.kit.gateway.serving import Place
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from lastword.gateway.front.process import Welcome
    from lastword.gateway.run_folder import PidFile


def copy_of(name: str, **replaced: object) -> ModuleType:
    """A module of ours, loaded once more, in which some names mean something else."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    vars(copy).update(replaced)
    return copy


# --- what is one to a process ---------------------------------------------------------------------


class Signals:
    """What the main thread hears of the system, for the links of every thread's agents."""

    fd = -1
    heard: set[Signals] = set()  # noqa: RUF012 - one for all

    def __init__(self, wake: Callable[[], object]) -> None:
        self._numbers: list[int] = []
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self.heard.add(self)

    def drain(self) -> list[int]:
        """Return the signals since the last call, in order."""
        numbers, self._numbers = self._numbers, []
        return numbers

    def _note(self, number: int) -> None:
        self._numbers.append(number)
        self._wake()

    @classmethod
    def begin(cls) -> None:
        signal.signal(signal.SIGCHLD, cls._take)

    @classmethod
    def _take(cls, number: int, _: object) -> None:
        for each in list(cls.heard):
            try:
                each._loop.call_soon_threadsafe(each._note, number)
            except RuntimeError:  # its loop has ended
                cls.heard.discard(each)


class _ThreadSignals:
    """What ends a gateway in a thread: a word, and not a signal."""

    is_reload = False

    def __init__(self) -> None:
        self.came = asyncio.Event()

    def receive(self) -> None:
        """Begin."""
        self.loop = asyncio.get_running_loop()

    def restore_defaults(self) -> None:
        """There is none."""

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.came.set)


@cache
def _warm() -> None:
    """Have what forks agents started, for which no holder's loop waits then."""
    subprocess.run([sys.executable, "-m", "lastword", "--version"], check=True, capture_output=True)


# --- the gateway ----------------------------------------------------------------------------------


class InsideGateway(Place):
    """One gateway of this process; used as `serving.Gateway` is."""

    def __init__(
        self,
        folder: Path,
        agent: Sequence[str],
        *options: str,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start one, whose state is in a folder and whose sessions work there."""
        super().__init__(folder, variables=variables)
        self.command = list(agent)
        _warm()
        self._ends = contextlib.ExitStack()
        self._ends.enter_context(mock.patch.dict(os.environ, self.environment, clear=True))
        self._ends.enter_context(contextlib.chdir(self.root))  # where agents start
        self._ends.enter_context(mock.patch.object(embedded, "LoopSignals", Signals))
        # An agent ends with the tests, since its stdin does: it needs no guardian.
        guards = mock.patch.object(embedded.EmbeddedSidecar, "_guardian_of", return_value=None)
        self._ends.enter_context(guards)
        # Where the kernel would send a signal, which a thread does not get, they look.
        self._ends.enter_context(mock.patch.object(FolderWatch, "renew"))
        self._ends.enter_context(mock.patch.object(process, "UNWATCHED_SECONDS", 0.2))
        file = self._ends.enter_context((folder / "stderr").open("a", buffering=1))
        self._ends.enter_context(mock.patch.object(sys, "stderr", file))
        logged = logging.StreamHandler(file)
        logging.getLogger().addHandler(logged)
        self._ends.callback(logging.getLogger().removeHandler, logged)
        # What the gateway adds to its server's, to stderr as it is then, ends with its process.
        of_server = logging.getLogger("uvicorn.error")
        self._ends.enter_context(mock.patch.object(of_server, "handlers", []))
        Signals.begin()
        self._signals: list[_ThreadSignals] = []
        self._failure: BaseException | None = None
        self._welcome = threading.Event()
        words = ["--listen", "127.0.0.1:0", "--root", str(self.root), *options, "--", *agent]
        settings = read(words, use(words, "gateway"))
        front = self._front()

        def run() -> None:
            try:
                front.serve(settings, self._ready, holder_of)
            except BaseException as error:  # noqa: BLE001 - told by who started it
                self._failure = error
                self._welcome.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert self._welcome.wait(FUSE_SECONDS), "the fuse burned: the gateway serves"
        if self._failure is not None:
            self._tidy()
            raise self._failure

    def _front(self) -> ModuleType:
        """The module of the gateway's process, with a thread for one."""

        def signals() -> _ThreadSignals:
            self._signals.append(_ThreadSignals())
            return self._signals[-1]

        front = copy_of("lastword.gateway.front.process", FrontSignals=signals, hold=lambda: None)
        listening, pid_file = front._listening, front.PidFile

        def listens(host: str, port: int) -> socket.socket:
            made: socket.socket = listening(host, port)
            return self._ends.enter_context(made)

        def locked(run_folder: str, inherited: int) -> PidFile:
            made: PidFile = pid_file(run_folder, inherited)
            self._ends.callback(lambda: os.close(made.number))
            return made

        # The end of a process closes what it has open.
        vars(front).update(_listening=listens, PidFile=locked)
        return front

    def _ready(self, welcome: Welcome) -> None:
        self.url = welcome.url
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])
        # By its environment, which is another's once a further one has started.
        self._run_folder = run_folder_of(str(self.state), self.port)
        self._welcome.set()

    def holders(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = control.ask(self._run_folder, control.STATUS)["holders"]
        for each in found:
            del each["pid"]  # it is the test's own, which nobody may kill
        return found

    def link(self, page: str = "", *options: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            place = page or f"http://127.0.0.1:{self.port}"
            assert command.main(["token", "--link", place, *options]) == 0
        return printed.getvalue().strip()

    def close(self) -> None:
        if not self._signals:  # it is closed
            return
        try:
            self._signals.pop().end()
            self._thread.join(FUSE_SECONDS)
            assert not self._thread.is_alive(), "the fuse burned: the gateway ends"
        finally:
            self._tidy()
        if self._failure is not None:
            raise self._failure

    def _tidy(self) -> None:
        self._ends.close()
        shutil.rmtree(self.runtime, ignore_errors=True)
