"""`lastword completion`: print a script for a shell, the manual page, or the recorded sessions.

Owns the exit status. The scripts ask for the sessions at each TAB, so that form loads only the
record.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSIONS = "sessions"


def main(arguments: Sequence[str]) -> int:
    """Print what was asked for; return the exit status."""
    if list(arguments) == [SESSIONS]:
        from lastword.cli.completion.sessions import lines  # noqa: PLC0415

        sys.stdout.writelines(f"{line}\n" for line in lines())
        return 0
    from lastword.cli.completion.forms import FORMS  # noqa: PLC0415
    from lastword.cli.completion.parsers import parser  # noqa: PLC0415

    options = parser().read(arguments)
    sys.stdout.write(FORMS[options.form]())
    return 0
