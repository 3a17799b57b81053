"""An agent on `lastword.serve` whose author uses OpenTelemetry, set up as the SDK's own text says.

With `without` it uses none, and says in a turn whether any of it has been loaded.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import lastword

END = {"stopReason": "end_turn"}


def set_up() -> None:
    """Send spans and metrics to where the environment says."""
    from opentelemetry import metrics, trace  # noqa: PLC0415 - one of two agents has it
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415
        OTLPMetricExporter,
    )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

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
    loaded = any(name.startswith(("opentelemetry", "lastword.otel.tel")) for name in sys.modules)
    await client.say(session_id, f"given {given}, loaded {loaded}")
    return END


if "without" not in sys.argv:
    set_up()
methods = {"initialize": initialize, "session/new": new_session, "session/prompt": prompt}
asyncio.run(lastword.serve(methods))
