"""A watchdog for a blocked event loop: a warning says where, and its turns still end.

Owns the one thread in an agent's process that is ours. While a turn is open, it asks the loop for a
sign of life; a handler that blocks the loop for long is named in the log, and if a limit passes in
the meantime, the thread does what is due in the loop's place. Its waits are also what shows that
the whole process stood still, which a blocked loop cannot tell.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING

from lastword.inprocess.settings import logger
from lastword.platform.standstill import LAST_BEAT_SECONDS, Standstill, beat_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.inprocess.link import HandlerLink


LOOK_SECONDS = 1.0
"""How often an open turn's loop is asked."""

BLOCKED_SECONDS = 5.0
"""The silence of a loop after which its author is warned: a person notices a tenth of it."""

POLL_SECONDS = 0.25
_FRAMES_SHOWN = 4


class LoopWatchdog:
    """Watches the event loop of the thread that makes it."""

    def __init__(
        self, link: HandlerLink, call_soon: Callable[[Callable[[], object]], object]
    ) -> None:
        """Watch a loop.

        Args:
            link: The link whose turns are at stake; it is called from the watching thread.
            call_soon: Schedules a call in the loop, from any thread; raises RuntimeError once the
                loop is closed.
        """
        self._link = link
        self._call_soon = call_soon
        self._loop_thread = threading.get_ident()
        self._turn_begun = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._standstill = Standstill()
        self._stood_still = False
        """Whether the process stood still in the last wait."""

    def look(self) -> None:
        """Note that a turn begins."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lastword.watch", daemon=True)
            self._thread.start()
        self._turn_begun.set()

    def close(self) -> None:
        self._closed.set()
        self._turn_begun.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._turn_begun.wait()
            if not self._link.in_turn:
                self._turn_begun.clear()
                # A turn that began in between has set it before it was cleared.
                if not self._link.in_turn:
                    continue
            alive = threading.Event()
            try:
                self._call_soon(alive.set)
            except RuntimeError:
                return
            if self._wait(alive, BLOCKED_SECONDS):
                self._wait(self._closed, self._beat_seconds())
            elif not self._closed.is_set() and not self._stood_still:
                self._stand_in(alive)

    def _beat_seconds(self) -> float:
        due = self._link.next_timeout()
        left = LOOK_SECONDS if due is None else due - time.monotonic()
        return min(LOOK_SECONDS, max(beat_seconds(left), LAST_BEAT_SECONDS))

    def _wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event; if the process stood still meanwhile, so did the link's clocks."""
        began = time.monotonic()
        self._standstill.begin(began)
        happened = event.wait(seconds)
        stood = self._standstill.seconds(time.monotonic() - began - seconds)
        self._stood_still = stood > 0
        if stood > 0:
            self._link.stand_still(stood)
        return happened

    def _stand_in(self, alive: threading.Event) -> None:
        """Do what is due until the loop runs again."""
        since = time.monotonic() - BLOCKED_SECONDS
        logger.error(
            "The event loop has been blocked for %g seconds, here:\n%sNeither a cancel nor a limit "
            "can reach the handler: await slow work, or run it with asyncio.to_thread.",
            BLOCKED_SECONDS,
            self._where(),
        )
        while not self._wait(alive, POLL_SECONDS) and not self._closed.is_set():
            due = self._link.next_timeout()
            if due is not None and due <= time.monotonic():
                self._link.handle_timeout()
        blocked = time.monotonic() - since
        logger.warning("The event loop runs again after %.0f seconds.", blocked)

    def _where(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  (its documented name)
        stack = traceback.extract_stack(frame) if frame else []
        return "".join(traceback.format_list(stack[-_FRAMES_SHOWN:]))
