"""The watchdog of a blocked event loop."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, cast

from lastword.inprocess import handling
from lastword.inprocess.handling import LoopWatchdog
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from lastword.inprocess.link import HandlerLink


class BusyLink:
    """A link with an open turn and no timer."""

    in_turn = True

    def next_timeout(self) -> None:
        """No timer is set."""

    def stand_still(self, seconds: float) -> None:
        """The clocks are not looked at."""


class Work:
    """What a handler holds."""


def test_what_a_blocked_handler_holds_is_freed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()

    def report(*_: Any) -> None:
        reported.set()

    monkeypatch.setattr(handling, "BLOCKED_SECONDS", 0.01)
    monkeypatch.setattr(handling.logger, "error", report)
    calls: list[Callable[[], object]] = []
    watchdog = LoopWatchdog(cast("HandlerLink", BusyLink()), calls.append)

    def block() -> weakref.ref[Work]:
        work = Work()
        watchdog.look()
        assert reported.wait(FUSE_SECONDS)
        return weakref.ref(work)

    try:
        assert block()() is None
    finally:
        watchdog.close()
