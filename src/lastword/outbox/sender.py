"""Sending the outbox's reports: the thread, and the outbox as a sink.

The sender: a thread that sends the reports of the outbox, one by one. Owns the thread, and the rule
that one process at a time sends to a target. It sleeps until there is something to send. When its
process ends it gets a moment, and the next run sends the rest.

The outbox as a sink of a run's rows, beside the record and telemetry. Owns the order: a report is
on disk before its rows go to the other sinks. Like every sink it is called in its own process or
thread, so it may wait for the disk.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from lastword._version import __version__
from lastword.core.failure.members import MEMBERS
from lastword.errors import StoreError
from lastword.outbox.post import (
    MAX_WAIT_SECONDS,
    Fate,
    PostError,
    fate_of,
    is_due,
    post,
    requested_wait,
    wait_seconds,
)
from lastword.outbox.report import OTLP, WEBHOOK, ReportWriter, headers_of
from lastword.outbox.store import Item, Outbox, now_ms
from lastword.platform.identity import roll

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.outbox.post import CollectorAnswer
    from lastword.outbox.report import FailureReport, ReportTarget, Value
    from lastword.outbox.store import ItemOutbox
    from lastword.record.run import Row, Run


SEVERITY_ERROR = 17
EVENT_NAME = "lastword.failure"
_NS_OF_MS = 1_000_000

_CONVENTIONAL = {member.name: member.convention for member in MEMBERS if member.convention}


def body_of(report: FailureReport) -> bytes:
    resource = {"service.name": report.program, "service.instance.id": report.run_id}
    resource |= {"os.type": report.platform, "lastword.door": report.door}
    scope = {"name": "lastword", "version": report.lastword_version}
    named: dict[str, Value | None] = {
        "lastword.report_id": report.report_id,
        "lastword.what": report.what,
        "lastword.session": report.session,
        "lastword.turn": report.turn,
        "gen_ai.agent.name": report.agent,
        "gen_ai.agent.version": report.agent_version,
        "lastword.client.name": report.client,
        "lastword.client.version": report.client_version,
    }
    facts = {name: value for name, value in named.items() if value not in ("", None)}
    facts |= {_CONVENTIONAL.get(name, f"lastword.{name}"): v for name, v in report.facts.items()}
    words = [str(report.facts[name]) for name in ("type", "reason") if name in report.facts]
    moment = str(report.at_epoch_ms * _NS_OF_MS)
    record: dict[str, Any] = {
        "timeUnixNano": moment,
        "observedTimeUnixNano": moment,
        "severityNumber": SEVERITY_ERROR,
        "severityText": "ERROR",
        "eventName": EVENT_NAME,
        "body": {"stringValue": f"{report.what} failed: {', '.join(words) or 'unknown'}"},
        "attributes": _attributes(facts),
    }
    if report.traceparent:
        _, trace_id, span_id, flags = report.traceparent.split("-")
        record |= {"traceId": trace_id, "spanId": span_id, "flags": int(flags, 16)}
    logs = {
        "resource": {"attributes": _attributes(resource)},
        "scopeLogs": [{"scope": scope, "logRecords": [record]}],
    }
    return msgspec.json.encode({"resourceLogs": [logs]})


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    attributes = []
    for name, value in values.items():
        typed: dict[str, Any]
        if isinstance(value, bool):
            typed = {"boolValue": value}
        elif isinstance(value, int):
            typed = {"intValue": str(value)}
        elif isinstance(value, float):
            typed = {"doubleValue": value}
        else:
            typed = {"stringValue": value}
        if value is not None:
            attributes.append({"key": name, "value": typed})
    return attributes


POST_SECONDS = 10.0
"""How long one request may take; OpenTelemetry's exporters have the same limit."""

BUSY_SECONDS = 0.2
"""The interval at which to check whether another process still sends."""

DISK_SECONDS = 5.0
"""The interval at which to try a disk that cannot be written."""

NOTE_SECONDS = 0.5
"""The interval at which to try again to note the outcome of a report."""

