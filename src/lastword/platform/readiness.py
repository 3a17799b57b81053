"""Waiting in a task for a descriptor that can be read or written."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.readiness import wait_readable, wait_writable
else:
    from lastword.platform.posix.readiness import wait_readable, wait_writable

__all__ = ["wait_readable", "wait_writable"]
