"""The terminal: whether it understands escape sequences, and whether output still has a reader.

Owns how a command is written for a person who types it there, too.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

if sys.platform == "win32":
    from lastword.platform.windows.terminal import (
        allows_long_paths,
        code_page,
        has_no_reader,
        understands_escapes,
        wait_for_readers_end,
    )
else:
    from lastword.platform.posix.terminal import (
        allows_long_paths,
        code_page,
        has_no_reader,
        understands_escapes,
        wait_for_readers_end,
    )

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "allows_long_paths",
    "arguments",
    "code_page",
    "command_line",
    "has_no_reader",
    "understands_escapes",
    "wait_for_readers_end",
]

_PLAIN = re.compile(r"[\w\\/:.=+~-][\w\\/:.=+@~-]*")
"""What Windows' shells take as it is: to PowerShell `@` begins a variable, and `,` is a list."""


def arguments(words: Iterable[str], *, quote: str = '"') -> str:
    """Return arguments as a person types them here; with the double `quote`, in `cmd` as well."""
    if sys.platform != "win32":
        return shlex.join(words)
    return " ".join(
        word if _PLAIN.fullmatch(word) else f"{quote}{word.replace(quote, quote * 2)}{quote}"
        for word in words
    )


def command_line(words: Iterable[str]) -> str:
    """Return a command as a person types it here; on Windows it is PowerShell that takes all.

    There a program in quotes is a text, and not a command, without the `&` that `cmd` does not
    know; and `$` and the backtick are expanded between double quotes.
    """
    program, *rest = words
    if sys.platform != "win32":
        return shlex.join([program, *rest])
    if _PLAIN.fullmatch(program):
        quote = "'" if any(set(word) & set('$`"') for word in rest) else '"'
        return " ".join([program, arguments(rest, quote=quote)]).rstrip()
    return "& " + arguments([program, *rest], quote="'")
