"""A recorder for a link in this process, made in the thread that feeds it.

Owns what is loaded for it: SQLite takes 5 ms, and nobody's turn waits for that here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.known_secrets import secrets_of
from lastword.otel import asked
from lastword.record.place import store_path
from lastword.record.recorder import Recorder
from lastword.record.retention import limits_of
from lastword.record.run import this_run
from lastword.record.sinks import Sinks

if TYPE_CHECKING:
    from lastword.record.recorder import Carrier


def recorder(run_id: str, *, door: str, program: str, folder: str | None) -> Recorder:
    """The recorder of one link; without a folder it keeps nothing, and may still send telemetry."""

    def start() -> Carrier | None:
        run = this_run(run_id, door=door, program=program)
        telemetry = asked.within_program(run)
        if folder is None and telemetry is None:
            return None
        path = None if folder is None else store_path(folder)
        secrets = secrets_of(os.environ)
        limits = limits_of(os.environ)
        return Sinks(path, run, limits, telemetry=telemetry, secrets=secrets)

    return Recorder(start)
