"""The command line of a program on Windows: where it is, and how its arguments are quoted.

Owns the look-up on the PATH, which never includes the working directory (a project may hold a
`node.exe` of its own), and the arguments of batch files, which `cmd.exe` expands: what cannot be
quoted for it is refused (CVE-2024-24576 and its kin).
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys

assert sys.platform == "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BATCH = (".bat", ".cmd")
_PROGRAMS = (".com", ".exe", *_BATCH)
"""What can be started without asking the registry which program opens a file."""

_EXPANDED = frozenset('"%!')
"""What `cmd.exe` expands, or ends a quotation with, inside quotation marks."""


class UnsafeArgumentError(OSError):
    """An argument that cannot be passed to a batch file as it is."""


def command_line(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the program's path, and the whole command line.

    Raises:
        FileNotFoundError: There is no such program.
        UnsafeArgumentError: It is a batch file, and an argument is not safe with one.
        OSError: The file is not one that can be started.
    """
    path = find(command[0], environment)
    # Windows itself ignores dots and spaces at the end of a name.
    ending = os.path.splitext(path.rstrip(" ."))[1].lower()
    if ending in _BATCH:
        return _batch(path, command[1:], environment)
    return path, subprocess.list2cmdline([path, *command[1:]])


def find(program: str, environment: Mapping[str, str]) -> str:
    """Return the path of a program, looked up as a shell does but for the working directory.

    Raises:
        FileNotFoundError: There is none.
    """
    if os.path.dirname(program) or os.path.splitdrive(program)[0]:
        places = [os.path.abspath(program)]
    else:
        folders = _value(environment, "PATH").split(os.pathsep)
        places = [os.path.join(each.strip('"'), program) for each in folders if os.path.isabs(each)]
    given = _value(environment, "PATHEXT").lower().split(os.pathsep)
    endings = [ending for ending in given if ending in _PROGRAMS] or list(_PROGRAMS)
    for place in places:
        bare = os.path.splitext(place)[1].lower() not in _PROGRAMS
        # A file without an ending beside `npx.cmd` is the script for Unix shells.
        for path in [*(place + ending for ending in endings if bare), place]:
            if os.path.isfile(path):
                return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)


def _batch(path: str, arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    words = [path, *arguments]
    if any(_EXPANDED & set(word) or not word.isprintable() for word in words):
        raise UnsafeArgumentError(
            errno.EINVAL,
            'an argument for a batch file has ", %, ! or a control character, which cmd.exe would '
            "expand; start the program behind the batch file instead",
            path,
        )
    shell = os.path.join(_value(environment, "SystemRoot") or r"C:\Windows", "System32", "cmd.exe")
    quoted = " ".join(_quoted(word) for word in words)
    # /d: no command of the registry's runs first. /s: only the outer quotation marks go.
    return shell, f'"{shell}" /d /e:on /v:off /s /c "{quoted}"'


def _quoted(word: str) -> str:
    # The program behind reads a backslash before a quotation mark as an escape.
    slashes = len(word) - len(word.rstrip("\\"))
    return f'"{word}{chr(92) * slashes}"'


def _value(environment: Mapping[str, str], name: str) -> str:
    return next((v for key, v in environment.items() if key.upper() == name.upper()), "")
