"""The second half of `lastword run`'s start: from the option values to a sidecar."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from lastword.cli.config.discovery import ConfigError
from lastword.core.failure.retry_policy import RetryBucket
from lastword.core.link.options import LinkOptions
from lastword.core.redact.environment_secrets import secrets_in, secrets_of
from lastword.otel.enabled import is_requested, of_own
from lastword.platform.identity import IMPLEMENTATION, local_time, roll, run_id, zone_of
from lastword.platform.process import write_message
from lastword.record.paths import limits_of, named_folder, state_folder, store_path
from lastword.record.recorder import NOTIFIED, Bounds, Recorder
from lastword.record.run import this_run
from lastword.record.sinks_of import sinks_of
from lastword.sidecar.session import Settings, Sidecar

if TYPE_CHECKING:
    from lastword.cli.config.rows import OwnRows
    from lastword.cli.run.options import RunOptions
    from lastword.notify.notification import NotifySettings
    from lastword.outbox.report import ReportTarget
    from lastword.platform.process import Agent, Guardian
    from lastword.platform.signals import SignalInbox
    from lastword.record.run import Run
    from lastword.record.sink import ReportSink, Sink, StartReportSink
    from lastword.sidecar.agent_start import AgentStart


def sidecar_for(
    options: RunOptions,
    start: AgentStart,
    agent: Agent | None,
    guardian: Guardian | None,
    inbox: SignalInbox,
) -> Sidecar:
    """Return the sidecar that the command line asked for."""
    run = run_id()
    settings, core = settings_of(options, start), core_options(options, run)
    target = report_target(options)
    notices: NotifySettings | None = None
    if options.values.get("notify"):
        # Needed only for notifications; the command line has been checked.
        from lastword.notify.notification import settings_of as notify_settings  # noqa: PLC0415

        notices = notify_settings(options.values)
    recorder: Recorder | None = None
    if is_recorded(options, target) or notices is not None:
        bounds = Bounds(NOTIFIED if notices is not None else frozenset())
        recorder = Recorder(partial(_start_sink, options, run, target, notices), bounds)
    return Sidecar(settings, core, agent=agent, guardian=guardian, inbox=inbox, recorder=recorder)


def core_options(options: RunOptions, run: str) -> LinkOptions:
    """Return the core's options, for the run with this id."""
    return LinkOptions.of_values(
        options.values,
        implementation=IMPLEMENTATION,
        incident_prefix=f"{run}-",
        secrets=(*secrets_of(os.environ), *secrets_in(options.command)),
        wall_clock=local_time,
        roll=roll,
        zone_of=zone_of,
        # One for the process, so that a new agent does not begin with a full one.
        retry_bucket=RetryBucket(),
    )


def settings_of(options: RunOptions, start: AgentStart) -> Settings:
    """Return the sidecar's settings; put the user's own rules into force."""
    own: OwnRows | None = None
    if options.files is not None and options.files.has_rows:
        try:
            own = options.files.rows()
        except ConfigError as error:  # which does not stop the agent
            write_message(f"your own rows are ignored: {error}")
    if own is not None and own.rules:
        # The classifier is loaded this early only for a user's own rules.
        from lastword.core.classify import own_rows  # noqa: PLC0415

        own_rows.use(own.rules)
    # The ledger of spending is for limits that go beyond this process.
    limit = str(options.values["spend_limit"])
    has_ledger = limit and not limit.endswith("/turn") and not options.values["no_record"]
    return Settings(
        start=start,
        own_journals=own.journals if own is not None else (),
        line_limit_bytes=int(options.values["line_limit"]),
        verbose=bool(options.values["verbose"]),
        spend_folder=record_folder(options) if has_ledger else "",
    )


def is_recorded(options: RunOptions, target: ReportTarget | None) -> bool:
    return not options.values["no_record"] or target is not None or is_requested(os.environ)


def report_target(options: RunOptions) -> ReportTarget | None:
    """Return the target of failure reports, if there is one; print a problem with its address."""
    if not options.values["report_to"]:
        return None
    # Needed only for reports, and loaded while the agent starts.
    from lastword.outbox.report import TargetError, target_of, target_options  # noqa: PLC0415

    try:
        return target_of(target_options(options.values), os.environ)
    except TargetError as error:
        write_message(f"failures are not reported: {error}")
        return None


def _outgoing(
    folder: str, target: ReportTarget | None, notices: NotifySettings | None, run: Run
) -> ReportSink:
    """Start reports and notifications, in the recorder's process."""
    # Loaded in that process, and only if needed.
    from lastword.record.sink import ReportSinks  # noqa: PLC0415

    sinks: list[ReportSink] = []
    if target is not None:
        from lastword.outbox.sender import OutboxSink  # noqa: PLC0415

        sinks.append(OutboxSink(folder, target, run))
    if notices is not None:
        from lastword.notify.notification import Surroundings  # noqa: PLC0415
        from lastword.notify.notifier import Notifier  # noqa: PLC0415

        around = Surroundings(local_time=local_time)
        sinks.append(Notifier(notices, folder, run, surroundings=around))
    return ReportSinks(sinks)


def record_folder(options: RunOptions) -> str:
    named = options.values["record"]
    return named_folder(str(named)) if named else state_folder(options.environment())


def _start_sink(
    options: RunOptions, run: str, target: ReportTarget | None, notices: NotifySettings | None
) -> Sink | None:
    """Start the recorder: a thread, or a process if something is to be sent somewhere.

    Sending may take a while; a process continues after the sidecar's end, where forking works.
    """
    folder = record_folder(options)
    path = None if options.values["no_record"] else store_path(folder)
    this = this_run(run, door="run", program=os.path.basename(options.command[0]))
    limits = limits_of(options.environment())
    reports: StartReportSink | None = None
    if target is not None or notices is not None:
        reports = partial(_outgoing, folder, target, notices)
    traced = is_requested(os.environ)
    if sys.platform != "win32" and (reports or traced):
        from lastword.record.process import RecorderProcess  # noqa: PLC0415

        try:
            return RecorderProcess(path, this, limits, telemetry=of_own, reports=reports)
        except OSError:
            return None  # no process can be started: the session continues without a record
    # Loaded at the first prompt.
    from lastword.record.threaded import ThreadedRecorder  # noqa: PLC0415

    telemetry = of_own if traced else None
    start = partial(sinks_of, path, this, limits, telemetry=telemetry, reports=reports)
    try:
        return ThreadedRecorder(start)
    except RuntimeError:
        return None  # no thread can be started: the session continues without a record
