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
GATEWAY_TOKEN = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name
PLATFORMS = {"linux": "tested", "darwin": "should work, but is not tested"}


def examine(
    environment: Mapping[str, str], complaint: Callable[[str, str], str | None], known: list[str]
) -> list[Observation]:
    """Look at what lastword itself depends on.

    Args:
        environment: The environment.
        complaint: Says what is wrong with the value of one of our variables, if anything is.
        known: The names of all of them.
    """
    return [
        _platform(),
        *_variables(environment, complaint, known),
        _on_path(environment),
    ]


def _platform() -> Observation:
    tested = PLATFORMS.get(sys.platform)
    python = platform.python_version()
    if tested is None:
        says = f"lastword runs on Linux and macOS; this is {sys.platform}."
        return problem("lastword", says, "Use it there, or in WSL")
    says = f"lastword {__version__} on Python {python}, {sys.platform} ({tested})."
    return ok("lastword", says, version=__version__, python=python, platform=sys.platform)


def _variables(
    environment: Mapping[str, str], complaint: Callable[[str, str], str | None], known: list[str]
) -> list[Observation]:
    found = []
    for name, value in sorted(environment.items()):
        if not name.startswith(PREFIX) or not value:
            continue
        if name == GATEWAY_TOKEN:  # a secret
            says = f"{name} is set: `lastword connect` uses it as its token."
            found.append(ok("environment", says, name=name))
            continue
        wrong = complaint(name, value) if name in known else None
        if name not in known:
            found.append(note("environment", _unknown(name, known)))
        elif wrong:
            do = f"Correct or unset {name}"
            found.append(problem("environment", f"{wrong}.", do, name=name))
        else:
            found.append(ok("environment", f"{name}={value} is set.", name=name))
    return found or [ok("environment", "No LASTWORD_ variable is set.")]


def _unknown(name: str, known: list[str]) -> str:
    words = [own.removeprefix(PREFIX) for own in known]
    like = difflib.get_close_matches(name.removeprefix(PREFIX), words, n=1, cutoff=0.75)
    says = f"{name} is set, but is not an option of `lastword run`"
    return f"{says}. Did you mean {PREFIX}{like[0]}?" if like else f"{says}."


def _on_path(environment: Mapping[str, str]) -> Observation:
    found = shutil.which("lastword", path=environment.get("PATH", os.defpath))
    own = os.path.join(os.path.dirname(sys.executable), "lastword")
    if found is None:
        whole = own if os.path.exists(own) else "the full path of lastword"
        do = f"In the editor's settings, write its full path: {whole}"
        return note("PATH", "The command lastword is not on the PATH here.", do)
    in_venv = sys.prefix != sys.base_prefix and os.path.dirname(found) == os.path.dirname(own)
    if in_venv:
        says = f"lastword is on the PATH only in this virtual environment ({found})."
        do = "An editor started elsewhere does not find it: write this full path in its settings"
        return note("PATH", says, do, path=found)
    return ok("PATH", f"lastword is on the PATH here: {found}.", path=found)
