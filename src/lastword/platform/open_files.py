"""Open files: which processes of this user may write to a file, and which belong to an agent."""

from __future__ import annotations

import sys

from lastword.platform.process_info import Writers

if sys.platform == "win32":
    from lastword.platform.windows.open_files import belongs_to, find_writers
else:
    from lastword.platform.posix.open_files import belongs_to, find_writers

__all__ = ["Writers", "belongs_to", "find_writers"]
