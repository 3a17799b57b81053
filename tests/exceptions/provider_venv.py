"""The providers' packages, installed on demand into an environment of their own.

None of them is a dependency of ours, and none is ever imported into the tests' process. The stamp
holds the hash of the requirements, so that a changed lock installs anew. What a machine cannot
provide is a skip on a developer's machine, and an error where `CI` is set.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".venv"
VENV = FOLDER / "providers"
STAMP = VENV / ".lastword-stamp"
REQUIREMENTS = HERE / "requirements.txt"
INSTALL_TIMEOUT_SECONDS = 600.0
SAID_LIMIT = 2000


def require_providers() -> Path:
    """The environment's Python, made first where needed."""
    wanted = f"{sys.version_info[:2]} {hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()}"
    python = VENV / "bin" / "python"
    if _is_made(wanted):
        return python
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        _take(lock.fileno())
        if not _is_made(wanted):
            shutil.rmtree(VENV, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(VENV))
            pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            _run(*pip, "--no-compile", "--require-hashes", "-r", str(REQUIREMENTS))
            STAMP.write_text(wanted)
    return python


def _is_made(wanted: str) -> bool:
    return STAMP.exists() and STAMP.read_text() == wanted


def _take(descriptor: int) -> None:
    """Hold the lock; wait at most as long as somebody else's install may take."""
    deadline = time.monotonic() + INSTALL_TIMEOUT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                _give_up("Another test run has been installing the providers' packages too long.")
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
        _give_up(f"The providers' packages could not be installed: {error}.")
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-SAID_LIMIT:]
        _give_up(f"The providers' packages could not be installed: {said}")


def _give_up(sentence: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)
