"""A gateway's instruments, registered with OpenTelemetry's API.

Owns the calls. The gateway has the values (`Instruments`), and whoever passes the provider decides
where they go.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Observation

from lastword._version import __version__
from lastword.otel import conventions as names
from lastword.otel.conventions import InstrumentKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.metrics import MeterProvider

    from lastword.otel.conventions import Instrument, Instruments

CLOSE_SECONDS = 0.5
"""The time to send the last values: a gateway that is reloaded keeps viewers waiting."""


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
            elif each.kind is InstrumentKind.COUNTER:
                reader = [self._reader(each)]
                meter.create_observable_counter(each.name, reader, each.unit, each.description)
            else:
                reader = [self._reader(each)]
                meter.create_observable_gauge(each.name, reader, each.unit, each.description)

    def _reader(self, instrument: Instrument) -> Callable[[CallbackOptions], Iterator[Observation]]:
        def read(_: CallbackOptions) -> Iterator[Observation]:
            for reading in self._given.read(instrument.name):
                yield Observation(reading.value, reading.attributes)

        return read

    def record(self, name: str, value: float, attributes: dict[str, str]) -> None:
        """Record a histogram's next value; a name that is not a histogram's is ignored."""
        histogram = self._histograms.get(name)
        if histogram is not None:
            histogram.record(value, attributes)

    def close(self) -> None:
        """Send the last values, and shut down."""
        # In a thread that may be abandoned, so that an unresponsive collector delays nobody.
        leaving = threading.Thread(target=self._shut_down, name="last metrics", daemon=True)
        leaving.start()
        leaving.join(CLOSE_SECONDS)
