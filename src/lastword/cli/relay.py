"""From the command line's values to a sidecar: the second half of `lastword run`'s start."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lastword._version import __version__
from lastword.core.connection import Options
from lastword.sidecar import Settings, Sidecar

if TYPE_CHECKING:
    from lastword.cli.options import RunOptions
    from lastword.process import Agent, Guardian
    from lastword.signals import SignalInbox

SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
MIN_SECRET_CHARS = 8
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
        secrets=secrets_of(dict(os.environ)),
    )
    settings = Settings(
        command=tuple(options.command),
        line_limit_bytes=int(values["line_limit"]),
        verbose=bool(values["verbose"]),
    )
    return Sidecar(settings, core, agent=agent, guardian=guardian, inbox=inbox)


def secrets_of(environment: dict[str, str]) -> tuple[str, ...]:
    """The values of variables that are named like secrets: no frame of ours may carry one."""
    return tuple(
        value
        for name, value in environment.items()
        if len(value) >= MIN_SECRET_CHARS and any(word in name.upper() for word in SECRET_NAMES)
    )


def _run_id() -> str:
    """A ULID: sorts by time, and differs between runs."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))
