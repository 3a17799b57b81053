"""The end of a process that a handler has forked, and that came back into the agent's own code.

The client is the parent's, and so is the event loop: the child would answer a turn that continues,
and stop the parent from hearing its client (they share what they poll with).
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

from lastword.inprocess.request import process_ending
from lastword.inprocess.settings import logger


def end(error: BaseException | None = None, *, status: int = 0) -> NoReturn:
    """End this process, with the exception that leaves its copy of the handler, if one does."""
    ending = None if error is None else process_ending(error)
    code = ending.code if isinstance(ending, SystemExit) else status or int(error is not None)
    if error is not None and ending is None:
        logger.error("A process that a handler forked has failed.", exc_info=error)
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


def end_speaker() -> NoReturn:
    """End this process, which would have spoken to its parent's client."""
    logger.error(
        "A process that a handler forked has ended: it used the connection to the client, which is "
        "its parent's. Leave such a process with os._exit()."
    )
    end(status=1)
