"""lastword's own surroundings: its environment variables, the platform, the PATH."""

from __future__ import annotations

import difflib
import os
import platform
import shutil
import sys
from typing import TYPE_CHECKING

from lastword._version import __version__
from lastword.kit.doctor.findings import Observation, note, ok, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX = "LASTWORD_"
NOTIFY = "LASTWORD_NOTIFY"
"""Whoever knows a topic of ntfy can read it."""

GATEWAY_TOKEN = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name
PLATFORMS = {"linux": "tested", "darwin": "should work, but is not tested"}


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
    ]


def _platform() -> Observation:
    tested = PLATFORMS.get(sys.platform)
    python = platform.python_version()
    if tested is None:
        sentence = f"lastword runs on Linux and macOS; this is {sys.platform}."
        return problem("lastword", sentence, "Use it there, or in WSL")
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
    own = os.path.join(os.path.dirname(sys.executable), "lastword")
    if path is None:
        whole = own if os.path.exists(own) else "the full path of lastword"
        do = f"In the editor's settings, write its full path: {whole}"
        return note("PATH", "The command lastword is not on the PATH here.", do)
    in_venv = sys.prefix != sys.base_prefix and os.path.dirname(path) == os.path.dirname(own)
    if in_venv:
        sentence = f"lastword is on the PATH only in this virtual environment ({path})."
        do = "An editor started elsewhere does not find it: write this full path in its settings"
        return note("PATH", sentence, do, path=path)
    return ok("PATH", f"lastword is on the PATH here: {path}.", path=path)
