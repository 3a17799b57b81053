"""A holder's program over another store: one that commits late, or one that is not there."""

from __future__ import annotations

import os
import sys

from lastword.cli.gateway.holder import main
from lastword.gateway.log.store import LogUnavailableError
from tests.kit.gateway.late_log import LateLog, late_log

IS_AWAY = "TEST_LOG_IS_AWAY"
"""The variable that lets the store refuse every log."""


def open_log(path: str) -> LateLog:
    """Open the log of a session.

    Raises:
        LogUnavailableError: The store is away.
    """
    if IS_AWAY in os.environ:
        raise LogUnavailableError("the store is away")
    return late_log(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], open_log))
