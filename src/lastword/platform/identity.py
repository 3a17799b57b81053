"""The identity of one run of lastword, and the core's source of local time and random numbers.

Owns the run's id, the local clock, the random numbers, and the names of this user. The core does
not read the environment or the time of day, and draws no random numbers.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from lastword._version import __version__

if sys.platform != "win32":
    import pwd

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

IMPLEMENTATION = f"lastword/{__version__}"

RUN_ID_CHARS = 26


def local_time() -> datetime:
    """Return the user's local time, with its zone."""
    # Loaded at the first failure: a healthy turn does not need it.
    from datetime import datetime  # noqa: PLC0415

    from lastword.core.failure.phrases import LOCAL_ZONE  # noqa: PLC0415

    return datetime.now(LOCAL_ZONE)


def zone_of(name: str) -> tzinfo | None:
    """Return the time zone of this name, or `None` if this machine does not know it."""
    # As above, and only if a limit's end is stated with a zone.
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def roll() -> float:
    """Return a random number from 0 to 1, for jitter."""
    # `random` takes 3 ms to load; the system's own source is always there.
    return int.from_bytes(os.urandom(6), "big") / 2**48


def run_id() -> str:
    """Return a ULID: it sorts by time, and differs between runs."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


if sys.platform == "win32":

    def account_names() -> set[str]:
        return {os.environ.get("USERNAME", "")}

else:

    def account_names() -> set[str]:
        """Return this user's names: the account's and the person's."""
        try:
            account = pwd.getpwuid(os.getuid())
        except KeyError:
            return set()  # a container may run under a user id without a name
        return {account.pw_name, account.pw_gecos.partition(",")[0]}
