"""Tests of Windows, played by Windows' Python: on Linux under Wine, a file as one test.

Owns the items that stand for the files on Linux, where a file passes if all of its tests do, and
none is skipped. On macOS none is played.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_TIMEOUT_SECONDS = 420.0
MARK = "needs_windows"

if sys.platform != "win32":
    from tests.kit.installs import or_skip, require_node_packages
    from tests.windows import environment


class FileUnderWine(pytest.File):
    """A file of tests, collected as the one test that plays it."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield that test."""
        yield PlayedUnderWine.from_parent(self, name="under_wine")


class PlayedUnderWine(pytest.Item):
    """The tests of a file, run by pytest in Windows' Python."""

    def runtest(self) -> None:
        """Play them.

        Raises:
            pytest.fail.Exception: One of them failed or was skipped.
        """
        or_skip(environment.require_environment)
        # Its package is for Windows alone.
        require_node_packages(self.path.parent / "node", "--force")
        path = environment.windows_path
        arguments = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "no:lastword"]
        arguments += ["-m", f"not {MARK}", "-o", "addopts=", "--durations=5"]
        arguments.append(f"--confcutdir={path(self.path.parent)}")
        played = subprocess.run(
            ["wine", str(environment.PYTHON), *arguments, path(self.path)],
            cwd=environment.ROOT,
            env=environment.environment(),
            input=b"",  # Windows' Python rejects a console or a file of Linux
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=FILE_TIMEOUT_SECONDS,
            check=False,
        )
        said = played.stdout.decode(errors="replace")
        if played.returncode or not re.search(r"\b[1-9]\d* passed\b", said) or "skipped" in said:
            pytest.fail(said, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file, and what is run of it."""
        return self.path, None, f"{self.path.name} under Wine"


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of what Wine does not show: tests/README.md says it."""
    config.addinivalue_line("markers", f"{MARK}: Wine does not show it")


collect_ignore_glob = [] if sys.platform in {"linux", "win32"} else ["test_*.py"]
if sys.platform == "linux":

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> FileUnderWine:
        """Return the file as one test in place of its tests, which this system cannot run."""
        return FileUnderWine.from_parent(parent, path=module_path)
