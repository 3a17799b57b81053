"""Files with settings: opened without waiting, given the rights of the old one, and replaced."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from lastword.platform.windows.settings_files import (
        belongs_to_user,
        copy_rights,
        open_settings,
        replace,
    )
else:
    from lastword.platform.posix.settings_files import (
        belongs_to_user,
        copy_rights,
        open_settings,
        replace,
    )

__all__ = ["belongs_to_user", "copy_rights", "open_settings", "replace"]
