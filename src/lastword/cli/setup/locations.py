"""Locations of editors' settings on this machine, and default names.

Owns expanding the table of `quirks.setup`, and the message for an unknown name.
"""

from __future__ import annotations

import difflib
import ntpath
import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lastword.quirks.setup import Editor

_VARIABLE = re.compile(r"\{([A-Z_]++)\}")
_WINDOWS_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com)$", re.IGNORECASE)
_RUNNERS = {"npx", "bunx", "pnpx", "uvx", "node", "python", "python3", "env", "deno", "bun"}
SUFFIX = "-lastword"
"""What a new entry's name ends with, to distinguish it from the agent without lastword."""


def candidates(editor: Editor, environment: Mapping[str, str], system: str = "") -> list[str]:
    """Return where an editor's settings may be, the likeliest first."""
    system = system or sys.platform
    own = {"darwin": editor.places_on_macos, "win32": editor.places_on_windows}
    places = own.get(system) or editor.places
    home = home_of(environment, system)
    variables = dict(environment)
    if not os.path.isabs(variables.get("XDG_CONFIG_HOME", "")):
        variables["XDG_CONFIG_HOME"] = os.path.join(home, ".config")
    paths = []
    for place in places:
        names = _VARIABLE.findall(place)
        if all(variables.get(name) for name in names):
            path = _VARIABLE.sub(lambda match: variables[match[1]], place)
            path = home + path[1:] if path.startswith("~") else path
            paths.append(ntpath.normpath(path) if system == "win32" else path)
    return paths


def config_folder(system: str = "") -> str:
    """Return the folder of programs' settings as people write it: VS Code's relatives use it."""
    system = system or sys.platform
    return {"darwin": '"$HOME/Library/Application Support"', "win32": "$env:APPDATA"}.get(
        system, "~/.config"
    )


def home_of(environment: Mapping[str, str], system: str = "") -> str:
    """Return the user's home, by the variables of a process."""
    # Git's shell sets HOME on Windows, and no editor goes by it.
    variable = "USERPROFILE" if (system or sys.platform) == "win32" else "HOME"
    return environment.get(variable) or os.path.expanduser("~")


def settings_paths(editor: Editor, environment: Mapping[str, str]) -> list[str]:
    """Return the settings files that exist, or else the one that would be created."""
    places = candidates(editor, environment)
    there = [place for place in places if os.path.lexists(place)]
    folders = [place for place in places if os.path.isdir(os.path.dirname(place))]
    return there or folders[:1] or places[:1]


def shown(path: str, environment: Mapping[str, str]) -> str:
    """Return a path as people write it."""
    home = home_of(environment)
    inside = home != os.sep and path.startswith(home + os.sep)
    return "~" + path[len(home) :] if inside else path


def default_name(command: Sequence[str]) -> str:
    """Return an agent's default name, from its command: `opencode acp` is `opencode-lastword`."""
    words = [word for word in command if not word.startswith("-")] or ["agent"]
    first = _WINDOWS_SUFFIX.sub("", os.path.basename(words[0]))
    program = words[1] if first in _RUNNERS and len(words) > 1 else words[0]
    name = os.path.basename(program.rstrip("/")).lstrip("@").partition("@")[0]
    stem = re.sub(r"\.(?:py|js|mjs|cjs|ts|sh)$", "", _WINDOWS_SUFFIX.sub("", name))
    return re.sub(r"[^\w.-]", "-", stem or "agent") + SUFFIX


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for a name that is not a known one."""
    names = list(choices)
    like = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    meant = f"; did you mean {like[0]}?" if like else "."
    return f"there is no {kind} {name!r}{meant} There are: {', '.join(names)}"
