"""The cases that matter most, with real agents: what `lastword export` tells of each afterwards."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from lastword.kit.provider.server import Provider, ProviderScenario
from tests.interop import real_agents, runs, toolchain
from tests.interop.matrix import STALL_LIMITS, sidecar
from tests.interop.selection import in_ci, selected_cells
from tests.kit.client import Client, update_of, within
from tests.kit.patience import FUSE_SECONDS, grown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ENVIRONMENT = dict(os.environ)
"""Read once: agents are played in threads, and pytest changes `os.environ` meanwhile."""

QUESTION = "What is the answer?"
LEAVES, CANCELS = "leaves", "cancels"
TEXT, TOOL_END = "agent_message_chunk", "tool_call_update"

NO_FAULT = "No fault of the agent's or the model provider's is recorded"
REPEATS = "asking the agent to continue does not."
NETWORK_FAULT = "The fault lies between the agent and the model provider."
IN_THE_ANSWER = "That was in the middle of the answer."
AFTER_TOOL = "That was after a tool had run, between two steps of the agent."
LOOK_FIRST = "may do twice what a tool has done: look first."
WATCHDOG = "lastword's watchdog stopped the turn after a silence"
CANNOT_SAY = "its silence does not say which."


@dataclass(frozen=True, slots=True)
class Case:
    """What happens to an agent's turn, and what is to be read of it.

    Attributes:
        scenario: What the provider does.
        tells: Pieces of sentences, in order.
        until: The update that the client waits for before it acts.
        act: What the client does then.
        limits: Options of `lastword run`, in seconds.
    """

    scenario: ProviderScenario
    tells: tuple[str, ...]
    until: str = ""
    act: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)


CASES = {
    "early": Case(
        ProviderScenario.HANG,
        ("The client left", NO_FAULT, "Sending the prompt again is safe", "Open the session again"),
        act=LEAVES,
    ),
    "mid_stream": Case(
        ProviderScenario.HANG_AFTER_TEXT,
        ("The client left", IN_THE_ANSWER, NO_FAULT, REPEATS, "Open the session again to go on."),
        until=TEXT,
        act=LEAVES,
    ),
    "after_tool": Case(
        ProviderScenario.HEALTHY_TOOL,
        (
            *(
                "The client left",
                AFTER_TOOL,
                "1 tool call (",
                "), which may have changed something.",
            ),
            *(NO_FAULT, LOOK_FIRST, "Open the session again and look at what has been done."),
        ),
        until=TOOL_END,
        act=LEAVES,
    ),
    "cut": Case(
        ProviderScenario.CUT,
        ("The turn failed", "the model provider", NETWORK_FAULT, REPEATS, "Ask the agent"),
    ),
    "cancel": Case(
        ProviderScenario.HANG_AFTER_TEXT,
        ("The user cancelled the turn", IN_THE_ANSWER, "No failure is recorded.", REPEATS),
        until=TEXT,
        act=CANCELS,
    ),
    "idle": Case(
        ProviderScenario.HANG_AFTER_TEXT,
        ("The agent stopped making progress.", IN_THE_ANSWER, WATCHDOG, CANNOT_SAY, REPEATS),
        limits=STALL_LIMITS,
    ),
}
NOT_TO_BE_HAD = {("opencode", "cut"), ("kimi", "cut")}
"""opencode retries a cut connection for over a minute, and kimi-cli calls it a success."""

CELLS = [
    (agent, case)
    for case in CASES
    for agent in real_agents.AGENTS
    if (agent, case) not in NOT_TO_BE_HAD
]
IN_CI = {("claude", "cut"), ("opencode", "cancel")}


class Session(Client):
    """A client of an agent behind lastword, which acts in the middle of its turn."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        super().__init__(within(cwd, command), environment=env)
        self.peer.replies = True
        self._looked_at = 0
        fuse = FUSE_SECONDS
        hello = {"protocolVersion": 1, "clientCapabilities": {}}
        self.answer(self.request("initialize", **hello), fuse=fuse)
        opened = self.answer(self.request("session/new", cwd=str(cwd), mcpServers=[]), fuse=fuse)
        self.session = opened["result"]["sessionId"]

    def until(self, kind: str) -> None:
        """Read on until such an update has come; of a tool's, until it has ended."""

        def wanted(frame: dict[str, Any]) -> bool:
            update = update_of(frame)
            ended = kind != TOOL_END or update.get("status") == "completed"
            return update.get("sessionUpdate") == kind and ended

        found = self.expect(wanted, since=self._looked_at, fuse=FUSE_SECONDS)
        self._looked_at = self.frames.index(found) + 1

    def leave(self) -> None:
        self.close_stdin()
        try:
            self.wait(fuse=FUSE_SECONDS)
        finally:
            self.kill()


def played(agent_name: str, case: Case, folder: Path) -> str:
    """Play a case with an agent; gives the summary that is exported afterwards."""
    folder.mkdir()
    with Provider(case.scenario) as provider:
        agent = real_agents.prepare(agent_name, provider, folder, uuid.uuid4().hex)
        env = {**agent.env, "LASTWORD_STATE_DIR": str(folder / "state")}
        try:
            _play(Session(sidecar(agent.argv, grown(case.limits)), env, agent.cwd), case, provider)
        finally:
            left = runs.clear_leftovers(env[real_agents.MARK])
    assert left == []
    return exported(folder / "state")


def _play(session: Session, case: Case, provider: Provider) -> None:
    number = session.prompt(QUESTION)
    if case.until == TOOL_END:
        session.until("tool_call")
        # The step after the tool never ends: the client leaves between the two.
        provider.scenario = ProviderScenario.HANG
    if case.until:
        session.until(case.until)
    if case.act == CANCELS:
        session.cancel()
    if case.act != LEAVES:
        session.answer(number, fuse=FUSE_SECONDS)
    session.leave()


def exported(state: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lastword", "export", "--last", "-o", "-"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=ENVIRONMENT | {"LASTWORD_STATE_DIR": str(state)},
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return re.sub(r"\\(.)", r"\1", done.stdout)  # Markdown's marks of plain characters


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str], Future[str]]]:
    """The selected cells' summaries: most of their time is an agent's start."""
    toolchain.require_node()
    wanted = selected_cells(request, "told")
    folder = tmp_path_factory.mktemp("recorded")
    with ThreadPoolExecutor(3) as pool:
        yield {
            (agent, case): pool.submit(played, agent, CASES[case], folder / f"{agent}-{case}")
            for agent, case in wanted
        }


@pytest.mark.parametrize("cell", in_ci(CELLS, IN_CI.__contains__), ids="-".join)
def test_the_export_tells_what_happened_to_a_real_agents_turn(
    cell: tuple[str, str], told: dict[tuple[str, str], Future[str]]
) -> None:
    text = told[cell].result()
    place = 0
    for piece in CASES[cell[1]].tells:
        found = text.find(piece, place)
        assert found >= 0, f"{piece!r} does not stand there, or too early: {text}"
        place = found + len(piece)
    assert QUESTION not in text
    assert real_agents.API_KEY not in text
