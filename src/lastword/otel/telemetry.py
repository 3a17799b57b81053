"""Spans, measurements and a gateway's instruments, reported through OpenTelemetry's API.

Owns the calls. The gateway has its instruments' values (`Instruments`). The caller's providers
decide which SDK receives them, if any.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lastword._version import __version__
from lastword.otel import conventions as names
from lastword.otel.conventions import InstrumentKind
from lastword.otel.spans import Span, SpanBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.metrics import MeterProvider

    from lastword.otel.conventions import Instruments
    from lastword.otel.spans import Measured
    from lastword.record.run import Row, Run


_NS = 1_000_000_000
_PROPAGATOR = TraceContextTextMapPropagator()


class Telemetry:
    """Reports the rows of one run."""

    def __init__(
        self,
        run: Run,
        *,
        tracers: trace.TracerProvider | None = None,
        meters: metrics.MeterProvider | None = None,
        shut_down: Callable[[], object] | None = None,
    ) -> None:
        """Report a run.

        Args:
            run: the run.
            tracers: the provider for spans; the process's own by default.
            meters: the provider for metrics; the process's own by default.
            shut_down: called at the end.
        """
        self._builder = SpanBuilder(run, time.time() - time.monotonic())
        self._tracer = trace.get_tracer(names.SCOPE, __version__, tracers, names.SCHEMA_URL)
        meter = metrics.get_meter(names.SCOPE, __version__, meters, names.SCHEMA_URL)
        self._counters = {
            name: meter.create_counter(name, unit, description)
            for name, (unit, description) in names.COUNTERS.items()
        }
        self._histograms = {
            name: meter.create_histogram(name, unit, description)
            for name, (unit, description) in names.HISTOGRAMS.items()
        }
        self._shut_down = shut_down

    def send(self, rows: list[Row]) -> None:
        for row in rows:
            for item in self._builder.receive(row):
                self._report(item)

    def close(self) -> None:
        """Report unfinished turns and sessions, and shut down."""
        for item in self._builder.rest():
            self._report(item)
        if self._shut_down is not None:
            self._shut_down()

    def _report(self, item: Span | Measured) -> None:
        if isinstance(item, Span):
            carrier = {"traceparent": item.traceparent} if item.traceparent else {}
            # A new context, since this thread's current one is unrelated to the turn.
            context = _PROPAGATOR.extract(carrier, Context())
            self._span(item, context, trace.SpanKind.SERVER)
        elif item.metric in self._counters:
            self._counters[item.metric].add(item.value, item.attributes)
        else:
            self._histograms[item.metric].record(item.value, item.attributes)

    def _span(self, item: Span, context: Context, kind: trace.SpanKind) -> None:
        span = self._tracer.start_span(
            item.name,
            context=context,
            kind=kind,
            attributes=item.attributes,
            start_time=int(item.started_seconds * _NS),
        )
        within = trace.set_span_in_context(span, context)
        for child in item.children:
            self._span(child, within, trace.SpanKind.INTERNAL)
        for event in item.events:
            span.add_event(event.name, event.attributes, int(event.at_seconds * _NS))
        if item.failed:
            span.set_status(trace.StatusCode.ERROR)
        span.end(int(item.ended_seconds * _NS))


CLOSE_SECONDS = 0.5
"""The time to send the last values, since viewers wait while a gateway is reloaded."""


class GatewayMeters:
    """The instruments of one gateway."""

    def __init__(
        self, given: Instruments, provider: MeterProvider, shut_down: Callable[[], object]
    ) -> None:
        """Create them; `shut_down` is called at the end."""
        meter = provider.get_meter(names.SCOPE, __version__, names.SCHEMA_URL)
        self._given = given
        self._shut_down = shut_down
        self._histograms = {}
        for each in given.instruments:
            if each.kind is InstrumentKind.HISTOGRAM:
                made = meter.create_histogram(each.name, each.unit, each.description)
                self._histograms[each.name] = made
                continue
            read = [partial(self._read, each.name)]
            if each.kind is InstrumentKind.COUNTER:
                meter.create_observable_counter(each.name, read, each.unit, each.description)
            else:
                meter.create_observable_gauge(each.name, read, each.unit, each.description)

    def _read(self, name: str, _: CallbackOptions) -> Iterator[Observation]:
        for reading in self._given.read(name):
            yield Observation(reading.value, reading.attributes)

    def record(self, name: str, value: float, attributes: dict[str, str]) -> None:
        """Record a histogram's next value; a name that is not a histogram's is ignored."""
        histogram = self._histograms.get(name)
        if histogram is not None:
            histogram.record(value, attributes)

    def close(self) -> None:
        """Send the last values, and shut down."""
        # In a thread that can be abandoned, so that an unresponsive collector causes no delay.
        leaving = threading.Thread(target=self._shut_down, name="last metrics", daemon=True)
        leaving.start()
        leaving.join(CLOSE_SECONDS)
