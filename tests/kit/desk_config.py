"""A user's home and a project, with their configuration files, and commands that are run there."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.kit.command import command, in_a_process

if TYPE_CHECKING:
    import subprocess
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
        """Run a command of lastword's; one that starts an agent has a process for it."""
        begin = in_a_process if words[0] in ("run", "gateway") else command
        return begin(*words, stdin=stdin, cwd=self.cwd, environment=self.environment | variables)
