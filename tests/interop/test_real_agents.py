"""Real agents, failing, with lastword between them and an official SDK's client.

The main proof: whatever a provider, a network or the kernel does to an unmodified agent, its client
is told what happened, once, in a shape that this client's SDK hands to user code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lastword.kit.provider.server import API_KEY, Provider, ProviderScenario
from lastword.platform.process_tree import read_tcp_sockets
from tests.interop import real_agents, selection, toolchain
from tests.interop.runs import Run, client, run, sidecar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORKERS = 3
SPECIAL_CODES = {-32002, -32602, -32700, -32800}
"""Codes with a meaning of their own in some client, never used for a failing turn."""

HANG_LIMITS = ("--first-update-timeout", "30", "--idle-timeout", "30", "--cancel-grace", "2")
"""Two looks at an agent's connections, 2 s apart, have to explain half of the time."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way to fail.

    Attributes:
        type: The error type that a client must be told, and whether it is worth a retry.
        client: Whose SDK the client is on, and whether it advertises `agent_error`.
        kill: Whether the agent is killed in mid-turn.
    """

    scenario: ProviderScenario
    type: tuple[str, bool]
    client: tuple[str, bool]
    limits: tuple[str, ...] = ()
    kill: bool = False


def _type_of_hang() -> str:
    """The provider is to blame where this system shows an agent's connections."""
    try:
        read_tcp_sockets()
    except OSError:
        return "agent_stalled"
    return "timeout"


_S = ProviderScenario
CASES = {
    "cut": Case(_S.CUT, ("network", True), ("py", False)),  # opencode retries over a minute
    "unauthorized": Case(_S.UNAUTHORIZED, ("auth", False), ("ts", True)),
    "rate_limited": Case(_S.RATE_LIMITED, ("rate_limit", True), ("py", True)),
    "bad_gateway": Case(_S.BAD_GATEWAY, ("provider_unavailable", True), ("ts", False)),
    "context_overflow": Case(_S.CONTEXT_OVERFLOW, ("context_overflow", False), ("ts", False)),
    "hang": Case(_S.HANG, (_type_of_hang(), True), ("ts", True), limits=HANG_LIMITS),
    "killed": Case(_S.HANG_AFTER_TEXT, ("agent_crash", True), ("py", True), kill=True),
}


@dataclass(frozen=True, slots=True)
class Cell:
    agent: str
    case: str

    def __str__(self) -> str:
        return f"{self.agent}-{self.case}"


CELLS = [Cell(agent, case) for case in CASES for agent in real_agents.AGENTS]
IN_CI = {
    *(Cell("opencode", case) for case in ("rate_limited", "context_overflow")),
    Cell("claude", "unauthorized"),
}
"""Both SDKs, with consent and without; `test_going_on` kills, kimi is in the agents' table."""


def play(cell: Cell, folder: Path) -> tuple[Run, Path]:
    """Run a cell's client against its agent; return what it saw, and the folder of the record."""
    case, home = CASES[cell.case], folder / str(cell)
    kind, negotiates = case.client
    program = client(kind, *(["--agent-error"] if negotiates else []))
    with Provider(case.scenario) as provider:
        agent = real_agents.prepare(cell.agent, provider, home)
        command, on_event = list(agent.argv), lambda _event: False
        if case.kill:
            command, on_event = real_agents.killed(command, home / "pid", real_agents.says_text)
        env = {**agent.env, "LASTWORD_STATE_DIR": str(home / "state")}
        command = sidecar(command, case.limits)
        return run(program, command, env, agent.cwd, on_event=on_event), home / "state"


@pytest.fixture(scope="module")
def lived(request: pytest.FixtureRequest) -> Iterator[Callable[[Cell], tuple[Run, Path]]]:
    yield from selection.lived(request, play, WORKERS, lambda _: toolchain.require_node())


@pytest.mark.parametrize("cell", selection.in_ci(CELLS, IN_CI.__contains__), ids=str)
def test_a_failing_turn_ends_once_with_a_typed_error_that_user_code_receives(
    lived: Callable[[Cell], tuple[Run, Path]], cell: Cell
) -> None:
    case, (seen, state) = CASES[cell.case], lived(cell)
    assert seen.exit_code == 0, seen.stderr[-2000:]
    (answer,) = seen.answers_on_the_wire()
    (outcome,) = seen.outcomes()
    assert outcome["event"] == "error", outcome
    assert "result" not in answer
    assert type(outcome["code"]) is int
    assert outcome["code"] not in SPECIAL_CODES
    assert outcome["message"].strip()
    assert outcome["data"]["details"].strip()
    assert outcome["data"] == answer["error"]["data"]

    payload = outcome["data"]["agent_error"]
    assert payload["message"].strip()
    assert (payload["type"], payload["retryable"]) == case.type, payload

    # The typed update precedes the answer, and only reaches a client that asked.
    typed = seen.updates_on_the_wire("agent_error")
    carriers = [
        update
        for update in seen.updates_on_the_wire("session_info_update")
        if "agent_error" in (update.get("_meta") or {})
    ]
    if case.client[1]:
        (update,) = typed
        assert (update["stopReason"], update["error"]["type"]) == ("error", payload["type"])
        assert seen.delivered("agent_error") == [], "this SDK is typed, and drops the kind"
    else:
        assert typed == []
        (update,) = carriers
        assert update["_meta"]["agent_error"]["type"] == payload["type"]
        assert set(update) == {"sessionUpdate", "_meta"}
        assert seen.named("log") == [], "the SDK complained about a frame"
    frames = seen.received()
    late = frames[frames.index(answer) + 1 :]
    assert not [frame for frame in late if "agent_error" in json.dumps(frame)]

    (greeting,) = (frame for frame in frames if "agentCapabilities" in str(frame))
    extension = greeting["result"]["agentCapabilities"]["_meta"]["agent_error"]
    assert extension["version"] == 1
    assert {case.type[0] for case in CASES.values()} <= set(extension["types"])

    assert API_KEY not in json.dumps(frames) + seen.stderr
    for path in state.rglob("*"):
        assert not path.is_file() or API_KEY.encode() not in path.read_bytes(), path.name
    assert seen.leftovers == []
