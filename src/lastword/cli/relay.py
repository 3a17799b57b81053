"""From the command line's values to a sidecar: the second half of `lastword run`'s start."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lastword._version import __version__
from lastword.core.connection import Options
from lastword.core.known_secrets import secrets_of
from lastword.sidecar import Settings, Sidecar

if TYPE_CHECKING:
    from datetime import datetime

    from lastword.cli.options import RunOptions
    from lastword.process import Agent, Guardian
    from lastword.signals import SignalInbox

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


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
        implementation=f"lastword/{__version__}",
        incident_prefix=f"{_run_id()}-",
        secrets=secrets_of(os.environ),
        wall_clock=_local_time,
    )
    settings = Settings(
        command=tuple(options.command),
        line_limit_bytes=int(values["line_limit"]),
        verbose=bool(values["verbose"]),
    )
    return Sidecar(settings, core, agent=agent, guardian=guardian, inbox=inbox)


def _local_time() -> datetime:
    # Loaded at the first failure: no part of a healthy turn.
    from datetime import datetime  # noqa: PLC0415

    return datetime.now().astimezone()


def _run_id() -> str:
    """A ULID: sorts by time, and differs between runs."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))
