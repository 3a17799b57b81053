"""The agent's process: spawned, owned with all its descendants, stopped, and never left behind."""

from __future__ import annotations

import sys

from lastword.platform.exits import Exit

if sys.platform == "win32":
    from lastword.platform.windows.process import (
        Agent,
        Guardian,
        become,
        ensure_standard_streams,
        guardian_of,
        spawn,
        without_our_locale,
        write_message,
    )
else:
    from lastword.platform.posix.process import (
        Agent,
        Guardian,
        become,
        ensure_standard_streams,
        spawn,
        without_our_locale,
        write_message,
    )
    from lastword.platform.posix.spawned_guardian import spawned_guardian_of as guardian_of

__all__ = [
    "Agent",
    "Exit",
    "Guardian",
    "become",
    "ensure_standard_streams",
    "guardian_of",
    "spawn",
    "without_our_locale",
    "write_message",
]
