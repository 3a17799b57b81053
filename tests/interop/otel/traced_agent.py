"""An agent on `lastword.serve` whose author uses OpenTelemetry, set up as its SDK says."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import lastword

END = {"stopReason": "end_turn"}


def set_up() -> None:
    """Send spans and metrics to where the environment says."""
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))


async def initialize(_: Any) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentInfo": {"name": "plain", "version": "7"}}


async def new_session(_: Any) -> dict[str, Any]:
    return {"sessionId": "s1"}


async def prompt(client: Any, session_id: str, prompt: Any, **params: Any) -> Any:
    if prompt[0]["text"] == "leak":
        secret = os.environ["LEAKED_TOKEN"]
        called = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": secret}
        await client.update(session_id, called, rawInput={"env": {"TOKEN": secret}})
        raise RuntimeError(f"401 for {secret}")
    if prompt[0]["text"] == "limit":
        raise RuntimeError("429 Too Many Requests")
    for call, tool, status in (("c1", "read", "completed"), ("c2", "execute", "failed")):
        opened = {"sessionUpdate": "tool_call", "toolCallId": call, "title": "Look", "kind": tool}
        await client.update(session_id, opened)
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}
        await client.update(session_id, ended)
    given = params.get("_meta", {}).get("traceparent", "none")
    await client.say(session_id, f"given {given}")
    return END


set_up()
methods = {"initialize": initialize, "session/new": new_session, "session/prompt": prompt}
asyncio.run(lastword.serve(methods))
