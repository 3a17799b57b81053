"""JetBrains AIR's convention, with an agent that speaks it and through lastword."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from lastword import client
from lastword.kit.provider.server import Provider, ProviderScenario
from tests.interop import real_agents
from tests.interop.matrix import sidecar
from tests.interop.runs import Client, Run, run

if TYPE_CHECKING:
    from pathlib import Path

AIR = {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}
READS_AIR = Client("py", ("--meta", json.dumps(AIR)))


def turn(scenario: ProviderScenario, folder: Path, *, bare: bool = False) -> Run:
    with Provider(scenario) as provider:
        agent = real_agents.prepare("claude", provider, folder)
        command = list(agent.argv) if bare else sidecar(agent.argv)
        return run(READS_AIR, command, agent.env, agent.cwd)


def shown_text(result: Run) -> list[Any]:
    """Return the content shown, without the provider's port, which a warning of Claude's names."""
    chunks = [each["content"] for each in result.delivered("agent_message_chunk")]
    return json.loads(re.sub(r"127\.0\.0\.1:\d+", "HOST", json.dumps(chunks)))


def record(holder: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = holder["_meta"]["jetbrains"]["air"]["sessionFailure"]
    return found


def test_claudes_own_failure_records_pass_unchanged(tmp_path: Path) -> None:
    result = turn(ProviderScenario.BAD_GATEWAY, tmp_path)
    (answer,) = result.answers_on_the_wire()
    failure = record(answer["result"])
    assert (answer["result"]["stopReason"], failure["severity"]) == ("end_turn", "error")
    assert "502 Bad Gateway" in failure["title"]
    assert "agent_error" not in json.dumps(answer)
    updates = result.updates_on_the_wire("session_info_update")
    warnings = [record(update) for update in updates if "sessionFailure" in json.dumps(update)]
    assert {warning["severity"] for warning in warnings} == {"warning"}
    read = client.read_error(answer)
    assert read is not None
    assert read.type == "provider_unavailable"


def test_claudes_request_to_log_in_stays_the_error_that_starts_the_login(tmp_path: Path) -> None:
    (answer,) = turn(ProviderScenario.UNAUTHORIZED, tmp_path).answers_on_the_wire()
    assert answer["error"]["code"] == -32000
    assert answer["error"]["data"]["agent_error"]["type"] == "auth"


def test_a_healthy_turn_of_such_a_client_is_the_same_with_and_without_lastword(
    tmp_path: Path,
) -> None:
    for folder in ("bare", "wrapped"):
        (tmp_path / folder).mkdir()
    bare = turn(ProviderScenario.HEALTHY, tmp_path / "bare", bare=True)
    wrapped = turn(ProviderScenario.HEALTHY, tmp_path / "wrapped")
    for result in (bare, wrapped):
        (answer,) = result.answers_on_the_wire()
        assert answer["result"]["stopReason"] == "end_turn"
        assert "sessionFailure" not in json.dumps(answer)
    assert shown_text(bare)
    assert shown_text(bare) == shown_text(wrapped)
