"""The account of the user, as Windows knows it."""

from __future__ import annotations

import os
import sys

assert sys.platform == "win32"


def account_names() -> set[str]:
    """Return the names of the user's account."""
    return {os.environ.get("USERNAME", "")}
