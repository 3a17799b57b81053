"""Real agents behind lastword, in what goes on: sessions after a failure, other models, AIR."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from lastword.client import read_error
from lastword.kit.provider.dialects import MODEL
from lastword.kit.provider.server import Provider, ProviderFailure, ProviderScenario
from tests.interop import real_agents
from tests.interop.runs import Event, Run, client, prompting, run, sidecar
from tests.interop.selection import in_ci

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = ("First question.", "Second question.")
RECOVERS = {QUESTIONS[1]: ProviderScenario.HEALTHY}
"""What a provider does otherwise once it is asked the second question."""

OTHER = "other-model"
AIR = {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}


def texts(run: Run) -> str:
    chunks = run.delivered("agent_message_chunk")
    return "".join(chunk["content"].get("text", "") for chunk in chunks)


@pytest.mark.parametrize("name", in_ci(real_agents.AGENTS, lambda name: name == "opencode"))
def test_the_next_prompt_works_after_a_crash_in_mid_prompt(name: str, tmp_path: Path) -> None:
    with Provider(ProviderScenario.HANG_AFTER_TEXT, marked=RECOVERS) as provider:
        agent = real_agents.prepare(name, provider, tmp_path)
        command, on_event = real_agents.killed(agent.argv, tmp_path / "pid", real_agents.says_text)
        two_turns = client("py", *prompting(*QUESTIONS))
        result = run(two_turns, sidecar(command), agent.env, agent.cwd, on_event=on_event)
    first, second = result.outcomes()
    assert first["data"]["agent_error"]["type"] == "agent_crash"
    assert first["data"]["agent_error"]["exit_signal"] == "SIGKILL"
    assert second["event"] == "answer", second
    assert second["stop_reason"] == "end_turn"
    assert "model is 42" in texts(result)
    assert result.leftovers == []


@pytest.mark.matrix
@pytest.mark.parametrize("name", real_agents.AGENTS)
def test_an_agent_killed_between_two_prompts_keeps_its_history(name: str, tmp_path: Path) -> None:
    with Provider(ProviderScenario.HEALTHY) as provider:
        agent = real_agents.prepare(name, provider, tmp_path)
        command, kill = real_agents.killed(
            agent.argv, tmp_path / "pid", lambda event: event["event"] == "answer"
        )
        told = client("py", "--told", *prompting(*QUESTIONS))
        result = run(told, sidecar(command), agent.env, agent.cwd, on_event=kill)
        longest = max(call.messages for call in provider.calls)
        first_longest = provider.calls[0].messages
    first, second = result.outcomes()
    assert (first["event"], second["event"]) == ("answer", "answer"), (first, second)
    assert texts(result).count("model is 42") == 2
    assert longest > first_longest
    assert result.leftovers == []


@pytest.mark.matrix
def test_a_turn_continues_when_the_limit_of_a_plan_ends(tmp_path: Path) -> None:
    text = "You have reached your usage limit. Please try again in 3 seconds."
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": text}}
    # Other agents wait by themselves, as this one does unless it is asked not to.
    asked = {"x-should-retry": "false"}
    limit = ProviderFailure(429, json.dumps(error).encode(), headers=asked)
    with Provider(failure=limit) as provider:
        agent = real_agents.prepare("claude", provider, tmp_path)

        def ends(event: Event) -> None:
            if real_agents.says_text(event):
                provider.failure = None

        command = sidecar(agent.argv, ["--continue-at-reset"])
        result = run(client("py"), command, agent.env, agent.cwd, on_event=ends)
    (turn,) = result.outcomes()
    assert (turn["event"], turn.get("stop_reason")) == ("answer", "end_turn"), turn
    assert "model is 42" in texts(result)


def models_shown(result: Run) -> list[str]:
    """The models that the client was shown, one after the other, each once."""
    models: list[str] = []
    for update in result.updates_on_the_wire("config_option_update"):
        options: list[dict[str, Any]] = update["configOptions"]
        (model,) = [each["currentValue"] for each in options if each.get("category") == "model"]
        models += [model] if models[-1:] != [model] else []
    return models


def test_opencode_continues_with_its_other_model_and_returns_to_the_first(tmp_path: Path) -> None:
    expected = [f"fake/{OTHER}", f"fake/{MODEL}"]
    so_far = Run()

    def has_returned(event: Event) -> bool:
        so_far.events.append(event)
        return bool(so_far.outcomes()) and models_shown(so_far) == expected

    # It has a `Retry-After` of 1 s; after a quota's error opencode tries again for over a minute.
    unavailable = {f'"{MODEL}"': ProviderScenario.BAD_GATEWAY}
    with Provider(ProviderScenario.HEALTHY, marked=unavailable) as provider:
        agent = real_agents.prepare("opencode", provider, tmp_path)
        file = agent.home / ".config/opencode/opencode.json"
        configuration = json.loads(file.read_text())
        models = configuration["provider"]["fake"]["models"]
        models[OTHER] = dict(models[MODEL])
        file.write_text(json.dumps(configuration))
        command = sidecar(agent.argv, ["--fallback-model", f"fake/{OTHER}"])
        told = client("py", "--told")
        result = run(told, command, agent.env, agent.cwd, on_event=has_returned)
        asked = [call.model for call in provider.calls if call.offers_tools]
    (outcome,) = result.outcomes()
    assert (outcome["event"], outcome.get("stop_reason")) == ("answer", "end_turn"), result.stderr
    assert asked[-1] == OTHER
    assert set(asked[:-1]) == {MODEL}
    assert models_shown(result) == expected
    assert result.leftovers == []


# --- JetBrains AIR's convention, with an agent that speaks it ------------------------------------


def air_turn(scenario: ProviderScenario, folder: Path, *, bare: bool = False) -> Run:
    folder.mkdir(exist_ok=True)
    with Provider(scenario) as provider:
        agent = real_agents.prepare("claude", provider, folder)
        command = list(agent.argv) if bare else sidecar(agent.argv)
        reads_air = client("py", "--meta", json.dumps(AIR))
        return run(reads_air, command, agent.env, agent.cwd)


def air_record(holder: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = holder["_meta"]["jetbrains"]["air"]["sessionFailure"]
    return found


def test_claudes_own_failure_records_pass_unchanged(tmp_path: Path) -> None:
    result = air_turn(ProviderScenario.BAD_GATEWAY, tmp_path)
    (answer,) = result.answers_on_the_wire()
    failure = air_record(answer["result"])
    assert (answer["result"]["stopReason"], failure["severity"]) == ("end_turn", "error")
    assert "502 Bad Gateway" in failure["title"]
    assert "agent_error" not in json.dumps(answer)
    updates = result.updates_on_the_wire("session_info_update")
    warnings = [air_record(update) for update in updates if "sessionFailure" in json.dumps(update)]
    assert {warning["severity"] for warning in warnings} == {"warning"}
    read = read_error(answer)
    assert read is not None
    assert read.type == "provider_unavailable"


@pytest.mark.matrix
def test_an_air_clients_login_and_healthy_turn_are_claudes_own(tmp_path: Path) -> None:
    refused = air_turn(ProviderScenario.UNAUTHORIZED, tmp_path / "refused")
    (answer,) = refused.answers_on_the_wire()
    assert answer["error"]["code"] == -32000, "what starts the login"
    assert answer["error"]["data"]["agent_error"]["type"] == "auth"

    shown = []
    for bare in (True, False):
        result = air_turn(ProviderScenario.HEALTHY, tmp_path / f"bare-{bare}", bare=bare)
        (answer,) = result.answers_on_the_wire()
        assert answer["result"]["stopReason"] == "end_turn"
        assert "sessionFailure" not in json.dumps(answer)
        chunks = json.dumps([one["content"] for one in result.delivered("agent_message_chunk")])
        shown.append(re.sub(r"127\.0\.0\.1:\d+", "HOST", chunks))  # a warning of Claude's names it
    assert shown[0] == shown[1] != "[]"
