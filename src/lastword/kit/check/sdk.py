"""The SDK that an agent is built on, as its process's files show it.

Owns looking at the command line, the program and the packages beside it (Linux). It does not
guess: nothing is reported about an agent whose SDK is not found. Facts about SDKs are in
`quirks.setup`.
"""

from __future__ import annotations

import json
import mmap
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lastword.kit.peer import processes
from lastword.quirks import setup

if TYPE_CHECKING:
    from collections.abc import Iterator

_GO = re.compile(rb"dep\tgithub\.com/coder/acp-go-sdk\tv([\w.+-]+)")
_RUST = re.compile(rb"/agent-client-protocol-(\d[\w.+-]*)/src/")
_JAR = re.compile(r"\bacp(?:-jvm)?-(\d[\w.+-]*)\.jar")
_IMPORT = re.compile(r"^\s*(?:from acp[ .]|import acp\b)", re.MULTILINE)
_ENTRY = re.compile(r"^from (\w+)[\w.]* import ", re.MULTILINE)
_MANY_FILES = 300


class Sdk(NamedTuple):
    """An SDK.

    Attributes:
        name: As `quirks.setup` has it.
        version: Its version.
    """

    name: str
    version: str


def built_on(mark: str) -> Sdk | None:
    """Return the SDK of the first process of a run that shows one."""
    for pid, _ in processes(mark):
        with suppress(OSError, ValueError):
            words = (Path("/proc") / str(pid) / "cmdline").read_bytes().decode().split("\0")
            program = str((Path("/proc") / str(pid) / "exe").resolve())
            folder = str((Path("/proc") / str(pid) / "cwd").resolve())
            match = _shown_by(program, tuple(words), folder)
            if match is not None:
                return match
    return None


def blame(check: str, sdk: Sdk) -> str:
    """Return whose fault a finding is, by what is known of the SDK; empty where nothing is."""
    for row in setup.SDK_FAULTS:
        if row.sdk == sdk.name and check in row.checks:
            where = "" if row.version == sdk.version else f", seen in {row.version}"
            return f"the SDK, {sdk.name} {sdk.version}: it {row.does}{where}"
    return ""


@lru_cache(maxsize=32)
def _shown_by(program: str, words: tuple[str, ...], folder: str) -> Sdk | None:
    kind = Path(program).name
    files = [Path(folder, word) for word in words[1:] if word and not word.startswith("-")]
    files = [path.resolve() for path in files[:8] if path.is_file()]
    if kind.startswith("node"):
        return next((match for path in files if (match := _of_node(path))), None)
    if kind.startswith("python"):
        return next((match for path in files if (match := _of_python(path, words[0]))), None)
    if kind == "java":
        jar = _JAR.search(" ".join(words))
        return Sdk(setup.KOTLIN, jar[1]) if jar else None
    return _of_binary(Path(program))


def _of_node(script: Path) -> Sdk | None:
    """Return the package that a script's imports would find."""
    for folder in script.parents:
        package = folder / "node_modules" / setup.TYPESCRIPT / "package.json"
        if package.is_file():
            return Sdk(setup.TYPESCRIPT, str(json.loads(package.read_text())["version"]))
    return None


def _of_python(script: Path, python: str) -> Sdk | None:
    """Return the package, where the script, or what it is the entry of, imports it."""
    text = script.read_text("utf-8", "replace")
    homes = list(_site_packages(Path(python)))
    if not _IMPORT.search(text):
        entry = _ENTRY.search(text) if script.parent.name == "bin" else None
        packages = [home / entry[1] for home in homes] if entry else []
        if not any(_imports(package) for package in packages):
            return None
    for home in homes:
        for info in home.glob("agent_client_protocol-*.dist-info"):
            return Sdk(setup.PYTHON, info.name.split("-")[1].removesuffix(".dist"))
    return None


def _site_packages(python: Path) -> Iterator[Path]:
    yield from sorted(python.parent.parent.glob("lib/python3*/site-packages"))


def _imports(package: Path) -> bool:
    if package.name == "lastword":
        return False  # it knows the SDK, and is not built on it
    paths = sorted(package.rglob("*.py"))[:_MANY_FILES]
    return any(_IMPORT.search(path.read_text("utf-8", "replace")) for path in paths)


def _of_binary(path: Path) -> Sdk | None:
    """Return what stands in a compiled program: its dependencies, or where its sources were."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for name, pattern in ((setup.GO, _GO), (setup.RUST, _RUST)):
            match = pattern.search(data)
            if match:
                return Sdk(name, match[1].decode())
    return None
