"""Durations as the values of options: types for argparse."""

from __future__ import annotations

import argparse

from lastword.core.failure.option_values import DURATION_EXAMPLES, seconds_of


def positive_seconds(text: str) -> float:
    """Return a duration above 0, in seconds.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    seconds = seconds_of(text)
    if not seconds:
        raise argparse.ArgumentTypeError(
            f"cannot be {text!r}: it takes a duration above 0, {DURATION_EXAMPLES}"
        )
    return seconds


def seconds(text: str) -> float:
    """Return a duration, in seconds.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    duration = seconds_of(text)
    if duration is None:
        raise argparse.ArgumentTypeError(
            f"cannot be {text!r}: it takes a duration, {DURATION_EXAMPLES}"
        )
    return duration
