"""`lastword gateway` over another store: one that commits late, or one that is not there."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from lastword.cli import main
from lastword.cli.gateway import holder
from lastword.gateway.log.store import LogUnavailableError
from tests.kit.gateway.late_log import late_log

if TYPE_CHECKING:
    from lastword.gateway.log.store import Log

IS_AWAY = "TEST_LOG_IS_AWAY"
"""The variable that lets the store refuse every log."""


def open_log(path: str) -> Log:
    """Open the log of a session.

    Raises:
        LogUnavailableError: The store is away.
    """
    if IS_AWAY in os.environ:
        raise LogUnavailableError("the store is away")
    return late_log(path)


if __name__ == "__main__":
    holder.holder_of = partial(holder.holder_of, open_log=open_log)  # type: ignore[assignment]
    sys.argv.insert(1, "gateway")  # as its restart reads it
    sys.exit(main(sys.argv[1:]))
