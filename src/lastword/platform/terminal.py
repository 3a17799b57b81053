"""The terminal: whether it understands escape sequences, and whether output still has a reader."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.terminal import (
        allows_long_paths,
        code_page,
        has_no_reader,
        understands_escapes,
        wait_for_readers_end,
    )
else:
    from lastword.platform.posix.terminal import (
        allows_long_paths,
        code_page,
        has_no_reader,
        understands_escapes,
        wait_for_readers_end,
    )

__all__ = [
    "allows_long_paths",
    "code_page",
    "has_no_reader",
    "understands_escapes",
    "wait_for_readers_end",
]