MAX_NOTE_SECONDS = 60.0
"""How long to try, while nothing else is sent or stored."""

IDLE_SECONDS = 3600.0


def send_once(target: ReportTarget, report: FailureReport) -> CollectorAnswer:
    """Send a report once; return the answer.

    Raises:
        PostError: There was no answer.
    """
    return send_body(target, body_of(report), report.report_id)


def send_body(target: ReportTarget, body: bytes, report_id: str) -> CollectorAnswer:
    """Send a body once, signed where the target is a webhook with a secret; return the answer.

    Args:
        target: Where to.
        body: JSON.
        report_id: The id, by which a receiver recognises a repeat.

    Raises:
        PostError: There was no answer.
    """
    headers = {
        "content-type": "application/json",
        "user-agent": f"lastword/{__version__}",
        "idempotency-key": report_id,
        "connection": "close",
    }
    if target.form == WEBHOOK:
        headers |= headers_of(report_id, body, target.secret, int(time.time()))
    certificates = os.environ.get("OTEL_EXPORTER_OTLP_CERTIFICATE") or None
    return post(target.url, body, headers | target.headers, POST_SECONDS, certificates=certificates)


class ItemSender(Generic[Item]):
    """Sends what is in one outbox to one target."""

    def __init__(
        self,
        outbox: ItemOutbox[Item],
        target: ReportTarget,
        send: Callable[[ReportTarget, Item], CollectorAnswer],
    ) -> None:
        """Start the thread, which begins with what earlier runs left.

        Args:
            outbox: The outbox.
            target: Where to send.
            send: Sends one item once.
        """
        self._outbox = outbox
        self._target = target
        self._send = send
        self._given: deque[Item] = deque()
        self._news = threading.Event()
        self._ends_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="lastword.outbox", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread: there is something to send."""
        self._news.set()

    def put(self, report: Item) -> None:
        """Put a report into the outbox and send it, without waiting."""
        self._given.append(report)
        self._news.set()

    def withdraw(self, report_id: str) -> None:
        """Do not send an item that waits; one that is being sent may arrive."""
        for report in [each for each in self._given if each.report_id == report_id]:
            with contextlib.suppress(ValueError):  # its thread has just taken it
                self._given.remove(report)
        with contextlib.suppress(StoreError):
            self._outbox.withdraw(report_id)

    def finish(self, seconds: float, *, storing_seconds: float = 0.0) -> None:
        """Send what can be sent within this many seconds, and wait at most that long.

        Args:
            seconds: How long reports are sent.
            storing_seconds: How long to wait then for a disk that cannot be written, before
                reports are lost.
        """
        self._ends_at = time.monotonic() + seconds
        self._news.set()
        self._thread.join(seconds)
        stored_by = time.monotonic() + storing_seconds
        given = list(self._given)  # its thread may still wait for an answer
        while not self._outbox.add(given, self._target) and time.monotonic() < stored_by:
            given = []
            time.sleep(NOTE_SECONDS)

    def _run(self) -> None:
        while True:
            self._news.clear()
            ending = self._ends_at is not None
            try:
                given = [self._given.popleft() for _ in range(len(self._given))]
                are_in = self._outbox.add(given, self._target)
                rest = send_due(self._outbox, self._target, self._left, self._send)
                # The disk may have become writable between the two.
                rest = rest if are_in else min(rest, DISK_SECONDS)
            except StoreError:
                rest = DISK_SECONDS
            except Exception:  # noqa: BLE001 - a bug of ours must neither end the thread nor flood anybody
                rest = MAX_WAIT_SECONDS
            left = self._left()
            if left <= rest and (ending or left <= 0):
                return
            self._news.wait(min(rest, left))

    def _left(self) -> float:
        """Return how many seconds remain; many, as long as the end is not known."""
        return IDLE_SECONDS if self._ends_at is None else self._ends_at - time.monotonic()


class Sender(ItemSender["FailureReport"]):
    """Sends the reports of one outbox to one target."""

    def __init__(self, outbox: Outbox, target: ReportTarget) -> None:
        """Start the thread."""
        super().__init__(outbox, target, send_once)


def send_due(
    outbox: ItemOutbox[Item],
    target: ReportTarget,
    left: Callable[[], float],
    send: Callable[[ReportTarget, Item], CollectorAnswer],
) -> float:
    """Send what is due, one by one; return in how many seconds to look again.

    Args:
        outbox: The outbox.
        target: Where to send.
        left: Returns how many seconds remain.
        send: Sends one item once.

    Raises:
        StoreError: The outbox cannot be used.
    """
    if not os.path.exists(outbox.path):
        return IDLE_SECONDS
    while True:
        with outbox.as_sender(target) as is_ours:
            while is_ours and left() > 0:
                report = outbox.next_report(target)
                if report is None:
                    break
                _send_item(outbox, target, report, left, send)
        due = outbox.due_epoch_ms(target)
        if due is None:
            return IDLE_SECONDS
        if not is_ours:
            return BUSY_SECONDS
        now = now_ms()
        # A report that came after the last look and before the lock was free needs another round.
        if left() <= 0 or not is_due(due, now):
            return max(due - now, 0) / 1000


def _send_item(
    outbox: ItemOutbox[Item],
    target: ReportTarget,
    report: Item,
    left: Callable[[], float],
    send: Callable[[ReportTarget, Item], CollectorAnswer],
) -> None:
    """Send an item and note its fate, trying again to note it if the disk is slow.

    Another process sends an item again if its fate could not be noted.

    Raises:
        StoreError: The time is over.
    """
    wait: float | None = None
    try:
        answer = send(target, report)
    except PostError as error:
        fate, words = Fate.FAILED, str(error)
    else:
        fate, words = fate_of(answer, is_otlp=target.form == OTLP)
        wait = requested_wait(answer, time.time())
    if fate is Fate.DELIVERED:
        note = partial(outbox.delivered, report, target)
    elif fate is Fate.REFUSED:
        note = partial(outbox.refused, report, target, words)
    else:
        jitter = roll()
        note = partial(
            outbox.failed, target, words, lambda count: wait_seconds(count, wait, jitter)
        )
    noted_by = time.monotonic() + MAX_NOTE_SECONDS
    while True:
        try:
            return note()
        except StoreError:
            if left() <= 0 or time.monotonic() > noted_by:
                raise
        time.sleep(NOTE_SECONDS)


FINISH_SECONDS = 2.0
"""How long a recorder lives on to send what has just failed."""

STORING_SECONDS = 10.0
"""How long a recorder then waits for a disk that cannot be written."""


class OutboxSink:
    """Takes the rows of one run."""

    def __init__(
        self,
        folder: str,
        target: ReportTarget,
        run: Run,
        *,
        finish_seconds: float = FINISH_SECONDS,
        storing_seconds: float = STORING_SECONDS,
    ) -> None:
        """Put failure reports into the outbox of a folder, and send them to a target.

        Args:
            folder: The outbox's folder.
            target: Where the reports go.
            run: The run whose rows it receives.
            finish_seconds: How long `close` may send.
            storing_seconds: How long `close` then waits for a disk that cannot be written.
        """
        self._outbox = Outbox(folder)
        self._target = target
        self._reports = ReportWriter(run)
        self._finish_seconds = finish_seconds
        self._storing_seconds = storing_seconds
        self._sender = Sender(self._outbox, target)
        self._has_news = False

    def send(self, rows: list[Row]) -> None:
        reports = self._reports.receive(rows)
        if reports:
            self._outbox.add(reports, self._target)
            self._has_news = True

    @property
    def is_stored(self) -> bool:
        """Return whether all reports of the received rows are on disk."""
        return self._outbox.is_stored

    def wake(self) -> None:
        """Send what was received, now that its sender knows that it is on disk."""
        if self._has_news:
            self._has_news = False
            self._sender.wake()

    def close(self) -> None:
        """Send what can be sent in a moment."""
        self._sender.finish(self._finish_seconds, storing_seconds=self._storing_seconds)
