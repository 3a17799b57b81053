"""The sender: a thread that sends the reports of the outbox, one by one.

Owns the thread, and the rule that one process at a time sends to a target. It sleeps until there
is something to send. When its process ends it gets a moment, and the next run sends the rest.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from lastword._version import __version__
from lastword.errors import StoreError
from lastword.outbox import otlp, webhook
from lastword.outbox.post import PostError, post
from lastword.outbox.schedule import (
    MAX_WAIT_SECONDS,
    Fate,
    asked_wait,
    fate_of,
    is_due,
    wait_seconds,
)
from lastword.outbox.store import now_ms
from lastword.outbox.target import OTLP, WEBHOOK

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.outbox.report import FailureReport
    from lastword.outbox.schedule import CollectorAnswer
    from lastword.outbox.store import Outbox
    from lastword.outbox.tables import Waiting
    from lastword.outbox.target import ReportTarget

POST_SECONDS = 10.0
"""How long one sending may take; the exporters of OpenTelemetry have the same."""

BUSY_SECONDS = 0.2
"""How often it is looked whether another process still sends."""

DISK_SECONDS = 5.0
"""How often a disk is tried that takes nothing."""

IDLE_SECONDS = 3600.0


class Sender:
    """Sends the reports of one outbox to one target."""

    def __init__(self, outbox: Outbox, target: ReportTarget) -> None:
        """Start the thread, which begins with what earlier runs left."""
        self._outbox = outbox
        self._target = target
        self._given: deque[FailureReport] = deque()
        self._news = threading.Event()
        self._ends_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="lastword.outbox", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread: there is something to send."""
        self._news.set()

    def put(self, report: FailureReport) -> None:
        """Put a report into the outbox and send it, without waiting."""
        self._given.append(report)
        self._news.set()

    def finish(self, seconds: float) -> None:
        """Send what can be sent within this many seconds, and wait at most that long."""
        self._ends_at = time.monotonic() + seconds
        self._news.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._news.clear()
            ending = self._ends_at is not None
            try:
                given = [self._given.popleft() for _ in range(len(self._given))]
                are_in = self._outbox.add(given, self._target)
                rest = send_due(self._outbox, self._target, self._left)
                # A disk may take something again between the two.
                rest = rest if are_in else min(rest, DISK_SECONDS)
            except StoreError:
                rest = DISK_SECONDS
            except Exception:  # noqa: BLE001 - a bug of ours ends no thread, and floods nobody
                rest = MAX_WAIT_SECONDS
            left = self._left()
            if left <= rest and (ending or left <= 0):
                return
            self._news.wait(min(rest, left))

    def _left(self) -> float:
        """Return how many seconds remain, as far as is known."""
        return IDLE_SECONDS if self._ends_at is None else self._ends_at - time.monotonic()


def send_due(outbox: Outbox, target: ReportTarget, left: Callable[[], float]) -> float:
    """Send what is due, one by one; return in how many seconds to look again.

    Args:
        outbox: The outbox.
        target: Where the reports go.
        left: Returns how many seconds remain.

    Raises:
        StoreError: The outbox cannot be used.
    """
    if not os.path.exists(outbox.path):
        return IDLE_SECONDS
    while True:
        with outbox.as_sender(target) as is_ours:
            while is_ours and left() > 0:
                waiting = outbox.take(target)
                if waiting is None:
                    break
                _send(outbox, target, waiting)
        due = outbox.due_epoch_ms(target)
        if due is None:
            return IDLE_SECONDS
        if not is_ours:
            return BUSY_SECONDS
        now = now_ms()
        # What came in after the last look and before the lock was free is sent in another round.
        if left() <= 0 or not is_due(due, now):
            return max(due - now, 0) / 1000


def _send(outbox: Outbox, target: ReportTarget, waiting: Waiting) -> None:
    wait: float | None = None
    try:
        answer = ask(target, waiting.report)
    except PostError as error:
        fate, said = Fate.FAILED, str(error)
    else:
        fate, said = fate_of(answer, is_otlp=target.form == OTLP)
        wait = asked_wait(answer, time.time())
    if fate is Fate.DELIVERED:
        outbox.delivered(waiting.number, target)
    elif fate is Fate.REFUSED:
        outbox.refused(waiting.number, target, said)
    else:
        outbox.failed(target, said, lambda failures: wait_seconds(failures, wait, _roll()))


def ask(target: ReportTarget, report: FailureReport) -> CollectorAnswer:
    """Send a report once; return the answer.

    Raises:
        PostError: There was no answer.
    """
    body = otlp.body_of(report)
    headers = {
        "content-type": "application/json",
        "user-agent": f"lastword/{__version__}",
        "idempotency-key": report.report_id,
        "connection": "close",
    }
    if target.form == WEBHOOK:
        headers |= webhook.headers_of(report.report_id, body, target.secret, int(time.time()))
    certificates = os.environ.get("OTEL_EXPORTER_OTLP_CERTIFICATE") or None
    return post(target.url, body, headers | target.headers, POST_SECONDS, certificates=certificates)


def _roll() -> float:
    return int.from_bytes(os.urandom(6), "big") / 2**48
