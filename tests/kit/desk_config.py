"""A user's home and a project, with their configuration files, and commands that are run there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

LASTWORD = (sys.executable, "-P", "-m", "lastword")


class ConfigDesk:
    """A home folder beside a repository; commands work in a folder of the repository."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.user = self.home / ".config" / "lastword" / "config.toml"
        self.repository = folder / "repository"
        self.project = self.repository / ".lastword.toml"
        self.cwd = self.repository / "src"
        self.user.parent.mkdir(parents=True)
        (self.repository / ".git").mkdir(parents=True)
        self.cwd.mkdir()

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a command here."""
        own = {key: text for key, text in os.environ.items() if not key.startswith("LASTWORD_")}
        own.pop("XDG_CONFIG_HOME", None)
        return own | {"HOME": str(self.home), "LASTWORD_STATE_DIR": str(self.home / "state")}

    def run(
        self, *words: str, stdin: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of lastword's."""
        return subprocess.run(
            [*LASTWORD, *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=FUSE_SECONDS,
            cwd=self.cwd,
            env=self.environment | variables,
        )
