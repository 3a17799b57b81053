"""The identity of one run of lastword, and what its core is told of this process.

Owns the run's id and the local clock. The core knows neither environment nor time of day.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lastword._version import __version__

if TYPE_CHECKING:
    from datetime import datetime

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

IMPLEMENTATION = f"lastword/{__version__}"

RUN_ID_CHARS = 26


def local_time() -> datetime:
    """The time of day where the user is, with its zone."""
    # Loaded at the first failure: no part of a healthy turn.
    from datetime import datetime  # noqa: PLC0415

    return datetime.now().astimezone()


def run_id() -> str:
    """A ULID: sorts by time, and differs between runs."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))
