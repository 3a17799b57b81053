"""What is added to an agent's command and environment, by the agent and by the option."""

from __future__ import annotations

from lastword.quirks.agents import ROWS
from lastword.sidecar.agent_start import ADDED_TO, AgentStart
from tests.kit.rows import every


@every(
    ("command", "evidence", "may"),
    [
        (["gemini", "--acp"], "auto", True),
        (["npx", "-y", "@google/gemini-cli@latest", "--acp"], "auto", True),
        (["/usr/bin/qwen", "--acp"], "auto", True),
        (["gemini", "--acp"], "beside", False),
        (["gemini", "--acp"], "wire", False),
        (["codex-acp"], "auto", False),
        (["my-agent"], "auto", False),
        (["my-agent"], "inside", True),
        (["docker", "run", "gemini"], "auto", False),
        (["sudo", "my-agent"], "inside", False),
    ],
)
def test_the_observer_is_used_for_tested_agents_and_for_any_on_request(
    command: list[str], evidence: str, may: bool
) -> None:
    assert AgentStart(command, evidence).may_have_observer is may


def test_every_agent_with_an_addition_is_in_the_lookup_table() -> None:
    observed = [row for row in ROWS if row.observed or row.name == "opencode"]
    assert len(observed) > 3
    for row in observed:
        for program in row.programs:
            assert any(name in program for name in ADDED_TO), program
