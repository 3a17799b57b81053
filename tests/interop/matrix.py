"""The matrix of the main proof: every real agent, every failure, both official SDKs.

Owns: which failures there are and what they must be called, and playing one cell of the matrix with
`lastword run` in between. Does not own: the assertions (`test_real_agents`).
"""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.kit.provider.server import Provider, ProviderScenario
from lastword.platform.process_tree import read_tcp_sockets
from tests.interop import real_agents
from tests.interop.runs import CLIENTS, OUTCOMES, Client, Event, Run, run
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RUN_LIMIT_SECONDS = 4 * FUSE_SECONDS
"""opencode retries a cut connection for over a minute."""

AGENT_ERROR = ("--agent-error",)


@dataclass(frozen=True, slots=True)
class Case:
    """One way to fail.

    Attributes:
        type: The error type that a client must be told.
        retryable: Whether the vocabulary calls that type worth a retry.
        negotiating: Which client advertises `agent_error`; the other does not.
        kill: Whether the agent is killed in mid-turn.
    """

    scenario: ProviderScenario
    type: str
    retryable: bool
    negotiating: str
    limits: tuple[str, ...] = ()
    kill: bool = False


HANG_LIMITS = ("--first-update-timeout", "30", "--idle-timeout", "30", "--cancel-grace", "2")
"""Two looks at an agent's connections, 2 s apart, have to explain half of the time."""


def _type_of_hang() -> str:
    """The provider is to blame where this system shows an agent's connections."""
    try:
        read_tcp_sockets()
    except OSError:
        return "agent_stalled"
    return "timeout"


CASES: dict[str, Case] = {
    # This one comes first, since it takes longest.
    "cut": Case(ProviderScenario.CUT, "network", True, "py"),
    "unauthorized": Case(ProviderScenario.UNAUTHORIZED, "auth", False, "ts"),
    "rate_limited": Case(ProviderScenario.RATE_LIMITED, "rate_limit", True, "py"),
    "bad_gateway": Case(ProviderScenario.BAD_GATEWAY, "provider_unavailable", True, "ts"),
    "context_overflow": Case(ProviderScenario.CONTEXT_OVERFLOW, "context_overflow", False, "py"),
    "hang": Case(ProviderScenario.HANG, _type_of_hang(), True, "ts", limits=HANG_LIMITS),
    "killed": Case(ProviderScenario.HANG_AFTER_TEXT, "agent_crash", True, "py", kill=True),
}


@dataclass(frozen=True, slots=True)
class Cell:
    agent: str
    case: str

    def __str__(self) -> str:
        return f"{self.agent}-{self.case}"


CELLS = [Cell(agent, case) for case in CASES for agent in real_agents.AGENTS]
IN_CI = {
    *(Cell("opencode", case) for case in ("rate_limited", "context_overflow", "hang", "killed")),
    *(Cell("claude", case) for case in ("cut", "unauthorized", "bad_gateway")),
}
"""Each failure once; kimi is in the agents' table."""


@dataclass(frozen=True, slots=True)
class Played:
    """A cell as both clients lived it."""

    runs: dict[str, Run]
    state: Path


def sidecar(argv: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """The command that puts lastword in front of an agent."""
    return [sys.executable, "-m", "lastword", "run", *options, "--", *argv]


def play(cell: Cell, folder: Path) -> Played:
    """Run both clients at once against one provider, each with an agent and a home of its own."""
    case = CASES[cell.case]
    state = folder / "state"
    with Provider(case.scenario) as provider, ThreadPoolExecutor(len(CLIENTS)) as pool:
        jobs: dict[str, Future[Run]] = {}
        for kind in CLIENTS:
            options = AGENT_ERROR if kind == case.negotiating else ()
            client = Client(kind, options, timeout_seconds=RUN_LIMIT_SECONDS)
            jobs[kind] = pool.submit(_play_one, cell, client, provider, folder / kind, state)
        return Played({kind: job.result() for kind, job in jobs.items()}, state)


def _play_one(cell: Cell, client: Client, provider: Provider, folder: Path, state: Path) -> Run:
    case = CASES[cell.case]
    agent = real_agents.prepare(cell.agent, provider, folder)
    command, on_event = list(agent.argv), lambda _event: False
    if case.kill:
        command, on_event = killed_at_first_text(command, folder / "pid")
    env = {**agent.env, "LASTWORD_STATE_DIR": str(state / client.kind)}
    return run(client, sidecar(command, case.limits), env, agent.cwd, on_event=on_event)


def killed_at_first_text(
    command: list[str], pid_file: Path
) -> tuple[list[str], Callable[[Event], bool]]:
    """Return a command that tells its pid, and a listener that kills it at its first text."""
    return _telling_pid(command, pid_file), _killing(
        pid_file,
        lambda event: event["event"] == "update" and event["kind"] == "agent_message_chunk",
    )


def killed_after_first_answer(
    command: list[str], pid_file: Path
) -> tuple[list[str], Callable[[Event], bool]]:
    """Return a command that tells its pid, and a listener that kills it after its first answer."""
    return _telling_pid(command, pid_file), _killing(
        pid_file, lambda event: event["event"] == "answer"
    )


def _telling_pid(command: list[str], pid_file: Path) -> list[str]:
    return ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *command]


def _killing(pid_file: Path, when: Callable[[Event], bool]) -> Callable[[Event], bool]:
    killed = False

    def on_event(event: Event) -> bool:
        nonlocal killed
        if not killed and when(event):
            killed = True
            _kill(int(pid_file.read_text()))
        return event["event"] in OUTCOMES

    return on_event


def _kill(pid: int) -> None:
    """Kill a process, and wait until its parent has reaped it."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    until("its parent has reaped it", lambda: not Path(f"/proc/{pid}").exists())
