"""Whether work costs its length or the square of it: two lengths, which no slow machine changes."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Text = TypeVar("Text", str, bytes)
SHORT_SECONDS = 0.005
"""What takes less is not measured, but counts as this."""


def costs_its_length(work: Callable[[Text], object], text: Text) -> bool:
    """Does the whole take less than three times its share of an eighth? The square would be eight.

    It is the processor's time, and the best of three: others may be busy as well.
    """
    work(text[:1000])  # what is made once
    part = text[: len(text) // 8] + text[-2:]  # its end decides what there is to do
    return any(
        _seconds(work, text) < 24 * max(_seconds(work, part), SHORT_SECONDS) for _ in range(3)
    )


def _seconds(work: Callable[[Text], object], text: Text) -> float:
    gc.disable()  # what else is alive is not the work's
    try:
        begun = time.process_time()
        work(text)
        return time.process_time() - begun
    finally:
        gc.enable()
