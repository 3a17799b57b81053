"""A user's own patterns, matched in a separate process so that none can block the loop.

Owns that process, which exits by itself if a pattern takes too long. Meanwhile the look waits, but
not the loop.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from lastword.sidecar import late_modules

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import TypeAlias

    Groups: TypeAlias = dict[str, str | None]

LIMIT_SECONDS = 5.0
"""How long a pattern may take for all new lines of a look."""

_PROGRAM = """\
import faulthandler, json, re, sys
pattern, lines, seconds = json.load(sys.stdin)
# Ends the process, even within a match.
faulthandler.dump_traceback_later(seconds, exit=True)
matches = [re.match(pattern, line) for line in lines]
json.dump([match and match.groupdict() for match in matches], sys.stdout)
"""


MAX_CHARS = 16 * 1024
"""A longer line is not matched."""


class SlowPatternError(Exception):
    """The pattern took too long; the message says so."""


def match_lines(pattern: str, lines: Sequence[str]) -> Generator[None, None, list[Groups | None]]:
    """Return the groups of every line, `None` without a match; yield until they are there.

    Raises:
        SlowPatternError: The process failed, usually because the pattern took too long.
    """
    texts = [line if len(line) <= MAX_CHARS else "" for line in lines]
    finished: list[subprocess.CompletedProcess[str]] = []

    def match() -> None:
        with suppress(OSError):
            finished.append(
                subprocess.run(  # noqa: S603 - our own program
                    [sys.executable, "-I", "-S", "-c", _PROGRAM],
                    input=json.dumps([pattern, texts, LIMIT_SECONDS]),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    encoding="ascii",
                    check=False,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # on Windows
                )
            )

    yield from late_modules.run(match)
    if not finished:
        return [None] * len(lines)  # no process can be started
    if finished[0].returncode:
        raise SlowPatternError(f"its pattern takes more than {LIMIT_SECONDS:g} s")
    groups: list[Groups | None] = json.loads(finished[0].stdout)
    return groups
