"""`lastword completion`: print a script for a shell, the manual page, or the recorded sessions.

Owns the exit status. A script may be loaded whenever a shell starts, and asks for the sessions at
each TAB: neither needs a parser.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lastword.cli.completion import FILES, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Print a file or the sessions; return the exit status."""
    if list(arguments) == ["sessions"]:
        from lastword.cli.completion.sessions import lines  # noqa: PLC0415

        sys.stdout.writelines(f"{line}\n" for line in lines())
        return 0
    form = arguments[0] if len(arguments) == 1 else ""
    if form not in FILES:
        from lastword.cli.completion.parsers import parser  # noqa: PLC0415

        form = parser().read(arguments).form
    sys.stdout.write(path_of(form).read_text(encoding="utf-8"))
    return 0
