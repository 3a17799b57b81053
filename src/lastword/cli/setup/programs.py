"""Programs: the names by which an editor finds lastword and the agent.

Owns the guess which part of this terminal's PATH an editor has, too.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OURS = "lastword"
_INSTALL = "`uv tool install lastword` or `pipx install lastword` puts it on PATH for good."
_PASSING = ("/uv/archive-", "/.cache/pipx/", "/pipx/.cache/")
"""What the paths of programs have in them that `uvx` and `pipx run` install for one run."""


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command as an editor's settings should have it, and notes for the user."""

    words: list[str]
    note: str


def lasting_path(environment: Mapping[str, str]) -> str:
    """Return PATH without what only this terminal has: an active virtual environment, `.`."""
    active = environment.get("VIRTUAL_ENV")
    passing = os.path.realpath(active) + os.sep if active else None
    kept = [
        folder
        for folder in environment.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(folder)
        and not (passing and (os.path.realpath(folder) + os.sep).startswith(passing))
    ]
    return os.pathsep.join(dict.fromkeys(kept))


def own_command(environment: Mapping[str, str], *, whole: bool) -> NamedCommand:
    """Return lastword's own command: its bare name if an editor finds it by that.

    Args:
        environment: where PATH is looked up.
        whole: the editor needs an absolute path.
    """
    found = shutil.which(OURS, path=lasting_path(environment))
    if found and not any(mark in found for mark in _PASSING):
        if whole:
            return NamedCommand([found], f"`lastword` is {found}.")
        told = f"If the editor does not find `lastword`, give it the whole path: {found}"
        return NamedCommand([OURS], told)
    beside = os.path.join(os.path.dirname(sys.executable), OURS)
    words = [beside] if os.access(beside, os.X_OK) else [sys.executable, "-P", "-m", OURS]
    if any(mark in words[0] for mark in _PASSING):
        told = f"{words[0]} is an installation that may be deleted at any time."
    else:
        told = "lastword is not on the PATH that editors have, so the settings name its whole path."
    return NamedCommand(words, f"{told} {_INSTALL}")


def agent_command(
    command: Sequence[str], environment: Mapping[str, str], install: str, *, whole: bool
) -> NamedCommand:
    """Return the agent's command, with an absolute path where that is needed.

    Args:
        command: as it was given.
        environment: where PATH is looked up.
        install: the command that installs a missing program.
        whole: the editor needs absolute paths.
    """
    program, *rest = command
    found = shutil.which(program, path=lasting_path(environment))
    if found is None:
        hint = f" To get it: {install}." if install else " Install it, or give its whole path."
        told = f"`{program}` was not found on PATH.{hint}"
        return NamedCommand([program, *rest], told)
    # A path that is given must hold from any folder; it is no matter of PATH.
    is_path = os.sep in program
    return NamedCommand([os.path.abspath(found) if whole or is_path else program, *rest], "")


def is_ours(words: Sequence[str]) -> bool:
    """Tell whether this command puts lastword in front of an agent."""
    bare = len(words) > 1 and os.path.basename(words[0]) == OURS and words[1] == "run"
    # Earlier settings lack the -P.
    start = 2 if list(words[1:2]) == ["-P"] else 1
    as_module = list(words[start : start + 3]) == ["-m", OURS, "run"]
    return (bare or as_module) and "--" in words


def behind(words: Sequence[str]) -> list[str]:
    """Return the agent's command behind lastword's."""
    return list(words[words.index("--") + 1 :])
