"""The agent's process: spawned, owned with all its descendants, stopped, and never left behind."""

from __future__ import annotations

import os
import sys

from lastword.platform.signals import Exit

if sys.platform == "win32":
    from lastword.platform.windows_process import (
        Agent,
        Guardian,
        become,
        ensure_standard_streams,
        guardian_of,
        spawn,
        without_our_locale,
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


def write_message(sentence: str) -> None:
    """Write a sentence to stderr; errors are ignored."""
    try:
        os.write(2, f"lastword: {sentence}\n".encode(errors="backslashreplace"))
    except OSError:
        return
