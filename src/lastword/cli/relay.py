"""From the command line's values to a sidecar: the second half of `lastword run`'s start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.connection import Options
from lastword.core.known_secrets import secrets_of
from lastword.identity import IMPLEMENTATION, local_time, run_id
from lastword.sidecar import Settings, Sidecar

if TYPE_CHECKING:
    from lastword.cli.options import RunOptions
    from lastword.process import Agent, Guardian
    from lastword.signals import SignalInbox


def sidecar_for(
    options: RunOptions, agent: Agent | None, guardian: Guardian | None, inbox: SignalInbox
) -> Sidecar:
    """The sidecar that the command line asked for."""
    values = options.values
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
        implementation=IMPLEMENTATION,
        incident_prefix=f"{run_id()}-",
        secrets=secrets_of(os.environ),
        wall_clock=local_time,
    )
    settings = Settings(
        command=tuple(options.command),
        line_limit_bytes=int(values["line_limit"]),
        verbose=bool(values["verbose"]),
    )
    return Sidecar(settings, core, agent=agent, guardian=guardian, inbox=inbox)
