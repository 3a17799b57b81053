"""Agents: their own names, and their programs.

An agent names itself in `agentInfo.name`, in its own spelling; before that, its command identifies
it. Tables about single agents use the keys defined here.
"""

from __future__ import annotations

from lastword.quirks import Quirk, rows

MAX_NAME_CHARS = 96


class AgentRow(Quirk, frozen=True, kw_only=True):
    """An agent's own name and its programs; `name` is its key.

    Attributes:
        part: a part of its own name, in lower-case letters and digits without separators.
        programs: its programs, scripts and packages, as in commands.
        observed: the runtime in which the observer saw its requests, with its version; empty if
            that was not tried, or showed nothing.
    """

    part: str
    programs: tuple[str, ...] = ()
    observed: str = ""


ROWS = rows("agents", AgentRow)
"""In order of precedence: the first whose part is in the name."""


def agent_key(name: str | None) -> str | None:
    """Return the key of a known agent by its own name."""
    if not name:
        return None
    lower = name[:MAX_NAME_CHARS].lower()
    bare = "".join(char for char in lower if char.isascii() and char.isalnum())
    return next((row.name for row in ROWS if row.part in bare), None)


def is_observed(key: str) -> bool:
    """Return whether the observer is known to see this agent's requests."""
    return any(row.observed for row in ROWS if row.name == key)


_PROGRAMS = {program: row.name for row in ROWS for program in row.programs}
_ENDINGS = (".js", ".mjs", ".cjs", ".py", ".sh", ".cmd", ".exe")
_PACKAGES = frozenset({"node_modules", "site-packages"})
MAX_WORDS = 64


def agent_of(command: tuple[str, ...] | list[str], name: str | None = None) -> str | None:
    """Return the key of a known agent by its own name, or else by its command.

    A command may start its program, `npx PACKAGE`, `python -m MODULE`, or an interpreter with a
    script of its package.
    """
    place = place_in(command)
    return agent_key(name) or (None if place is None else place[0])


def place_in(command: tuple[str, ...] | list[str]) -> tuple[str, int] | None:
    """Return the known agent in a command, and the index of the word that identifies it."""
    for number, word in enumerate(command[:MAX_WORDS]):
        if word.startswith("-"):
            continue
        # A word may name a program, a script, or a package in a folder of packages.
        parts = word.replace("\\", "/").rstrip("/").lower().split("/")
        programs = [_bare(parts[-1])]
        for parent, part, below in zip(parts, parts[1:], [*parts[2:], ""], strict=False):
            if parent in _PACKAGES:
                programs.append(_bare(below if part.startswith("@") else part))
        for program in programs:
            if program in _PROGRAMS:
                return _PROGRAMS[program], number
    return None


def _bare(part: str) -> str:
    """Return a part of a path without its ending, or a package without its version."""
    stem = next((part.removesuffix(end) for end in _ENDINGS if part.endswith(end)), part)
    return stem.partition("@")[0].partition("==")[0].partition(".")[0].replace("_", "-")
