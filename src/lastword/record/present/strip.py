"""Strips: a row of marks, one for each turn or retry.

Owns the marks. The caller knows how many there is room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.record.turns import CANCELLED, FAILED, OK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TURN_MARKS = {OK: ".", FAILED: "x", CANCELLED: "-"}
NO_END, RUNNING, SILENT, MORE = "?", "~", "s", "<"
LEGEND = (
    "One mark a turn, the latest last:",
    ". ok",
    f"{SILENT} ok after a long silence",
    "x failed",
    "- cancelled",
    f"{RUNNING} running",
    f"{NO_END} no end recorded",
    f"{MORE} earlier turns",
)
"""The meanings of the marks, one phrase for each."""

_BARS, _PLAIN = "▁▂▃▄▅▆▇█", ".:-=+*%#"
_STEPS_SECONDS = (1, 2, 5, 15, 45, 120, 600)
"""A wait up to the first is the lowest bar, one beyond the last the highest."""


def turns(marks: Iterable[str], columns: int) -> str:
    """Return one mark for each turn, the latest last; `<` says that there were more."""
    strip = "".join(marks)
    return strip if len(strip) <= columns else MORE + strip[len(strip) - columns + 1 :]


def bars_legend(*, bars: bool) -> str:
    """Return what the marks of retries mean."""
    marks = _BARS if bars else _PLAIN
    return (
        f"{marks} one mark a retry, by how long it waited: up to 1 s ({marks[0]}) to over 10 min "
        f"({marks[-1]})."
    )


def retries(waits_seconds: Sequence[float], columns: int, *, bars: bool) -> str:
    """Return one mark for each retry, higher for longer waits; `<` says that there were more."""
    marks = _BARS if bars else _PLAIN
    strip = "".join(marks[sum(wait > step for step in _STEPS_SECONDS)] for wait in waits_seconds)
    return strip if len(strip) <= columns else MORE + strip[len(strip) - columns + 1 :]
