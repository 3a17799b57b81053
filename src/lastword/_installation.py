"""The way in which lastword was installed here, and the command that adds an extra to it.

Owns the ways: pip in a virtual environment or for the system, pipx, uv, a clone that is not
installed. An extra comes from the source of lastword itself: a folder, an address, or an index if
it was installed by name. Loaded only if a package or the program itself is missing.
"""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
import tomllib
from importlib import metadata, util
from typing import Any
from urllib.parse import unquote, urlsplit

from lastword.platform.terminal import arguments, command_line

NAME = "lastword"
_EXTRAS = re.compile(r"\[([\w ,.-]+)\]$")
_EXTRA_MARKER = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


def command_for(extra: str) -> str:
    """Return the command that installs an extra here."""
    for of_tool in (_uv_tool, _pipx):
        if command := of_tool(extra):
            return command
    return _pip(extra)


def lasting_commands(*extras: str) -> tuple[str, str]:
    """Return the commands of uv and pipx that put lastword on PATH, from the source of this one."""
    source = arguments(_source([*extras]))
    return f"uv tool install {source}", f"pipx install {source}"


def uvx_command() -> list[str]:
    """Return the command by which `uvx` runs lastword, from the source of this one."""
    return ["uvx", "--from", _source([])[-1], NAME]


def _uv_tool(extra: str) -> str:
    """Return the command for `uv tool install`, which leaves a receipt in the environment."""
    try:
        with open(os.path.join(sys.prefix, "uv-receipt.toml"), "rb") as file:
            receipt = tomllib.load(file)
        requirements = receipt["tool"]["requirements"]
        own = next((row for row in requirements if row["name"] == NAME), None)
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if own is None or requirements[0] is not own:
        # It is installed for another tool, whose own command is unknown.
        return command_line(["uv", "pip", "install", "--python", sys.executable, *_source([extra])])
    return command_line(
        ["uv", "tool", "install", "--force", *_source([*own.get("extras", []), extra])]
    )


def _pipx(extra: str) -> str:
    """Return the command for `pipx install`, which leaves its metadata in the environment."""
    try:
        with open(os.path.join(sys.prefix, "pipx_metadata.json"), encoding="utf-8") as file:
            package = json.load(file)["main_package"]
        main, given = str(package["package"]), str(package["package_or_url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if main != NAME:
        return command_line(["pipx", "inject", main, *_source([extra])])
    before = _EXTRAS.search(given.partition(" @ ")[0])
    extras = [*(before[1].replace(" ", "").split(",") if before else ()), extra]
    return command_line(["pipx", "install", "--force", *_source(extras)])


def _pip(extra: str) -> str:
    installer = _text("INSTALLER").strip()
    if installer == "uv" or (installer in {"", "pip"} and util.find_spec("pip") is None):
        python = [] if _is_active() else ["--python", sys.executable]
        return command_line(["uv", "pip", "install", *python, *_source([extra])])
    if installer not in {"", "pip"}:
        # A distribution's own package: its extra is packages of the distribution, such as
        # `starlette<2,>=1 and websockets>=15`.
        packages = []
        for line in metadata.requires(NAME) or ():
            requirement, _, marker = line.partition(";")
            name = _EXTRA_MARKER.search(marker)
            if name and name[1] == extra:
                packages.append(requirement.strip())
        needed = " and ".join(packages)
        return f"the package manager that installed lastword, with {needed}"
    pip = ["pip"] if _is_active() else [sys.executable, "-m", "pip"]
    managed = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    is_system = sys.prefix == sys.base_prefix and os.path.exists(managed)
    return command_line(
        [
            *pip,
            "install",
            *(["--break-system-packages"] if is_system else []),
            *_source([extra]),
        ]
    )


def _is_active() -> bool:
    """Return whether `pip` in this shell is the one of this environment."""
    active = os.environ.get("VIRTUAL_ENV")
    return bool(active) and os.path.realpath(str(active)) == os.path.realpath(sys.prefix)


def _source(extras: list[str]) -> list[str]:
    """Return the source of lastword, with extras, as the arguments of an install command."""
    named = f"[{','.join(dict.fromkeys(extras))}]" if extras else ""
    origin = _origin()
    url = str(origin.get("url", ""))
    if not url:
        # It may run from a clone without being installed.
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        is_clone = os.path.isfile(os.path.join(root, "pyproject.toml")) and not _text("METADATA")
        return ["-e", f"{root}{named}"] if is_clone else [f"{NAME}{named}"]
    if "dir_info" in origin:
        folder = unquote(urlsplit(url).path)
        is_editable = isinstance(origin["dir_info"], dict) and origin["dir_info"].get("editable")
        return [*(["-e"] if is_editable else []), f"{folder}{named}"]
    vcs = origin.get("vcs_info")
    if isinstance(vcs, dict):
        revision = vcs.get("requested_revision") or vcs.get("commit_id")
        url = f"{vcs.get('vcs')}+{url}{f'@{revision}' if revision else ''}"
    return [f"{NAME}{named} @ {url}"]


def _origin() -> dict[str, Any]:
    """Return the installer's note on the origin of lastword, if that was not an index."""
    try:
        origin = json.loads(_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return origin if isinstance(origin, dict) else {}


def _text(name: str) -> str:
    """Return a file of the installed distribution; empty if there is none."""
    try:
        return metadata.distribution(NAME).read_text(name) or ""
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return ""
