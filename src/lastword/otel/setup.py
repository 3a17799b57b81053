"""OpenTelemetry's SDK in a process of ours, set up by the standard variables alone.

Owns which exporters they name. The SDK and its exporters read endpoints, headers, sampling,
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
    """Return the telemetry of a run, sent to where the environment says."""
    resource = Resource.create(_service(run.program, environment))
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in _exporters("traces", environment):
        tracers.add_span_processor(BatchSpanProcessor(exporter))
    meters = MeterProvider(
        metric_readers=_readers(environment), resource=resource, shutdown_on_exit=False
    )

    def shut_down() -> None:
        # The spans first: if there is little time, they are worth more.
        tracers.shutdown()
        meters.shutdown()

    return Telemetry(run, tracers=tracers, meters=meters, shut_down=shut_down)


def gateway_meters(given: Instruments, environment: Mapping[str, str]) -> GatewayMeters:
    """Return the meters of a gateway, sent to where the environment says."""
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
    """Return the agent's program or the gateway as the service, if no name is configured."""
    named = environment.get("OTEL_SERVICE_NAME")
    if named or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        return {}
    return {"service.name": program}


def _exporters(signal: str, environment: Mapping[str, str]) -> list[Any]:
    """Return the exporters that `OTEL_TRACES_EXPORTER` and others name, if they are installed."""
    named = environment.get(f"OTEL_{signal.upper()}_EXPORTER") or "otlp"
    exporters: list[Any] = []
    for name in named.split(","):
        entry = name.strip()
        if entry == "otlp":
            entry = _otlp(signal, environment)
        points = entry_points(group=f"opentelemetry_{signal}_exporter", name=entry)
        exporters += [point.load()() for point in points]
    return exporters


def _otlp(signal: str, environment: Mapping[str, str]) -> str:
    own = environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
    protocol = own or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    return _PROTOCOLS.get(protocol.strip(), protocol)
