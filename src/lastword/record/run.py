"""A run of lastword, recorded once, and an entry as it travels to the store.

Owns both shapes, and makes every text in them writable: neither JSON nor SQLite accepts lone
surrogates, which a file name or an agent's JSON may contain.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import msgspec

from lastword._version import __version__


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run: a sidecar, or a process with a guarded agent.

    Attributes:
        run_id: a ULID; incident ids begin with it.
        door: `run`, `guard`, `serve`, or `gateway`: an agent of a gateway.
        program: the base name of the agent's program.
        lastword_version: our version.
        python_version: for example, `3.11.7`.
        platform: for example, `linux`.
        pid: our process id.
        started_epoch_ms: when it started, in milliseconds since 1970 UTC.
    """

    run_id: str
    door: str
    program: str
    lastword_version: str
    python_version: str
    platform: str
    pid: int
    started_epoch_ms: int


def this_run(run_id: str, *, door: str, program: str) -> Run:
    return Run(
        run_id=run_id,
        door=door,
        program=whole(program),
        lastword_version=__version__,
        python_version=".".join(map(str, sys.version_info[:3])),
        platform=sys.platform,
        pid=os.getpid(),
        started_epoch_ms=int(time.time() * 1000),
    )


class Row(msgspec.Struct, frozen=True, array_like=True):
    """An entry with the time of day.

    Attributes:
        kind: `core.timeline.entry.Kind`.
        level: `core.timeline.entry.Level`.
        at_epoch_ms: the time of day, in milliseconds since 1970 UTC.
        at_seconds: the run's monotonic clock, of arbitrary origin; differences are exact.
        session_id: the session, if any.
        turn: the turn's number within the run.
        request_id: the JSON text of the request's id.
        facts: a JSON object.
        content: `core.timeline.entry.Entry.content`, which the store never writes.
    """

    kind: str
    level: str
    at_epoch_ms: int
    at_seconds: float
    session_id: str | None
    turn: int | None
    request_id: str | None
    facts: dict[str, Any]
    content: dict[str, str] = {}


def storable(row: Row) -> Row:
    """Return the row without anything that cannot be written, after a write has failed."""
    fields = {
        name: whole(getattr(row, name)) for name in ("session_id", "request_id", "facts", "content")
    }
    return msgspec.structs.replace(row, **fields)


def whole(value: Any) -> Any:
    """Return a JSON value with a mark for each lone surrogate in its texts."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {whole(key): whole(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [whole(member) for member in value]
    return value
