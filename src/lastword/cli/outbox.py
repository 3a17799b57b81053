"""`lastword outbox`: show waiting and refused reports, send them, or test the address.

Owns the command line and the exit status: 0; 1 if the outbox cannot be read or a report did not
arrive; 2 for invalid arguments.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli import envelope
from lastword.cli.page import Page, day_and_time
from lastword.cli.parser import CommandParser, add_arguments, add_option
from lastword.cli.record_access import add_record_option, path_of
from lastword.cli.words import refuse
from lastword.core.failure.phrases import counted, duration
from lastword.core.link.option_table import BY_KEY
from lastword.errors import StoreError
from lastword.notify.http import NotificationOutbox
from lastword.notify.http import target_of as target_of_notifications
from lastword.notify.notification import Notification, NotifiedEvent, NotifyError, settings_of
from lastword.outbox.post import Fate, PostError, fate_of
from lastword.outbox.report import (
    OTLP,
    ReportTarget,
    TargetError,
    TargetOptions,
    own_report,
    target_of,
)
from lastword.outbox.sender import send_due, send_once
from lastword.outbox.store import (
    ALL,
    COUNTS,
    DROPPED,
    SENT,
    WITHDRAWN,
    Outbox,
    Pace,
    Status,
    now_ms,
)
from lastword.record.run import this_run
from lastword.record.store import set_aside_before

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from lastword.outbox.post import CollectorAnswer
    from lastword.outbox.report import FailureReport

SEND_SECONDS = 60.0
"""How long `--send` keeps sending."""

_ABOUT = """\
Shows the failure reports that have not reached the address of `--report-to` yet,
and counts the others.
"""

_ENDS = """\
examples:
  lastword outbox
  lastword outbox --test --report-to https://collector.example:4318
  lastword outbox --test --notify ntfy://ntfy.sh/my-topic
  lastword outbox --send
  lastword outbox --redirect all --report-to https://collector.example:4318

exit status: 0, 1 if a report did not arrive or the outbox cannot be read, 2 for
invalid arguments.
"""

_REPORTS = {
    "report_to": "with --send, --test and --redirect: the address",
    "report_format": "the receiver: an OpenTelemetry collector or a webhook (otlp, webhook)",
    "report_secret_file": "the file with the secret that signs reports to a webhook",
}

_NOTIFICATIONS = {
    "notify": "send a test notification to this address, and no report",
    "notify_format": "what the address takes (webhook, ntfy)",
    "notify_template": "the body of a request to the webhook",
    "notify_secret_file": "the file with ntfy's access token or the webhook's secret",
}

_WHY = {
    "dropped_full": "the outbox was full",
    "dropped_old": "they were over 7 days old",
    "dropped_unwritten": "they could not be written to the disk",
    "dropped_damaged": "the outbox's file was damaged",
}


def main(arguments: Sequence[str]) -> int:
    """Show the outbox, or act on it; return the exit status."""
    options = parser().read(arguments)
    outbox = Outbox(os.path.dirname(path_of(options)))
    try:
        if options.test:
            return _test(options)
        if options.send or options.redirect:
            return _send(outbox, _target(options), options.redirect)
        if options.clear_dead:
            sys.stdout.write(f"{counted(outbox.clear_dead(), 'refused report')} deleted\n")
            return 0
        return _show(outbox, options)
    except (NotifyError, TargetError) as error:
        return refuse("outbox", error)
    except StoreError as error:
        return refuse("outbox", error, status=1)
    except KeyboardInterrupt:
        return 130


_ACTIONS = f"""\
--send  send waiting reports now, for up to {SEND_SECONDS:g} s
--test  send one test report, to check the address
--redirect OLD
    send reports that wait for another address to --report-to instead: OLD is that address as
    `lastword outbox` shows it, or `{ALL}` (default: none)
