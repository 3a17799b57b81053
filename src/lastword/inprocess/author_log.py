"""What lastword writes to the log of an agent's author.

Owns that a handler of the author's logging that raises keeps no turn from its answer: the standard
library's own handlers never raise out of a call, but others do.
"""

from __future__ import annotations

import contextlib
import logging
import traceback
from typing import Any


class AuthorLog(logging.LoggerAdapter[logging.Logger]):
    """A logger that never raises."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log as `Logger.log` does, and print what a handler of the author's raises."""
        try:
            self.logger.log(level, msg, *args, **kwargs)
        except Exception:  # noqa: BLE001 - whatever an author's handler raises
            if logging.raiseExceptions:
                with contextlib.suppress(Exception):
                    traceback.print_exc()


logger: AuthorLog = AuthorLog(logging.getLogger("lastword"), {})
timeline: AuthorLog = AuthorLog(logging.getLogger("lastword.timeline"), {})
"""The record's entries, as `docs/agent.md` describes them."""
