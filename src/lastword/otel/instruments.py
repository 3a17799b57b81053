"""Instruments: what a gateway measures, as plain values.

Owns what is asked of the code that has the values. Knows no OpenTelemetry library.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class InstrumentKind(StrEnum):
    """A source of an instrument's values."""

    COUNTER = "counter"
    """It is read; what it gives never goes down."""
    GAUGE = "gauge"
    """It is read."""
    HISTOGRAM = "histogram"
    """It receives each value as it comes."""


class Instrument(msgspec.Struct, frozen=True, kw_only=True):
    """One instrument.

    Attributes:
        name: the name of the metric.
        kind: how it gets its values.
        unit: in UCUM.
        description: what it measures.
        bounds: for a histogram, the upper end of each bucket but the last.
    """

    name: str
    kind: InstrumentKind
    unit: str
    description: str
    bounds: tuple[float, ...] = ()


class InstrumentReading(NamedTuple):
    """A value with its attributes."""

    value: float
    attributes: dict[str, str]


class Instruments(NamedTuple):
    """The instruments, and a function that reads the observable ones by name, from any thread."""

    instruments: tuple[Instrument, ...]
    read: Callable[[str], Iterable[InstrumentReading]]
