"""Signals that end this process, or the agent's, as something that a loop can wait for."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.signals import (
        CONTINUED,
        ENDING,
        PASSED,
        SIGKILL,
        SIGTERM,
        SignalInbox,
    )
else:
    from lastword.platform.posix.signals import (
        CONTINUED,
        ENDING,
        PASSED,
        SIGKILL,
        SIGTERM,
        SignalInbox,
    )

__all__ = ["CONTINUED", "ENDING", "PASSED", "SIGKILL", "SIGTERM", "SignalInbox"]
