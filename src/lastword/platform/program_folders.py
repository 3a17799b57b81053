"""Folders of programs that an editor's PATH may lack, on each system.

Owns where package managers and version managers put programs. On macOS the Dock starts an editor
with only the system's four folders; a terminal's start-up files add all others.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_OF_THE_DOCK = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
"""The PATH of a program that launchd starts (macOS' `path_helper` serves shells only)."""

_OF_UNIX = (
    "~/.local/bin",
    "~/.volta/bin",
    "~/.local/share/mise/shims",
    "~/.asdf/shims",
    "~/.nvm/versions/node/*/bin",
    "~/.local/share/fnm/aliases/default/bin",
    "~/.bun/bin",
    "~/.deno/bin",
    "~/.cargo/bin",
    "~/.npm-global/bin",
    "~/go/bin",
)
_OF_MACOS = (
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/opt/local/bin",
    "~/Library/Application Support/fnm/aliases/default/bin",
    "~/Library/pnpm",
)
_OF_WINDOWS = (
    "{APPDATA}/npm",
    "{ProgramFiles}/nodejs",
    "{USERPROFILE}/.local/bin",
    "{LOCALAPPDATA}/Volta/bin",
    "{LOCALAPPDATA}/mise/shims",
    "{LOCALAPPDATA}/Microsoft/WinGet/Links",
    "{LOCALAPPDATA}/pnpm",
    "{USERPROFILE}/scoop/shims",
    "{USERPROFILE}/.bun/bin",
    "{USERPROFILE}/.deno/bin",
    "{USERPROFILE}/.cargo/bin",
    "{ProgramData}/chocolatey/bin",
)


def folders(environment: Mapping[str, str], system: str = "") -> list[str]:
    """Return the folders of this kind that exist, the likeliest first."""
    system = system or sys.platform
    if system == "win32":
        named = {name.upper(): value for name, value in environment.items()}
        places = []
        for place in _OF_WINDOWS:
            variable, _, rest = place[1:].partition("}")
            base = named.get(variable.upper(), "")
            places += [os.path.normpath(base + rest)] if base else []
    else:
        home = environment.get("HOME") or os.path.expanduser("~")
        places = [
            home + place[1:] if place.startswith("~") else place
            for place in (*(_OF_MACOS if system == "darwin" else ()), *_OF_UNIX)
        ]
    # The newest of several versions is the likeliest; their names sort well enough.
    present = [path for place in places for path in sorted(glob.glob(place), reverse=True)]
    return [path for path in present if os.path.isdir(path)]


def located_off_path(program: str, environment: Mapping[str, str], system: str = "") -> str | None:
    """Return the path of a program that is not on PATH but in one of these folders."""
    path = os.pathsep.join(folders(environment, system))
    return shutil.which(program, path=path) if path else None


def is_beyond_the_dock(path: str, system: str = "") -> bool:
    """Return whether an editor started from macOS' Dock does not find the program at this path."""
    return (system or sys.platform) == "darwin" and os.path.dirname(path) not in PATH_OF_THE_DOCK


def is_a_script_of_env(path: str) -> bool:
    """Return whether a program needs PATH to find its interpreter (`#!/usr/bin/env node`)."""
    try:
        with open(path, "rb") as file:
            line = file.read(256).split(b"\n", 1)[0]
    except OSError:
        return False
    return line.startswith(b"#!") and b"/env" in line.split(b" ", 1)[0] + b" "
