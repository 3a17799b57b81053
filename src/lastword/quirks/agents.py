"""Agents: what each calls itself, and its programs.

An agent names itself in `agentInfo.name`, spelled as it likes; before that, its command shows which
it is. Tables about single agents use the keys defined here.
"""

from __future__ import annotations

from lastword.quirks import Quirk, rows

MAX_NAME_CHARS = 96


class AgentRow(Quirk, frozen=True, kw_only=True):
    """An agent's own name and its programs; `name` is its key.

    Attributes:
        part: a part of its own name, in lower-case letters and digits without anything between.
        programs: its programs, scripts and packages, as they are written in commands.
        observed: the runtime in which its requests were seen by the observer, with its version;
            empty where that was not tried, or shows nothing.
    """

    part: str
    programs: tuple[str, ...] = ()
    observed: str = ""


ROWS = rows("agents", AgentRow)
"""In this order: the first whose part is in the name."""


def agent_key(name: str | None) -> str | None:
    """Return the key of a known agent, given the name that it calls itself."""
    if not name:
        return None
    lower = name[:MAX_NAME_CHARS].lower()
    bare = "".join(char for char in lower if char.isascii() and char.isalnum())
    return next((row.name for row in ROWS if row.part in bare), None)


def is_observed(key: str) -> bool:
    """Return whether the observer was tried with this agent, and saw its requests."""
    return any(row.observed for row in ROWS if row.name == key)


_PROGRAMS = {program: row.name for row in ROWS for program in row.programs}
_ENDINGS = (".js", ".mjs", ".cjs", ".py", ".sh", ".cmd", ".exe")
_PACKAGES = frozenset({"node_modules", "site-packages"})
MAX_WORDS = 64


def agent_of(command: tuple[str, ...] | list[str], name: str | None = None) -> str | None:
    """Return the key of a known agent, given its command and, once it has said it, its own name.

    It is the same agent by its program, by `npx PACKAGE`, by `python -m MODULE` and by an
    interpreter with a script of its package.
    """
    place = place_in(command)
    return agent_key(name) or (None if place is None else place[0])


def place_in(command: tuple[str, ...] | list[str]) -> tuple[str, int] | None:
    """Return the known agent in a command, and the number of the word that shows it."""
    for number, word in enumerate(command[:MAX_WORDS]):
        for program in _programs_in(word):
            if program in _PROGRAMS:
                return _PROGRAMS[program], number
    return None


def _programs_in(word: str) -> list[str]:
    """Return what a word of a command may name: a program, a script, a package or a module."""
    if word.startswith("-"):
        return []
    parts = word.replace("\\", "/").rstrip("/").lower().split("/")
    programs = [_bare(parts[-1])]
    for parent, part, below in zip(parts, parts[1:], [*parts[2:], ""], strict=False):
        if parent in _PACKAGES:
            programs.append(_bare(below if part.startswith("@") else part))
    return programs


def _bare(part: str) -> str:
    """Return a part of a path without its ending, or a package without its version."""
    stem = next((part.removesuffix(end) for end in _ENDINGS if part.endswith(end)), part)
    return stem.partition("@")[0].partition("==")[0].partition(".")[0].replace("_", "-")
