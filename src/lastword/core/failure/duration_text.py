"""Durations as a user writes them: `90`, `90s`, `5m`, `1h`, `2d`, `500ms`.

Owns the units. `lastword run` reads its options with this before the agent is spawned, so it
imports nothing.
"""

from __future__ import annotations

DAY_SECONDS = 86_400
_UNITS = {
    "ms": 0.001,
    "s": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": DAY_SECONDS,
    "w": 7 * DAY_SECONDS,
}

EXAMPLES = "such as 30 (seconds), 90s, 5m or 1h"
"""Example durations for an error message."""


def seconds_of(text: str, unit: str = "s") -> float | None:
    """Return the seconds that a text means, or `None` if it is not a duration.

    Args:
        text: A number from 0 up, with a unit or without.
        unit: The unit of a number without one.
    """
    text = text.strip().lower()
    number = text.rstrip("mshdwin")
    factor = _UNITS.get(text[len(number) :] or unit)
    try:
        seconds = float(number) * factor if factor else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
