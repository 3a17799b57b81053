"""How many processes the tests themselves have started: what a run costs, machine by machine.

What these processes start in turn is not counted. Owns the count of one pytest process; its workers
hand theirs over in `conftest`.
"""

from __future__ import annotations

import sys
from typing import Any

STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
count = 0


def begin() -> None:
    """Count from now on."""
    sys.addaudithook(_note)


def _note(event: str, _arguments: tuple[Any, ...]) -> None:
    global count  # noqa: PLW0603 - a hook cannot be taken back, and there is one a process
    if event in STARTS:
        count += 1
