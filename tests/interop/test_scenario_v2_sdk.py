"""Scenarios in protocol version 2, as the official TypeScript SDK's client hands them on."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lastword import client
from lastword.kit.agent.scenarios import SCENARIOS
from tests.interop.selection import in_ci
from tests.interop.toolchain import require_node
from tests.kit.programs import run_program
from tests.process.scenarios.scenario_play import AGENT, EXPECTED

PLAYER = Path(__file__).resolve().parent / "v2_turn.mjs"
PLAYED = [
    *("healthy", "healthy_tool", "permission", "max_tokens", "rate_limit", "auth", "after_tool"),
    *("tool_open", "agent_stalled", "agent_crash", "crash_after_edit", "crash_with_dialog"),
    *("error_empty", "error_code_text", "stdout_garbage", "stdout_values", "fails_to_start"),
]
IN_CI = {"permission", "rate_limit", "crash_after_edit", "stdout_garbage", "fails_to_start"}
"""Of those whose turns end well, with an error, with the agent, in odd lines, and never begin."""


@cache
def official_update() -> Draft202012Validator:
    """What the official schema takes as a `session/update`."""
    path = require_node() / "@agentclientprotocol/sdk/schema/v2/schema.json"
    whole: dict[str, Any] = json.loads(path.read_text())
    return Draft202012Validator({"$ref": "#/$defs/SessionUpdate", "$defs": whole["$defs"]})


def turn(name: str) -> dict[str, Any]:
    done = run_program(["node", str(PLAYER), str(require_node()), *AGENT, name], check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.mark.parametrize("name", in_ci(PLAYED, IN_CI.__contains__))
def test_the_official_client_of_version_2_sees_how_the_turn_ends(name: str) -> None:
    seen, told = turn(name), SCENARIOS[name].failure_in(2)
    if name == "fails_to_start":
        assert client.read_error(seen["failed"]).type == told.type  # type: ignore[union-attr]
        return
    assert seen["failed"] is None
    expected = [word.split()[0] for word in json.loads(EXPECTED.read_text())[name]["v2"]]
    kinds = [update["sessionUpdate"] for update in seen["updates"]]
    # Of a client that did not negotiate, and without the answers and requests in between.
    ours = {"_agent_error", "answer", "session/request_permission", "$/cancel_request"}
    assert dict.fromkeys(kinds) == dict.fromkeys(word for word in expected if word not in ours)
    for update in seen["updates"]:
        official_update().validate(update)
    first, last = seen["updates"][0], seen["updates"][-1]
    assert (first["state"], last["state"]) == ("running", "idle")
    if told is None:
        assert last["stopReason"] in {"end_turn", "max_tokens"}
        return
    assert last["stopReason"] == "error"
    read = client.read_error(last)
    assert read is not None
    assert (read.type, read.retry_safety) == (told.error.type, told.error.retry_safety)
