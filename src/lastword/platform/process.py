"""The agent's process: spawned, owned with all its descendants, stopped, and never left behind."""

from __future__ import annotations

import sys

from lastword.platform.exits import Exit

if sys.platform == "win32":
    from lastword.platform.windows_process import (
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
    from lastword.platform.posix_process import (
        Agent,
        Guardian,
        become,
        ensure_standard_streams,
        guardian_of,
        spawn,
        without_our_locale,
        write_message,
    )

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
