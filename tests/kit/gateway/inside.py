"""A gateway in the test's own process: its real front and holders in threads, its agents beside it.

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
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec

from lastword.cli.config.user_file import use
from lastword.cli.gateway import command
from lastword.cli.gateway.options import read
from lastword.gateway.front.folders import run_folder_of
from lastword.gateway.front.holders import Holders
from lastword.gateway.holder.process import Holder
from lastword.gateway.holder.session import HeldSession
from lastword.gateway.log.owner import LogOwnedError
from lastword.gateway.log.session_log import session_log
from lastword.gateway.settings.holder import HolderSettings
from lastword.platform import folder_watch
from lastword.platform.folder_watch import FolderWatch
from tests.kit.gateway.serving import LOOK_SECONDS, Place
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
    from pathlib import Path

    from lastword.gateway.front.process import Welcome
    from lastword.gateway.log.store import OpenLog
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
        """Begin, in a thread with a running loop."""
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


class OfThread(list[HeldSession]):
    """The sessions that a holder has opened: those of its thread alone."""

    def __init__(self) -> None:
        self._own = threading.local()

    def append(self, session: HeldSession) -> None:
        vars(self._own).setdefault("sessions", []).append(session)

    def __iter__(self) -> Iterator[HeldSession]:
        return iter(vars(self._own).get("sessions", ()))


_embedded = copy_of("lastword.sidecar.embedded", LoopSignals=Signals)
# An agent ends with the tests, since its stdin does: it needs no guardian.
_embedded.EmbeddedSidecar._guardian_of = lambda *_: None
_program = copy_of("lastword.cli.gateway.holder", EmbeddedSidecar=_embedded.EmbeddedSidecar)


def hold(settings: HolderSettings, open_log: OpenLog) -> int:
    """Hold an agent, as the holder's program does; return its status."""
    options = _program._run_options(settings)
    assert options is not None, "what its options are refused for is for a real process"
    timeout = str(options.values.get("ask_timeout", ""))
    settings = msgspec.structs.replace(settings, question_timeout=timeout)
    notifier = _program.HolderNotices(settings, options)
    agent = partial(_program.agent_of, settings, options, notifier.notices)
    try:
        holder = Holder(settings, agent, open_log, notifier.notices)
        try:
            with asyncio.Runner() as runner:
                runner.run(holder.run())
                # The end of a process closes what it has open.
                for link in list(runner.get_loop()._transports.values()):  # type: ignore[attr-defined]
                    link.abort()
                runner.run(asyncio.sleep(0))
        finally:
            holder.reports.finish()
    except LogOwnedError:
        return 1
    finally:
        notifier.close()
    return 0


class HolderThread(io.BytesIO):
    """A holder, as its front has it: a process, whose settings are written to it."""

    def __init__(self, open_log: OpenLog) -> None:
        super().__init__()
        self.stdin = self
        self._open_log = open_log
        self._status: int | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def close(self) -> None:
        """Begin: it has its settings."""
        if not self.closed:
            self._settings = msgspec.json.decode(self.getvalue(), type=HolderSettings)
            super().close()
            self.thread.start()

    def _run(self) -> None:
        status = 1
        try:
            status = hold(self._settings, self._open_log)
        finally:
            self._status = status

    def poll(self) -> int | None:
        """Return its status, once it has ended."""
        return self._status