--clear-dead  delete the reports that were permanently refused
--json  print the outbox as JSON
"""


def parser() -> CommandParser:
    made = CommandParser("outbox", usage="[options]", about=_ABOUT, ends=_ENDS)
    add_arguments(made.add_mutually_exclusive_group(), _ACTIONS)
    where = made.add_argument_group("where reports go, as for `lastword run`")
    for key, about in _REPORTS.items():
        option = BY_KEY[key]
        default = f"{option.variable}{f', else {option.default}' if option.default else ''}"
        given = os.environ.get(option.variable) or option.default
        add_option(where, option, f"{about} (default: {default})", default=given)
    where = made.add_argument_group("with --test: where notifications go")
    for key, about in _NOTIFICATIONS.items():
        option = BY_KEY[key]
        usual = option.default or "none"
        add_option(where, option, f"{about} (default: {usual})", default=option.default)
    add_record_option(made)
    return made


def _target(options: argparse.Namespace) -> ReportTarget:
    option = BY_KEY["report_to"]
    if not options.report_to:
        raise TargetError(f"the address is missing: --report-to URL, or {option.variable}")
    if option.read(options.report_to) is None:
        raise TargetError(f"--report-to cannot be used: it takes {option.expects}")
    request = TargetOptions(options.report_to, options.report_format, options.report_secret_file)
    return target_of(request, os.environ)


def _test(options: argparse.Namespace) -> int:
    """Send one test notification or report directly, without the outbox."""
    what = "notification" if options.notify else "report"
    send: Callable[[], CollectorAnswer]
    if options.notify:
        destination = target_of_notifications(settings_of(vars(options)))
        place, is_otlp = destination.target.place, False
        test = Notification(
            notification_id=secrets.token_hex(16),
            at_epoch_ms=now_ms(),
            event=NotifiedEvent.ENDED,
            agent="lastword",
            title="A test of lastword",
            sentence="Notifications arrive here.",
        )
        send = partial(destination.send, destination.target, test)
    else:
        target = _target(options)
        place, is_otlp = target.place, target.form == OTLP
        run = this_run(secrets.token_hex(13).upper(), door="outbox", program="lastword")
        report = own_report(run, "test", {"reason": "test", "retryable": False})
        send = partial(send_once, target, report)
    try:
        fate, reason = fate_of(send(), is_otlp=is_otlp)
    except PostError as error:
        fate, reason = Fate.FAILED, str(error)
    if fate is Fate.DELIVERED:
        sys.stdout.write(f"a test {what} was accepted by {place}\n")
        return 0
    return refuse("outbox", f"{place} did not accept the {what}: {reason}", status=1)


def _send(outbox: Outbox, target: ReportTarget, redirected: str | None) -> int:
    """Send waiting reports, after redirecting those for an old address if there is one."""
    if redirected:
        moved, is_busy = outbox.redirect(redirected.rstrip("/"), target)
        if not moved and not is_busy and redirected != ALL:
            raise TargetError(
                f"no report waits for {redirected}; `lastword outbox` shows the addresses"
            )
        if is_busy:
            sys.stderr.write("lastword outbox: some reports are being sent to their old address\n")
    ends_at = time.monotonic() + SEND_SECONDS
    before = outbox.status().counts[SENT]
    outbox.hurry(target)
    send_due(outbox, target, lambda: ends_at - time.monotonic(), send_once)
    status = outbox.status()
    sent = counted(status.counts[SENT] - before, "report")
    sys.stdout.write(f"{sent} sent, {status.waiting} still waiting, {status.dead} refused\n")
    return 1 if status.waiting else 0


def _show(outbox: Outbox, options: argparse.Namespace) -> int:
    try:
        current = _target(options).key
    except TargetError:  # no address is set now
        current = ""
    status = outbox.status() if os.path.exists(outbox.path) else None
    aside = set_aside_before(outbox.path)
    box = NotificationOutbox(outbox.folder)
    notifications = box.status() if os.path.exists(box.path) else None
    if options.json:
        status = status or Status(0, 0, 0, dict.fromkeys(COUNTS, 0), [], [])
        members = _document(status, lambda report: {"report": msgspec.to_builtins(report)})
        for target, pace in zip(members["targets"], status.targets, strict=True):
            target["current"] = pace.target == current if current else None
        members |= {"set_aside": aside, "notifications": None}
        if notifications is not None:
            members["notifications"] = _document(
                notifications, lambda letter: {"event": letter.event.value}
            )
        envelope.write(members)
        return 0
    page = Page()
    if status is None:
        page.line(
            f"There is no outbox at {outbox.path}: no failure has been reported with --report-to."
        )
    else:
        _show_reports(page, status, current)
    if notifications is not None:
        _show_notifications(page, notifications)
    for path in aside:
        page.line(f"A damaged outbox was set aside as {path}. Delete it if you do not need it.")
    sys.stdout.write(page.drain())
    return 0


def _show_reports(page: Page, status: Status[FailureReport], current: str) -> None:
    now = now_ms()
    counts = status.counts
    page.line(f"{status.waiting} waiting, {status.dead} refused, {counts[SENT]} sent")
    for pace in status.targets:
        _target_lines(page, pace, "report", now)
        if current and pace.target != current:
            page.line("Reports now go to another address, so these are not sent.", indent=4)
            page.line(f"To send them there: lastword outbox --redirect {pace.place}", indent=4)
    if status.targets and not current:
        page.line(
            "A run with the same --report-to sends them; with another one,"
            " `lastword outbox --redirect all --report-to URL` does."
        )
    _dropped_lines(page, status.counts, _WHY)
    if status.dead_letters:
        page.line("permanently refused (--clear-dead deletes them):")
    for place, reason, report in status.dead_letters:
        what = ", ".join(str(report.facts.get(name, "")) for name in ("type", "incident_id"))
        page.line(f"{day_and_time(report.at_epoch_ms)}  {what}: {reason} at {place}", indent=2)


def _dropped_lines(page: Page, counts: Mapping[str, int], why: Mapping[str, str]) -> None:
    for name in DROPPED:
        if counts[name]:
            page.line(f"{counts[name]} dropped: {why[name]}", "red")


def _target_lines(page: Page, pace: Pace, what: str, now: int) -> None:
    age = duration(max(0, now - pace.oldest_epoch_ms) / 1000)
    line = f"to {pace.place}: {counted(pace.waiting, what)}, the oldest {age} old"
    page.line(line, indent=2)
    if pace.failures:
        wait = duration(max(0, pace.due_epoch_ms - now) / 1000)
        tries = counted(pace.failures, "try")
        page.line(f"{pace.reason}, after {tries}; next try in {wait}", "yellow", indent=4)


def _show_notifications(page: Page, status: Status[Notification]) -> None:
    counts = status.counts
    page.line(
        f"notifications: {status.waiting} waiting, {status.dead} refused, {counts[SENT]} sent, "
        f"{counts.get(WITHDRAWN, 0)} withdrawn"
    )
    for pace in status.targets:
        _target_lines(page, pace, "notification", now_ms())
    _dropped_lines(page, counts, _WHY | {"dropped_old": "they were over 6 hours old"})
    for place, reason, letter in status.dead_letters:
        at = day_and_time(letter.at_epoch_ms)
        page.line(f"{at}  {letter.event.value}: {reason} at {place}", indent=2)


def _document(status: Status[Any], of_letter: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return msgspec.structs.asdict(status) | {
        "targets": [msgspec.to_builtins(pace) for pace in status.targets],
        "dead_letters": [
            {"place": place, "said": reason, **of_letter(letter)}
            for place, reason, letter in status.dead_letters
        ],
    }
