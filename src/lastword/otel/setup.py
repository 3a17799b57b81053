"""OpenTelemetry's SDK in a process of ours, set up only by the standard variables.

Owns the choice of exporters. The SDK and its exporters read endpoints, headers, sampling,
resources, limits and delays from the environment themselves.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from lastword.otel.telemetry import GatewayMeters, Telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.otel.conventions import Instruments
    from lastword.record.run import Run

GATEWAY = "lastword-gateway"
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def telemetry(run: Run, environment: Mapping[str, str]) -> Telemetry:
    """Return the telemetry of a run, with the environment's exporters."""
    resource = Resource.create(_service(run.program, environment))
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in _exporters("traces", environment):
        tracers.add_span_processor(BatchSpanProcessor(exporter))
    meters = MeterProvider(
        metric_readers=_readers(environment), resource=resource, shutdown_on_exit=False
    )

    def shut_down() -> None:
        # Spans first, since they are worth more if time runs out.
        tracers.shutdown()
        meters.shutdown()

    return Telemetry(run, tracers=tracers, meters=meters, shut_down=shut_down)


def gateway_meters(given: Instruments, environment: Mapping[str, str]) -> GatewayMeters:
    """Return the meters of a gateway, with the environment's exporters."""
    views = [
        View(
            instrument_name=each.name,
            aggregation=ExplicitBucketHistogramAggregation(each.bounds),
        )
        for each in given.instruments
        if each.bounds
    ]
    provider = MeterProvider(
        metric_readers=_readers(environment),
        resource=Resource.create(_service(GATEWAY, environment)),
        shutdown_on_exit=False,
        views=views,
    )
    return GatewayMeters(given, provider, provider.shutdown)


def _readers(environment: Mapping[str, str]) -> list[PeriodicExportingMetricReader]:
    return [PeriodicExportingMetricReader(each) for each in _exporters("metrics", environment)]


def _service(program: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the service's name for the resource, empty if the environment has one."""
    named = environment.get("OTEL_SERVICE_NAME")
    if named or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        return {}
    return {"service.name": program}


def _exporters(signal: str, environment: Mapping[str, str]) -> list[Any]:
    """Return the exporters that `OTEL_TRACES_EXPORTER` and the like name, if installed."""
    named = environment.get(f"OTEL_{signal.upper()}_EXPORTER") or "otlp"
    exporters: list[Any] = []
    for name in named.split(","):
        entry = name.strip()
        if entry == "otlp":
            own = environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
            protocol = own or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
            entry = _PROTOCOLS.get(protocol.strip(), protocol)
        points = entry_points(group=f"opentelemetry_{signal}_exporter", name=entry)
        exporters += [point.load()() for point in points]
    return exporters