class _FrontSignals:
    """What ends a front in a thread: a word, and not a signal."""

    is_reload = False

    def __init__(self) -> None:
        self._end = asyncio.Event()

    def receive(self) -> None:
        """Begin: the loop of a thread gets no signals, and what it is told of them is let go."""
        self.loop = asyncio.get_running_loop()
        real = self.loop.add_signal_handler

        def add(number: int, *rest: Any) -> None:
            if number != signal.SIGCHLD:  # a front's children are threads here
                real(number, *rest)

        self.loop.add_signal_handler = add  # type: ignore[method-assign]

    def restore_defaults(self) -> None:
        """There is none."""

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self._end.set)

    async def wait(self) -> None:
        await self._end.wait()


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
        open_log: OpenLog = session_log,
    ) -> None:
        """Start one, whose state is in a folder and whose sessions work there."""
        super().__init__(folder, variables=variables)
        _warm()
        self._ends = contextlib.ExitStack()
        self._ends.enter_context(mock.patch.dict(os.environ, self.environment, clear=True))
        self._ends.enter_context(contextlib.chdir(self.root))  # where agents start
        self._ends.enter_context(mock.patch.object(HeldSession, "opened", OfThread()))
        # Where the kernel would send a signal, which a thread does not get, they look.
        self._ends.enter_context(mock.patch.object(FolderWatch, "renew"))
        self._ends.enter_context(mock.patch.object(folder_watch, "UNWATCHED_SECONDS", 0.2))
        file = self._ends.enter_context((folder / "stderr").open("a", buffering=1))
        self._ends.enter_context(mock.patch.object(sys, "stderr", file))
        logged = logging.StreamHandler(file)
        logging.getLogger().addHandler(logged)
        self._ends.callback(logging.getLogger().removeHandler, logged)
        Signals.begin()
        self._held: list[HolderThread] = []
        self._signals: list[_FrontSignals] = []
        self._failure: BaseException | None = None
        self._welcome = threading.Event()
        words = ["--listen", "127.0.0.1:0", "--root", str(self.root), *options, "--", *agent]
        settings = read(words, use(words, "gateway"))
        front = self._front(open_log)

        def run() -> None:
            try:
                front.serve(settings, self._ready)
            except BaseException as error:  # noqa: BLE001 - told by who started it
                self._failure = error
                self._welcome.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert self._welcome.wait(FUSE_SECONDS), "the fuse burned: the front serves"
        if self._failure is not None:
            self._tidy()
            raise self._failure

    def _front(self, open_log: OpenLog) -> ModuleType:
        """The front's module, with threads for processes."""

        def popen(*_: object, **__: object) -> HolderThread:
            self._held.append(HolderThread(open_log))
            return self._held[-1]

        def signals() -> _FrontSignals:
            self._signals.append(_FrontSignals())
            return self._signals[-1]

        system = SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
        holders = copy_of("lastword.gateway.front.holders", subprocess=system)
        front = copy_of(
            "lastword.gateway.front.process",
            Holders=holders.Holders,
            FrontSignals=signals,
            hold=lambda: None,
            _reap=lambda: None,
        )
        listening, pid_file = front._listening, front._pid_file

        def listens(host: str, port: int) -> socket.socket:
            made: socket.socket = listening(host, port)
            return self._ends.enter_context(made)

        def locked(run_folder: str, inherited: int) -> PidFile:
            made: PidFile = pid_file(run_folder, inherited)
            self._ends.callback(lambda: os.close(made.number))
            return made

        # The end of a process closes what it has open.
        vars(front).update(_listening=listens, _pid_file=locked)
        return front

    def _ready(self, welcome: Welcome) -> None:
        self.url = welcome.url
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])
        self._welcome.set()

    def holders(self) -> list[dict[str, Any]]:
        """How its holders are."""
        found: list[dict[str, Any]] = self._ask(Holders.statuses)
        for each in found:
            del each["pid"]  # it is the test's own, which nobody may kill
        return found

    def link(self, page: str = "", *options: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            place = page or f"http://127.0.0.1:{self.port}"
            assert command.main(["token", "--link", place, *options]) == 0
        return printed.getvalue().strip()

    def end_holders(self) -> None:
        """End its agents, as `lastword gateway stop --agents` does."""
        begun = [each.thread for each in self._held if each.thread.ident is not None]
        burns_at = time.monotonic() + FUSE_SECONDS
        while begun := [each for each in begun if each.is_alive()]:
            assert time.monotonic() < burns_at, "the fuse burned: its holders end"
            self._ask(Holders.stop_all)  # again, for one that has begun just now
            begun[0].join(LOOK_SECONDS)

    def _ask(self, what: Callable[[Holders], Coroutine[Any, Any, Any]]) -> Any:
        """Ask its holders, in a thread, since the test may have a loop that runs."""
        folder = run_folder_of(str(self.state), self.port)
        known = Holders(HolderSettings(run_folder=folder))
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, what(known)).result(FUSE_SECONDS)

    def close(self) -> None:
        if not self._signals:  # it is closed
            return
        try:
            self._signals.pop().end()
            self._thread.join(FUSE_SECONDS)
            assert not self._thread.is_alive(), "the fuse burned: the front ends"
            self.end_holders()
        finally:
            self._tidy()
        if self._failure is not None:
            raise self._failure

    def _tidy(self) -> None:
        self._ends.close()
        shutil.rmtree(self.runtime, ignore_errors=True)
