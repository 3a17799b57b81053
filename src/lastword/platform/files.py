"""Files of this user: how they are opened, and whose they are."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.files import (
        CREATE,
        NO_LINK,
        READ,
        is_own,
        is_running,
        name_for_child,
        read_at,
        restrict,
    )
else:
    from lastword.platform.posix.files import (
        CREATE,
        NO_LINK,
        READ,
        is_own,
        is_running,
        name_for_child,
        read_at,
        restrict,
    )

__all__ = [
    "CREATE",
    "NO_LINK",
    "READ",
    "is_own",
    "is_running",
    "name_for_child",
    "read_at",
    "restrict",
]
