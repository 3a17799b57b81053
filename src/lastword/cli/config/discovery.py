"""The search for configuration files: the user's own, and a project's.

Owns where they may be, and the error for a file that cannot be used. It reads no file, and is
loaded before every start of an agent, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys

from lastword.core.redact.printable import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROJECT_NAME = ".lastword.toml"
VARIABLE = "LASTWORD_CONFIG"
OFF_VARIABLE = "LASTWORD_NO_CONFIG"
_REPOSITORY = (".git", ".hg", ".jj")
"""Entries that mark the top folder of a repository, where the search for a project's file ends."""
LISTING = "lastword config"
"""The command that lists every option with its value."""


class Places:
    """The configuration files of one command.

    Attributes:
        user: The path of the user's file, whether or not there is one; empty for none.
        is_named: Whether the user named it, so that it must exist.
        project: The path of the project's file; empty if there is none.
    """

    __slots__ = ("is_named", "project", "user")

    def __init__(self, user: str, project: str, *, is_named: bool = False) -> None:
        self.user: str = user
        self.project: str = project
        self.is_named: bool = is_named

    @property
    def present(self) -> bool:
        return bool(self.project) or (
            bool(self.user) and (self.is_named or os.path.lexists(self.user))
        )


NOWHERE = Places("", "")


def find(words: Sequence[str], environment: Mapping[str, str], *, project: bool = True) -> Places:
    """Return the files that a command reads.

    Args:
        words: The command line.
        environment: The environment.
        project: Whether to look for a project's file, too.
    """
    named = environment.get(VARIABLE, "")
    is_off = environment.get(OFF_VARIABLE, "").lower() in {"1", "true", "yes"}
    rest = iter(words)
    for word in rest:
        flag, has_value, text = word.partition("=")
        if word == "--":
            break
        if flag == "--config":
            named, is_off = text if has_value else next(rest, ""), False
        elif flag == "--no-config":
            is_off = not has_value or text.lower() in {"1", "true", "yes"}
    if is_off:
        return NOWHERE
    path = absolute(os.path.expanduser(named)) if named else user_path(environment)
    return Places(path, project_path() if project else "", is_named=bool(named))


def user_path(environment: Mapping[str, str]) -> str:
    """Return the default path of the user's file; empty if there is no home folder."""
    folder = environment.get("XDG_CONFIG_HOME", "")
    if sys.platform == "win32" and not os.path.isabs(folder):
        folder = environment.get("APPDATA", "")
    if not os.path.isabs(folder):
        # The XDG specification requires a relative path to be ignored.
        folder = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "lastword", "config.toml") if os.path.isabs(folder) else ""


def project_path() -> str:
    """Return the nearest project's file, from the working directory up to its repository's top.

    The home folder, and folders above it, do not count as projects.
    """
    try:
        folder = os.getcwd()
    except OSError:  # it is gone
        return ""
    home = os.path.realpath(os.path.expanduser("~"))
    above = os.path.normcase(f"{home.rstrip(os.sep)}{os.sep}")
    while not above.startswith(os.path.normcase(f"{folder.rstrip(os.sep)}{os.sep}")):
        path = os.path.join(folder, PROJECT_NAME)
        if os.path.lexists(path):
            return path
        if any(os.path.lexists(os.path.join(folder, name)) for name in _REPOSITORY):
            return ""
        folder, below = os.path.dirname(folder), folder
        if folder == below:  # another drive than the home folder's
            return ""
    return ""


def absolute(path: str) -> str:
    """Return the absolute path, or the path itself if the working directory is gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


class Problem:
    """One problem of a file; `line` is 0 for the whole file."""

    __slots__ = ("line", "path", "sentence")

    def __init__(self, path: str, line: int, sentence: str) -> None:
        self.path: str = path
        self.line: int = line
        self.sentence: str = sentence

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return one_line(f"{place}: {self.sentence}")


class ConfigError(Exception):
    """A file cannot be used; the text says why."""

    def __init__(self, problems: list[Problem]) -> None:
        more = len(problems) - 1
        rest = f" (and {more} more; `{LISTING} check` lists them)" if more else ""
        super().__init__(f"{problems[0]}{rest}")
        self.problems: list[Problem] = problems
