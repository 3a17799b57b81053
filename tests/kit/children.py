"""What the processes that tests start inherit: the way to the tests' modules, and open ears."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.kit.places import ROOT

if TYPE_CHECKING:
    from types import FrameType

PATH = "PYTHONPATH"
UNHEARD = "LASTWORD_TESTS_UNHEARD"
"""For pytest's own workers: the signals that the first process of all was told to ignore."""


def prepare() -> None:
    """Let every child find `tests`, wherever it runs, and hear the signals that it is sent."""
    known = os.environ.get(PATH, "").split(os.pathsep)
    if str(ROOT) not in known:
        os.environ[PATH] = os.pathsep.join((str(ROOT), *filter(None, known)))
    # What a shell starts in the background ignores these, and so would all that it starts. A
    # handler is not inherited: with one that does nothing, children begin as any other does.
    unheard = {int(number) for number in os.environ.get(UNHEARD, "").split()}
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN or number in unheard:
            signal.signal(number, _do_nothing)
            unheard.add(number)
    os.environ[UNHEARD] = " ".join(str(int(number)) for number in sorted(unheard))


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    return
