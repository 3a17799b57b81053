"""A test folder's own packages, of Python or of Node, installed on demand beside its tests.

The stamp holds the hash of the folder's lock, so that a changed lock installs anew.
What a machine cannot provide is a skip on a developer's machine, and an error where `CI` is set.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from pathlib import Path

INSTALL_TIMEOUT_SECONDS = 600.0
SAID_LIMIT = 2000


def require_packages(folder: Path) -> Path:
    """The Python that has what `requirements.txt` in this folder locks, made first where needed."""
    requirements = folder / "requirements.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    wanted = f"{sys.version_info[:2]} {digest}"
    venv = folder / ".venv" / "packages"
    stamp, python = venv / ".lastword-stamp", venv / "bin" / "python"
    if _is_made(stamp, wanted):
        return python
    venv.parent.mkdir(exist_ok=True)
    with (venv.parent / "lock").open("w") as lock:
        _take(lock.fileno())
        if not _is_made(stamp, wanted):
            shutil.rmtree(venv, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(venv))
            pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            _run(*pip, "--require-hashes", "-r", str(requirements))
            stamp.write_text(wanted)
    return python


def require_node_packages(folder: Path) -> Path:
    """The `node_modules` that `package-lock.json` in this folder locks, made first where needed."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        _give_up("node and npm are not on PATH.")
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    modules = folder / "node_modules"
    modules.mkdir(exist_ok=True)
    stamp = modules / ".lastword-stamp"
    # Beside the folder: npm empties it first.
    with (folder / ".npm-lock").open("w") as lock:
        _take(lock.fileno())
        if not _is_made(stamp, wanted):
            _run(npm, "ci", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts")
            stamp.write_text(wanted)
    return modules


def _is_made(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


def _take(descriptor: int) -> None:
    """Hold the lock; wait at most as long as somebody else's install may take."""
    deadline = time.monotonic() + INSTALL_TIMEOUT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                _give_up("Another test run has been installing packages too long.")
            time.sleep(0.2)
        else:
            return


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        _give_up(f"Packages could not be installed: {error}.")
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-SAID_LIMIT:]
        _give_up(f"Packages could not be installed: {said}")


def _give_up(sentence: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)
