"""The official SDK's own source distribution: its tests and examples, and what they need to run.

Owns fetching it by name, version and hash, into the ignored folder beside this file. The
environment is that of `requirements.txt`, which locks the SDK, its test dependencies, lastword's
own, and the build backend that pip asks about a source distribution.
"""

from __future__ import annotations

import os
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit import installs
from tests.kit.places import SOURCE
from tests.kit.programs import run_program

HERE = Path(__file__).resolve().parent
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

NAME, VERSION = "agent-client-protocol", "0.12.1"


@dataclass(frozen=True)
class Official:
    """The SDK's source tree, and a Python that has all it needs."""

    python: Path
    source: Path

    def run(
        self, command: Sequence[str], guard: Mapping[str, str] | None, fuse: float
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in the source tree; with variables for lastword in every agent, or without."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LASTWORD_", "PYTEST_", "PYTHON")) and name != "CI"
        }
        environment["LASTWORD_STATE_DIR"] = os.environ["LASTWORD_STATE_DIR"]
        if guard:
            path = os.pathsep.join((str(HERE / "exchange"), str(SOURCE)))
            environment |= {"PYTHONPATH": path, **guard}
        return run_program(
            [str(self.python), *command],
            check=False,
            timeout=fuse,
            cwd=self.source,
            env=environment,
        )


def require_official() -> Official:
    """The SDK's tests and examples, fetched first where needed; a skip (in CI an error) without."""
    python = installs.require_packages(HERE)
    source = python.parents[1] / f"{NAME.replace('-', '_')}-{VERSION}"
    installs.or_skip(lambda: _fetched(python, source))
    return Official(python, source)


def _fetched(python: Path, source: Path) -> Path:
    if source.is_dir():
        return source
    folder = python.parents[1] / f"download-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    wanted = folder / "requirement.txt"
    wanted.write_text(_locked_line())
    pip = [str(python), "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    # Without isolation, since what pip would fetch for it is locked by nothing.
    pip += ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes"]
    installs.run([*pip, "--dest", str(folder), "-r", str(wanted)], "pip download")
    [archive_path] = folder.glob("*.tar.gz")
    with tarfile.open(archive_path) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        archive.extractall(folder)
    if not source.is_dir():  # two test runs at once may both come here
        (folder / source.name).rename(source)
    return source


def _locked_line() -> str:
    """The SDK's own requirement, with its hashes, out of the lock file."""
    text = (HERE / "requirements.txt").read_text()
    found = re.search(rf"^{NAME}(?:\[[\w,-]+\])?==(?:.*\\\n)*.*$", text, re.MULTILINE)
    assert found, f"{NAME} is not in the lock file"
    return found[0] + "\n"
