"""The second half of `lastword run`'s start: from the option values to a sidecar."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from lastword.cli.config.errors import ConfigError
from lastword.core.link.option_table import OPTIONS
from lastword.core.link.options import Options
from lastword.core.redact.known_secrets import secrets_of
from lastword.posix.identity import IMPLEMENTATION, local_time, roll, run_id
from lastword.posix.process import tell
from lastword.record.recorder import Recorder
from lastword.sidecar.session import Settings, Sidecar

if TYPE_CHECKING:
    from lastword.cli.config.rows import OwnRows
    from lastword.cli.run.options import RunOptions
    from lastword.outbox.target import ReportTarget
    from lastword.posix.process import Agent, Guardian
    from lastword.record.run import Run
    from lastword.record.sink import ReportSink, Sink
    from lastword.sidecar.signals import SignalInbox
    from lastword.sidecar.starting import AgentStart


def sidecar_for(  # noqa: PLR0913 - what the first half of the start has made
    options: RunOptions,
    start: AgentStart,
    agent: Agent | None,
    guardian: Guardian | None,
    inbox: SignalInbox,
    *,
    given_run: str = "",
) -> Sidecar:
    """Return the sidecar for the command line.

    `given_run` is the id of the run that a gateway's holder has begun; it is recorded in that.
    """
    values: dict[str, Any] = options.values
    run = given_run or run_id()
    core = Options(
        **{
            option.field: values[option.key]
            for option in OPTIONS
            # Where the record is kept is for doors in process alone.
            if option.field in Options.__struct_fields__ and option.field != "record"
        },
        implementation=IMPLEMENTATION,
        incident_prefix=f"{run}-",
        secrets=secrets_of(os.environ),
        wall_clock=local_time,
        roll=roll,
    )
    own = _own_rows(options)
    settings = Settings(
        start=start,
        own_journals=own.journals if own is not None else (),
        line_limit_bytes=int(values["line_limit"]),
        verbose=bool(values["verbose"]),
    )
    if own is not None and own.rules:
        # The classifier, which is loaded now for a user's own rules alone.
        from lastword.core.classify import own_rows  # noqa: PLC0415

        own_rows.use(own.rules)
    door = "gateway" if given_run else "run"
    target = _target(options)
    is_recorded = not values["no_record"] or target is not None or _is_traced()
    recorder = _recorder(options, run, door, target) if is_recorded else None
    return Sidecar(settings, core, agent=agent, guardian=guardian, inbox=inbox, recorder=recorder)


def _own_rows(options: RunOptions) -> OwnRows | None:
    """Return the user's own rows; print what is wrong with them, which does not stop the agent."""
    if options.files is None or not options.files.has_rows:
        return None
    try:
        return options.files.rows()
    except ConfigError as error:
        tell(f"your own rows are ignored: {error}")
        return None


def _is_traced() -> bool:
    # Loaded where nothing is to be recorded, which is seldom.
    from lastword.otel.enabled import asked_for  # noqa: PLC0415

    return asked_for(os.environ)


def _telemetry(run: Run) -> Sink | None:
    # Loaded in the recorder's process, which the agent does not wait for.
    from lastword.otel.enabled import of_own  # noqa: PLC0415

    return of_own(run)


def _target(options: RunOptions) -> ReportTarget | None:
    """Return where failures are reported, if anywhere; print what is wrong with the address."""
    if not options.values["report_to"]:
        return None
    # Loaded where reports are asked for, and while the agent starts.
    from lastword.outbox.target import TargetError, target_of, wish_of  # noqa: PLC0415

    try:
        return target_of(wish_of(options.values), os.environ)
    except TargetError as error:
        tell(f"failures are not reported: {error}")
        return None


def _reports(folder: str, target: ReportTarget, run: Run) -> ReportSink:
    # Loaded in the recorder's process, and only where reports are asked for.
    from lastword.outbox.sink import OutboxSink  # noqa: PLC0415

    return OutboxSink(folder, target, run)


def _recorder(options: RunOptions, run: str, door: str, target: ReportTarget | None) -> Recorder:
    def start() -> Sink | None:
        # Loaded at the first prompt: the agent has been started, and greeted, before.
        from lastword.record.paths import named_folder, state_folder, store_path  # noqa: PLC0415
        from lastword.record.process import RecorderProcess  # noqa: PLC0415
        from lastword.record.retention import limits_of  # noqa: PLC0415
        from lastword.record.run import this_run  # noqa: PLC0415

        named = options.values["record"]
        environment = options.environment()
        folder = named_folder(str(named)) if named else state_folder(environment)
        path = None if options.values["no_record"] else store_path(folder)
        this = this_run(run, door=door, program=os.path.basename(options.command[0]))
        try:
            return RecorderProcess(
                path,
                this,
                limits_of(environment),
                telemetry=_telemetry,
                reports=None if target is None else partial(_reports, folder, target),
            )
        except OSError:
            return None  # no process can be started: the session goes on without a record

    return Recorder(start)
