"""The start of a recorder's sinks, in its own process or thread."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.redact.environment_secrets import secrets_of

if TYPE_CHECKING:
    from lastword.record.paths import Limits
    from lastword.record.run import Run
    from lastword.record.sink import StartReportSink, StartSink, StoreSink


def sinks_of(
    path: str | None,
    run: Run,
    limits: Limits,
    *,
    telemetry: StartSink | None = None,
    reports: StartReportSink | None = None,
) -> StoreSink:
    """Return the sinks of a recorder, started in its own process."""
    # Imported here, since the sidecar itself never needs it.
    from lastword.record.sink import StoreSink  # noqa: PLC0415

    secrets = secrets_of(os.environ)
    return StoreSink(
        path,
        run,
        limits,
        reports=None if reports is None else reports(run),
        telemetry=None if telemetry is None else telemetry(run),
        secrets=secrets,
    )
