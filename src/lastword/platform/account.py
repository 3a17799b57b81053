"""The account of the user who runs this."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.account import account_names
else:
    from lastword.platform.posix.account import account_names

__all__ = ["account_names"]
