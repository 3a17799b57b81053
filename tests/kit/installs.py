"""Software that is not ours, installed on demand and once.

Owns what every install has: a stamp beside it with the hash of what it was made from, so that a
changed lock installs anew, and a lock, so that two test runs at once wait for each other. What a
machine cannot provide is `MissingError`: a skip on a developer's machine, a failure where `CI` is
set. A test folder's own packages, of Python or of Node, are here; the agents and clients of
`interop` have what they need in its `toolchain` modules.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

INSTALL_TIMEOUT_SECONDS = 600.0
LOCK_POLL_SECONDS = 0.2
SAID_LIMIT = 2000
STAMP = ".lastword-stamp"


class MissingError(Exception):
    """The machine lacks something, in a sentence."""


def require_packages(folder: Path, base: str = sys.executable) -> Path:
    """Return the Python that has what `requirements.txt` in this folder locks, or skip."""
    requirements = folder / "requirements.txt"
    venv = folder / ".venv" / "packages"
    python = venv / "bin" / "python"

    def fingerprint() -> str:
        made_from = str(sys.version_info[:2]) if base == sys.executable else base
        return fingerprint_of(made_from.encode(), requirements.read_bytes())

    def install() -> None:
        shutil.rmtree(venv, ignore_errors=True)
        run([base, "-m", "venv", str(venv)], "python -m venv")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--require-hashes", "-r", str(requirements)], "pip install")

    venv.parent.mkdir(exist_ok=True)
    or_skip(lambda: installed(venv, fingerprint, install))
    return python


def require_node_packages(folder: Path, *options: str) -> Path:
    """Return the `node_modules` that `package-lock.json` in this folder locks, or skip."""

    def fingerprint() -> str:
        return fingerprint_of((folder / "package-lock.json").read_bytes())

    def install() -> None:
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            raise MissingError("node and npm are not on PATH.")
        run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", *options], "npm ci", folder)

    return or_skip(lambda: installed(folder / "node_modules", fingerprint, install))


def or_skip(prepare: Callable[[], Path]) -> Path:
    """Return what was prepared; skip (fail in CI) where the machine lacks something."""
    try:
        return prepare()
    except MissingError as missing:
        give_up(str(missing))


def give_up(sentence: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


def installed(folder: Path, fingerprint: Callable[[], str], install: Callable[[], None]) -> Path:
    """Return the folder, made anew by `install` unless its stamp holds the fingerprint already."""
    wanted = fingerprint()
    stamp = folder / STAMP
    if _read(stamp) == wanted:
        return folder
    with _locked(folder.parent / f".{folder.name.strip('.')}.lock"):
        if _read(stamp) != wanted:
            install()
            stamp.write_text(wanted)
    return folder


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the file lock; wait at most as long as somebody else's install may take."""
    deadline = time.monotonic() + INSTALL_TIMEOUT_SECONDS
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    msg = f"Another test run has held {path.name} for too long."
                    raise MissingError(msg) from None
                time.sleep(LOCK_POLL_SECONDS)
        yield


def fingerprint_of(*parts: bytes) -> str:
    """Return the hash of several things, each told apart from its neighbours."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def run(command: Sequence[str], what: str, folder: Path | None = None) -> str:
    """Run a command, in a folder where one is given, and return what it printed.

    Raises:
        MissingError: It is absent, failed, or took longer than any install may.
    """
    try:
        done = run_program(command, check=False, timeout=INSTALL_TIMEOUT_SECONDS, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        msg = f"{what} failed: {error}."
        raise MissingError(msg) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        msg = f"{what} failed with exit status {done.returncode}: {said[-SAID_LIMIT:]}"
        raise MissingError(msg)
    return done.stdout
