"""Signals that end this process, or the agent's, as something that a loop can wait for."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Inbox(Protocol):
        """What has been signalled; `fd` is readable when there is something, -1 for none."""

        fd: int

        def drain(self) -> list[int]:
            """Return the signals since the last call, in order."""
            ...


if sys.platform == "win32":
    from lastword.platform.windows.signals import (
        ENDING,
        PASSED,
        SIGKILL,
        SIGTERM,
        SignalInbox,
    )
else:
    from lastword.platform.posix.signals import (
        ENDING,
        PASSED,
        SIGKILL,
        SIGTERM,
        SignalInbox,
    )

__all__ = ["ENDING", "PASSED", "SIGKILL", "SIGTERM", "SignalInbox"]
