"""The real agents, unmodified, pointed at the fake provider.

Owns: for each agent its command, the home that it is given, and its sudden end. Does not own: what
is written there (`lastword.quirks.setup`), installing them (`toolchain`), or running them (`runs`).
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.kit.provider.server import API_KEY, Target, isolated, point
from lastword.quirks.setup import PRESETS
from tests.interop.agents_registry import AGENTS as AGENTS_OF_TABLE
from tests.interop.runs import OUTCOMES, Event
from tests.kit import left_behind
from tests.kit.gateway.serving import until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.provider.server import Provider


@dataclass(frozen=True, slots=True)
class Agent:
    """A command ready to run, with everything it needs."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    home: Path
    cwd: Path


def prepare(name: str, provider: Provider, folder: Path) -> Agent:
    """Return one agent with a fresh home under `folder`."""
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
    env[left_behind.VARIABLE] = left_behind.new_mark()
    if "PYTHONPATH" in os.environ:  # the sidecar may be found by it
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return env


def killed(
    command: Sequence[str], pid_file: Path, when: Callable[[Event], bool]
) -> tuple[list[str], Callable[[Event], bool]]:
    """Return a command that tells its pid, and a listener that kills it once at such an event.

    The listener lets a client go on that waits to be told so after each turn.
    """
    telling = ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *command]
    is_killed = False

    def on_event(event: Event) -> bool:
        nonlocal is_killed
        if not is_killed and when(event):
            is_killed = True
            pid = int(pid_file.read_text())
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until("its parent has reaped it", lambda: not Path(f"/proc/{pid}").exists())
        return event["event"] in OUTCOMES

    return telling, on_event


def says_text(event: Event) -> bool:
    return event["event"] == "update" and event["kind"] == "agent_message_chunk"
