"""What the terminal behind stdout can show."""

from __future__ import annotations

import os
import sys


def has_colours() -> bool:
    """Colours are for a terminal that has them and a user who has not declined (no-color.org)."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )
