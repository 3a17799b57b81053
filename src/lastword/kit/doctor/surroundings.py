"""lastword's own surroundings: its environment variables, the platform, the PATH."""

from __future__ import annotations

import difflib
import os
import platform
import shutil
import sys
from typing import TYPE_CHECKING

from lastword._version import __version__
from lastword.kit.doctor import Observation, note, ok, problem
from lastword.platform.program_folders import is_beyond_the_dock
from lastword.platform.terminal import allows_long_paths, code_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX = "LASTWORD_"
NOTIFY = "LASTWORD_NOTIFY"
"""Whoever knows a topic of ntfy can read it."""

GATEWAY_TOKEN = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name
PLATFORMS = {
    "linux": "tested",
    "darwin": "tested on Linux with what macOS lacks taken away",
    "win32": "tested in Wine",
}
"""How lastword is tested on each; docs/platforms.md has the whole table."""

UTF8_CODE_PAGE = 65001


def examine(
    environment: Mapping[str, str], complaint: Callable[[str, str], str | None], names: list[str]
) -> list[Observation]:
    """Examine what lastword itself depends on.

    Args:
        environment: The environment.
        complaint: Returns what is wrong with the value of one of our variables, if anything.
        names: The names of all of them.
    """
    return [
        _platform(),
        *_variables(environment, complaint, names),
        _on_path(environment),
        *_console(code_page(), allows_long=allows_long_paths()),
    ]


def _console(page: int | None, *, allows_long: bool | None) -> list[Observation]:
    """Say what of a console's settings an agent may stumble over; nothing but on Windows."""
    findings = []
    if page is not None and page != UTF8_CODE_PAGE:
        sentence = (
            f"The console's code page is {page}: lastword and its pipes use UTF-8 all the same, "
            "but what is sent to a file or another program with | or > uses the system's."
        )
        findings.append(ok("console", sentence, code_page=page))
    if allows_long is False:
        sentence = "Windows refuses most programs paths of more than 260 characters."
        do = (
            "If an agent fails in deep folders, have an administrator set LongPathsEnabled to 1: "
            "New-ItemProperty HKLM:\\SYSTEM\\CurrentControlSet\\Control\\FileSystem "
            "LongPathsEnabled -Value 1 -PropertyType DWORD -Force"
        )
        findings.append(note("long paths", sentence, do))
    return findings


def _platform() -> Observation:
    tested = PLATFORMS.get(sys.platform)
    python = platform.python_version()
    if tested is None:
        sentence = f"lastword runs on Linux, macOS and Windows; this is {sys.platform}."
        return problem("lastword", sentence, "Use it there")
    sentence = f"lastword {__version__} on Python {python}, {sys.platform} ({tested})."
    return ok("lastword", sentence, version=__version__, python=python, platform=sys.platform)


def _variables(
    environment: Mapping[str, str], complaint: Callable[[str, str], str | None], names: list[str]
) -> list[Observation]:
    observations = []
    for name, value in sorted(environment.items()):
        if not name.startswith(PREFIX) or not value:
            continue
        if name == GATEWAY_TOKEN:  # a secret
            sentence = f"{name} is set: `lastword connect` uses it as its token."
            observations.append(ok("environment", sentence, name=name))
            continue
        wrong = complaint(name, value) if name in names else None
        if name not in names:
            observations.append(note("environment", _unknown(name, names)))
        elif wrong:
            do = f"Correct or unset {name}"
            observations.append(problem("environment", f"{wrong}.", do, name=name))
        else:
            setting = name if name == NOTIFY else f"{name}={value}"
            observations.append(ok("environment", f"{setting} is set.", name=name))
    return observations or [ok("environment", "No LASTWORD_ variable is set.")]


def _unknown(name: str, names: list[str]) -> str:
    words = [own.removeprefix(PREFIX) for own in names]
    like = difflib.get_close_matches(name.removeprefix(PREFIX), words, n=1, cutoff=0.75)
    sentence = f"{name} is set, but is not an option of `lastword run`"
    return f"{sentence}. Did you mean {PREFIX}{like[0]}?" if like else f"{sentence}."


def _on_path(environment: Mapping[str, str]) -> Observation:
    path = shutil.which("lastword", path=environment.get("PATH", os.defpath))
    folder = os.path.dirname(sys.executable)
    beside = os.pathsep.join((folder, os.path.join(folder, "Scripts")))
    own = shutil.which("lastword", path=beside) or os.path.join(folder, "lastword")
    if path is None:
        whole = own if os.path.exists(own) else "the full path of lastword"
        do = f"In the editor's settings, write its full path: {whole}"
        return note("PATH", "The command lastword is not on the PATH here.", do)
    in_venv = sys.prefix != sys.base_prefix and os.path.dirname(path) == os.path.dirname(own)
    if in_venv:
        sentence = f"lastword is on the PATH only in this virtual environment ({path})."
        do = "An editor started elsewhere does not find it: write this full path in its settings"
        return note("PATH", sentence, do, path=path)
    sentence = f"lastword is on the PATH here: {path}."
    if is_beyond_the_dock(path):
        sentence += " An editor from the Dock has another PATH; `lastword setup` writes this path."
    return ok("PATH", sentence, path=path)
