"""The real agents, unmodified, pointed at the fake provider.

Owns: for each agent its command, and the home that it is given. Does not own: what is written
there (`lastword.quirks.setup`), installing them (`toolchain`), or running them (`runs`).
"""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.kit.provider.server import API_KEY, Target, isolated, point
from lastword.quirks.setup import PRESETS
from tests.interop.agents_registry import AGENTS as AGENTS_OF_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.kit.provider.server import Provider

MARK = "LASTWORD_INTEROP_RUN"
"""The environment variable by which a run's processes are found."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A command ready to run, with everything it needs.

    Attributes:
        name: A key of `AGENTS`.
        argv: The agent's own command.
        env: The whole environment, nothing inherited but search paths.
        home: Its private home directory.
        cwd: An empty folder for the session.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    home: Path
    cwd: Path


def prepare(name: str, provider: Provider, folder: Path) -> Agent:
    """Return one agent with a fresh home under `folder`.

    Args:
        name: A key of `AGENTS`.
        provider: The running provider it shall call.
        folder: Where its home and its working directory are made.
    """
    home, cwd = folder / "home", folder / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    argv = AGENTS[name](cwd)
    extra = point(PRESETS[name], Target(provider.url, provider.openai_url, API_KEY), home)
    env = _offline(home) | extra | {"LASTWORD_STATE_DIR": str(folder / "state")}
    return Agent(name, tuple(argv), env, home, cwd)


AGENTS: dict[str, Callable[[Path], list[str]]] = {
    name: AGENTS_OF_TABLE[name].command for name in ("opencode", "claude")
}


def _offline(home: Path) -> dict[str, str]:
    """An environment in which only loopback answers, and nothing is inherited but search paths."""
    node = shutil.which("node")
    paths = [str(Path(node).parent)] if node else []
    env = {**isolated(home), "PATH": os.pathsep.join([*paths, os.defpath])}
    env[MARK] = uuid.uuid4().hex
    if "PYTHONPATH" in os.environ:  # the sidecar may be found by it
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return env


__all__ = ["AGENTS", "API_KEY", "MARK", "Agent", "prepare"]
