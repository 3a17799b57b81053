"""Environment variables that enable telemetry; the check costs next to nothing.

Owns the standard `OTEL_*` variables that decide it. OpenTelemetry is imported only on request, and
a session continues if that fails.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.otel.conventions import Instruments
    from lastword.otel.telemetry import GatewayMeters
    from lastword.record.run import Run
    from lastword.record.sink import Sink

_ENDPOINTS = tuple(f"OTEL_EXPORTER_OTLP_{signal}ENDPOINT" for signal in ("", "TRACES_", "METRICS_"))
_EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")


def is_requested(environment: Mapping[str, str]) -> bool:
    """Return whether the environment names an exporter or an endpoint."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    named = any(environment.get(name, "none") not in ("", "none") for name in _EXPORTERS)
    return named or any(environment.get(name) for name in _ENDPOINTS)


def is_set_up() -> bool:
    """Return whether this program has loaded an SDK, or given the API another provider.

    The API alone is not evidence: the official ACP SDK imports it whenever it is installed.
    """
    if "opentelemetry.sdk" in sys.modules:
        return True
    api = sys.modules.get("opentelemetry.trace")
    return api is not None and not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider)


def within_program(run: Run) -> Sink | None:
    """Return a sink for a program that has set up an SDK itself, `None` if it has not."""
    try:
        if not is_set_up():
            return None
        from lastword.otel.telemetry import Telemetry  # noqa: PLC0415 - an extra, see above

        return Telemetry(run)
    except Exception:  # noqa: BLE001 - not fully installed, or a provider fails
        return None


def of_own(run: Run) -> Sink | None:
    """Return a sink with an SDK of ours, `None` unless the standard variables request it."""
    if not is_requested(os.environ):
        return None
    try:
        from lastword.otel.setup import telemetry  # noqa: PLC0415 - an extra, see above

        return telemetry(run, os.environ)
    except Exception:  # noqa: BLE001 - not installed, or a variable that the SDK cannot read
        return None


def of_gateway(given: Instruments) -> GatewayMeters | None:
    """Return the meters of a gateway, `None` unless the standard variables request them."""
    if not is_requested(os.environ):
        return None
    try:
        from lastword.otel.setup import gateway_meters  # noqa: PLC0415 - an extra, see above

        return gateway_meters(given, os.environ)
    except Exception:  # noqa: BLE001 - not installed, or a variable that the SDK cannot read
        return None
