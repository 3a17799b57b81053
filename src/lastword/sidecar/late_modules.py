"""Modules loaded in a thread, so that no frame waits for what only a look or a timer needs.

Owns the thread, which may do other work, too, and the lists of modules that are loaded together.
The loop continues meanwhile: a thread that imports yields to it every half millisecond.
"""

from __future__ import annotations

import _thread
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

FAILURE = (
    "lastword.core.classify",
    "lastword.core.classify.writers",
    "lastword.core.failure.phrases",
    "lastword.core.failure.payload",
    "lastword.core.failure.wording",
    "lastword.core.redact.redactor",
)
"""What a failed call needs, loaded together."""

JOURNALS = (
    "lastword.quirks.journals",
    "lastword.platform.process_tree",
    "lastword.sidecar.journal_files",
    "lastword.sidecar.journals",
)
"""What the first prompt needs, without the delay of a thread."""

JOURNAL_LINES = ("lastword.sidecar.journal_lines", *FAILURE)
LOG_LINES = ("lastword.sidecar.log_lines", *FAILURE)
SILENCE = ("lastword.sidecar.silence",)

SWITCH_SECONDS = 0.0005
"""How long the loop waits at most for the interpreter while a thread has it."""

USUAL_SECONDS = sys.getswitchinterval()


class LateModules:
    """Modules that are loaded together, once they are needed."""

    __slots__ = ("_done", "_names", "_started")

    in_progress: ClassVar[int] = 0
    """How many threads are at work."""
    began_at: ClassVar[float] = 0.0
    """When the last thread began."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._started = self._done = False

    def loaded(self) -> bool:
        """Return whether they are loaded; the first call begins to load them."""
        if not self._started:
            self._started = True
            if not LateModules.in_progress and all(name in sys.modules for name in self._names):
                self._done = True
                return True
            LateModules.in_progress += 1
            LateModules.began_at = time.monotonic()
            sys.setswitchinterval(SWITCH_SECONDS)
            try:
                _thread.start_new_thread(self._load, ())
            except RuntimeError:
                # No more threads: they are loaded where they are needed.
                self._end()
        return self._done

    def _load(self) -> None:
        try:
            for name in self._names:
                import_module(name)
        except Exception:  # noqa: BLE001 - importing where it is needed raises it again
            return
        finally:
            self._end()

    def _end(self) -> None:
        LateModules.in_progress -= 1
        if not LateModules.in_progress:
            sys.setswitchinterval(USUAL_SECONDS)
        self._done = True


class _Work(LateModules):
    """Other work, which the loop waits for in the same way."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(("",))  # no module has this name: the thread is started
        self._work = work

    def _load(self) -> None:
        try:
            self._work()
        finally:
            self._end()


def run(work: Callable[[], None]) -> Generator[None]:
    """Do something in a thread; yield until it is done, or no thread can be started."""
    thread = _Work(work)
    while not thread.loaded():
        yield


def load(names: tuple[str, ...]) -> Generator[None]:
    """Load modules in a thread; yield until they are loaded."""
    modules = LateModules(names)
    while not modules.loaded():
        yield


def load_here(names: tuple[str, ...]) -> Generator[None]:
    """Load modules in this thread, each in a step of some milliseconds."""
    for name in names:
        import_module(name)
        yield
