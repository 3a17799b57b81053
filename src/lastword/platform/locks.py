"""Locks between processes, which end with the process that has them."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.locks import lock, open_folder_lock, unlock
else:
    from lastword.platform.posix.locks import lock, open_folder_lock, unlock

__all__ = ["lock", "open_folder_lock", "unlock"]
