"""The terminal: whether it understands escape sequences, and whether output still has a reader.

Owns also how a command is written for a person to type.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

if sys.platform == "win32":
    import ctypes
    import errno
    import msvcrt
    import time
    import winreg
    from ctypes import wintypes

    _OBEYS_ESCAPES = 0x0004
    """ENABLE_VIRTUAL_TERMINAL_PROCESSING, which Windows has since version 10."""

    _FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.GetConsoleMode.argtypes = [wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD)]
    _kernel32.SetConsoleMode.argtypes = [wintypes.HANDLE, wintypes.DWORD]
    _kernel32.GetConsoleOutputCP.restype = wintypes.UINT
else:
    import select

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = re.compile(r"[\w\\/:.=+~-][\w\\/:.=+@~-]*")
"""A word that needs no quotes in Windows' shells: in PowerShell `@` begins a variable, and `,`
makes a list."""


def arguments(words: Iterable[str], *, quote: str = '"') -> str:
    """Return arguments as a person types them here; with the double `quote`, also in `cmd`."""
    if sys.platform != "win32":
        return shlex.join(words)
    return " ".join(
        word if _PLAIN.fullmatch(word) else f"{quote}{word.replace(quote, quote * 2)}{quote}"
        for word in words
    )


def command_line(words: Iterable[str]) -> str:
    """Return a command as a person types it here, on Windows in PowerShell.

    There a program in quotes is a text unless it follows `&`, which `cmd` does not know; and `$`
    and the backtick are expanded between double quotes.
    """
    program, *rest = words
    if sys.platform != "win32":
        return shlex.join([program, *rest])
    if _PLAIN.fullmatch(program):
        quote = "'" if any(set(word) & set('$`"') for word in rest) else '"'
        return " ".join([program, arguments(rest, quote=quote)]).rstrip()
    return "& " + arguments([program, *rest], quote="'")


if sys.platform == "win32":

    def understands_escapes(fd: int) -> bool:
        """Return whether a terminal can erase a line and show colours, enabling that if needed."""
        if os.environ.get("TERM") == "dumb":
            return False
        mode = wintypes.DWORD()
        try:
            handle = msvcrt.get_osfhandle(fd)
        except OSError:
            return False
        if not _kernel32.GetConsoleMode(handle, mode):
            return False
        obeys = mode.value & _OBEYS_ESCAPES
        return bool(obeys or _kernel32.SetConsoleMode(handle, mode.value | _OBEYS_ESCAPES))

    def has_no_reader(error: OSError) -> bool:
        """Return whether a write failed because the reader has closed our output.

        The C library reports the end of a pipe that is being closed as an invalid argument.
        """
        return isinstance(error, BrokenPipeError) or error.errno == errno.EINVAL

    def wait_for_readers_end(_fd: int, seconds: float) -> bool:
        """Wait; only the next write shows whether the reader has gone."""
        time.sleep(seconds)
        return False

    def code_page() -> int | None:
        """Return the number of the console's code page; `None` without a console."""
        return _kernel32.GetConsoleOutputCP() or None

    def allows_long_paths() -> bool | None:
        """Return whether programs may use paths of over 260 characters; `None` if unknown."""
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _FILE_SYSTEM) as key:
                return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
        except FileNotFoundError:
            return False
        except OSError:
            return None

else:

    def understands_escapes(_fd: int) -> bool:
        """Return whether a terminal can erase a line and show colours."""
        return os.environ.get("TERM", "dumb") != "dumb"

    def has_no_reader(error: OSError) -> bool:
        """Return whether a write failed because the reader has closed our output (`| head`)."""
        return isinstance(error, BrokenPipeError)

    def wait_for_readers_end(fd: int, seconds: float) -> bool:
        """Wait while our output has a reader; return whether the reader has gone."""
        reader = select.poll()
        reader.register(fd, 0)
        return bool(reader.poll(seconds * 1000))

    def code_page() -> int | None:
        """Return `None`: only a Windows console has a code page."""
        return None

    def allows_long_paths() -> bool | None:
        """Return `None`: here all programs may use paths of over 260 characters."""
        return None
