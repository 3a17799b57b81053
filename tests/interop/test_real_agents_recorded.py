"""The cases that matter most, with real agents: what `lastword export` tells of each afterwards."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import real_agents
import runs
import toolchain
from matrix import sidecar

from lastword.conformance.provider.server import Provider, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUSE_SECONDS = 60.0
IDLE_LIMITS = ("--first-update-timeout", "3", "--idle-timeout", "3", "--cancel-grace", "2")
QUESTION = "What is the answer?"
LEAVES, CANCELS = "leaves", "cancels"
TEXT, TOOL_END = "agent_message_chunk", "tool_call_update"
ALLOWING = ("allow_once", "allow_always")

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
        options: What `lastword run` is given.
    """

    scenario: Scenario
    tells: tuple[str, ...]
    until: str = ""
    act: str = ""
    options: tuple[str, ...] = ()


CASES = {
    "early": Case(
        Scenario.HANG,
        ("The client left", NO_FAULT, "Sending the prompt again is safe", "Open the session again"),
        act=LEAVES,
    ),
    "mid_stream": Case(
        Scenario.HANG_AFTER_TEXT,
        ("The client left", IN_THE_ANSWER, NO_FAULT, REPEATS, "Open the session again to go on."),
        until=TEXT,
        act=LEAVES,
    ),
    "after_tool": Case(
        Scenario.HEALTHY_TOOL,
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
        Scenario.CUT,
        ("The turn failed", "the model provider", NETWORK_FAULT, REPEATS, "Ask the agent"),
    ),
    "cancel": Case(
        Scenario.HANG_AFTER_TEXT,
        ("The user cancelled the turn", IN_THE_ANSWER, "No failure is recorded.", REPEATS),
        until=TEXT,
        act=CANCELS,
    ),
    "idle": Case(
        Scenario.HANG_AFTER_TEXT,
        ("The agent stopped making progress.", IN_THE_ANSWER, WATCHDOG, CANNOT_SAY, REPEATS),
        options=IDLE_LIMITS,
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


class Session:
    """A client of an agent behind lastword, which acts in the middle of its turn."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        with (cwd.parent / "stderr").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
                cwd=cwd,
            )
        self._frames: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._receive, daemon=True).start()
        self._next = 0
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        opened = self.ask("session/new", {"cwd": str(cwd), "mcpServers": []})
        self.session: str = opened["result"]["sessionId"]

    def begin(self, method: str, params: dict[str, Any]) -> int:
        number, self._next = self._next, self._next + 1
        self._send({"id": number, "method": method, "params": params})
        return number

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self.answer_to(self.begin(method, params))

    def answer_to(self, number: int) -> dict[str, Any]:
        while True:
            frame = self._read()
            if frame.get("id") == number and "method" not in frame:
                return frame

    def until(self, kind: str) -> None:
        """Read on until such an update has come; of a tool's, until it has ended."""
        while True:
            update = self._read().get("params", {}).get("update", {})
            if update.get("sessionUpdate") != kind:
                continue
            if kind != TOOL_END or update.get("status") == "completed":
                return

    def cancel(self) -> None:
        self._send({"method": "session/cancel", "params": {"sessionId": self.session}})

    def leave(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(FUSE_SECONDS)
        finally:
            self._process.kill()
        while self._frames.get(timeout=FUSE_SECONDS) is not None:
            continue
        self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _receive(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._frames.put(json.loads(line))
        self._frames.put(None)

    def _read(self) -> dict[str, Any]:
        frame = self._frames.get(timeout=FUSE_SECONDS)
        assert frame is not None, "the sidecar ended without an answer"
        if frame.get("method") == "session/request_permission":
            options = frame["params"]["options"]
            chosen = next(each["optionId"] for each in options if each["kind"] in ALLOWING)
            outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
            self._send({"id": frame["id"], "result": outcome})
        return frame


def played(agent_name: str, case: Case, folder: Path) -> str:
    """Play a case with an agent; gives the summary that is exported afterwards."""
    folder.mkdir()
    with Provider(case.scenario) as provider:
        agent = real_agents.prepare(agent_name, provider, folder, uuid.uuid4().hex)
        env = {**agent.env, "LASTWORD_STATE_DIR": str(folder / "state")}
        try:
            _play(Session(sidecar(agent.argv, case.options), env, agent.cwd), case, provider)
        finally:
            left = runs.clear_leftovers(env[real_agents.MARK])
    assert left == []
    return exported(folder / "state")


def _play(session: Session, case: Case, provider: Provider) -> None:
    blocks = [{"type": "text", "text": QUESTION}]
    number = session.begin("session/prompt", {"sessionId": session.session, "prompt": blocks})
    if case.until == TOOL_END:
        session.until("tool_call")
        # The step after the tool never ends: the client leaves between the two.
        provider.scenario = Scenario.HANG
    if case.until:
        session.until(case.until)
    if case.act == CANCELS:
        session.cancel()
    if case.act != LEAVES:
        session.answer_to(number)
    session.leave()


def exported(state: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lastword", "export", "--last", "-o", "-"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | {"LASTWORD_STATE_DIR": str(state)},
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
    wanted = [
        item.callspec.params["cell"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and "told" in item.fixturenames
    ]
    folder = tmp_path_factory.mktemp("recorded")
    with ThreadPoolExecutor(3) as pool:
        yield {
            (agent, case): pool.submit(played, agent, CASES[case], folder / f"{agent}-{case}")
            for agent, case in wanted
        }


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
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
