"""From the command line's values to a sidecar: the second half of `lastword run`'s start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.connection import Options
from lastword.core.known_secrets import secrets_of
from lastword.identity import IMPLEMENTATION, local_time, run_id
from lastword.record.recorder import Recorder
from lastword.sidecar import Settings, Sidecar

if TYPE_CHECKING:
    from lastword.cli.options import RunOptions
    from lastword.process import Agent, Guardian
    from lastword.record.recorder import Carrier
    from lastword.signals import SignalInbox


def sidecar_for(
    options: RunOptions, agent: Agent | None, guardian: Guardian | None, inbox: SignalInbox
) -> Sidecar:
    """The sidecar that the command line asked for."""
    values = options.values
    run = run_id()
    core = Options(
        first_update_timeout_seconds=float(values["first_update_timeout"]),
        idle_timeout_seconds=float(values["idle_timeout"]),
        tool_timeout_seconds=float(values["tool_timeout"]),
        turn_timeout_seconds=float(values["turn_timeout"]),
        warn_after_seconds=float(values["warn_after"]),
        cancel_grace_seconds=float(values["cancel_grace"]),
        stderr_limit_bytes=int(values["stderr_limit"]),
        fallback=str(values["fallback"]),
        silent_success=str(values["silent_success"]),
        restart=str(values["restart"]),
        record_text=bool(values["record_text"]),
        implementation=IMPLEMENTATION,
        incident_prefix=f"{run}-",
        secrets=secrets_of(os.environ),
        wall_clock=local_time,
    )
    settings = Settings(
        command=tuple(options.command),
        line_limit_bytes=int(values["line_limit"]),
        verbose=bool(values["verbose"]),
    )
    recorder = None if values["no_record"] and not _is_traced() else _recorder(options, run)
    return Sidecar(settings, core, agent=agent, guardian=guardian, inbox=inbox, recorder=recorder)


def _is_traced() -> bool:
    # Loaded where nothing is to be recorded, which is seldom.
    from lastword.otel.asked import asked_for  # noqa: PLC0415

    return asked_for(os.environ)


def _recorder(options: RunOptions, run: str) -> Recorder:
    def start() -> Carrier | None:
        # Loaded at the first prompt: the agent has been started, and greeted, before.
        from lastword.record.place import named_folder, state_folder, store_path  # noqa: PLC0415
        from lastword.record.process import RecorderProcess  # noqa: PLC0415
        from lastword.record.retention import limits_of  # noqa: PLC0415
        from lastword.record.run import this_run  # noqa: PLC0415

        named = options.values["record"]
        folder = named_folder(str(named)) if named else state_folder(os.environ)
        path = None if options.values["no_record"] else store_path(folder)
        this = this_run(run, door="run", program=os.path.basename(options.command[0]))
        try:
            return RecorderProcess(path, this, limits_of(os.environ))
        except OSError:
            return None  # no process is to be had: a session without a record is still a session

    return Recorder(start)
