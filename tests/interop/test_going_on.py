"""What comes after a failing turn: the session goes on, and no secret came along."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lastword.kit.provider.server import Provider, ProviderFailure, ProviderScenario
from tests.interop import real_agents
from tests.interop.matrix import killed_after_first_answer, killed_at_first_text, sidecar
from tests.interop.runs import Client, Event, Run, run

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = ("First question.", "Second question.")
TWO_TURNS = Client("py", prompts=QUESTIONS)
RECOVERS = {QUESTIONS[1]: ProviderScenario.HEALTHY}
"""What a provider does otherwise once it is asked the second question."""


def texts(run: Run) -> str:
    chunks = run.delivered("agent_message_chunk")
    return "".join(chunk["content"].get("text", "") for chunk in chunks)


def test_a_session_continues_once_its_provider_has_recovered(
    agent_name: str, tmp_path: Path
) -> None:
    with Provider(ProviderScenario.UNAUTHORIZED, marked=RECOVERS) as provider:
        agent = real_agents.prepare(agent_name, provider, tmp_path)
        result = run(TWO_TURNS, sidecar(agent.argv), agent.env, agent.cwd)
    first, second = result.outcomes()
    assert first["event"] == "error"
    assert second["event"] == "answer", second
    assert second["stop_reason"] == "end_turn"
    assert "model is 42" in texts(result)


def test_the_next_prompt_works_after_a_crash_in_mid_prompt(agent_name: str, tmp_path: Path) -> None:
    with Provider(ProviderScenario.HANG_AFTER_TEXT, marked=RECOVERS) as provider:
        agent = real_agents.prepare(agent_name, provider, tmp_path)
        command, on_event = killed_at_first_text(list(agent.argv), tmp_path / "pid")
        result = run(TWO_TURNS, sidecar(command), agent.env, agent.cwd, on_event=on_event)
    first, second = result.outcomes()
    assert first["data"]["agent_error"]["type"] == "agent_crash"
    assert first["data"]["agent_error"]["exit_signal"] == "SIGKILL"
    assert second["event"] == "answer", second
    assert second["stop_reason"] == "end_turn"
    assert "model is 42" in texts(result)
    assert result.leftovers == []


def test_an_agent_killed_between_two_prompts_keeps_its_history(
    agent_name: str, tmp_path: Path
) -> None:
    with Provider(ProviderScenario.HEALTHY) as provider:
        agent = real_agents.prepare(agent_name, provider, tmp_path)
        command, kill = killed_after_first_answer(list(agent.argv), tmp_path / "pid")
        client = Client("py", ("--told",), prompts=QUESTIONS)
        result = run(client, sidecar(command), agent.env, agent.cwd, on_event=kill)
        longest = max(call.messages for call in provider.calls)
        first_longest = provider.calls[0].messages
    first, second = result.outcomes()
    assert (first["event"], second["event"]) == ("answer", "answer"), (first, second)
    assert texts(result).count("model is 42") == 2
    assert longest > first_longest
    assert result.leftovers == []


@pytest.mark.matrix
@pytest.mark.parametrize("agent_name", ["claude"], indirect=True)
def test_a_turn_continues_when_the_limit_of_a_plan_ends(agent_name: str, tmp_path: Path) -> None:
    text = "You have reached your usage limit. Please try again in 3 seconds."
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": text}}
    # Other agents wait by themselves, as this one does unless it is asked not to.
    asked = {"x-should-retry": "false"}
    limit = ProviderFailure(429, json.dumps(error).encode(), headers=asked)
    with Provider(failure=limit) as provider:
        agent = real_agents.prepare(agent_name, provider, tmp_path)

        def ends(event: Event) -> None:
            if event["event"] == "update" and event["kind"] == "agent_message_chunk":
                provider.failure = None

        command = sidecar(agent.argv, ["--continue-at-reset"])
        result = run(Client("py"), command, agent.env, agent.cwd, on_event=ends)
    (turn,) = result.outcomes()
    assert (turn["event"], turn.get("stop_reason")) == ("answer", "end_turn"), turn
    assert "model is 42" in texts(result)
