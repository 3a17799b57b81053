"""Agents that answer as none should, to a client on the official SDK by `lastword.client.acp`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.patience import FUSE_SECONDS
from tests.process.attacks.watched import END_TURN, KEY

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

CLIENT = Path(__file__).parent / "sdk_client.py"
WELL = {"stop_reason": "end_turn"}
SAYS: list[Any] = ["say", "Here."]
ENDS: list[Any] = ["answer", END_TURN]


def outcomes(attack: Attack, life: dict[str, Any], prompts: int = 2) -> list[dict[str, Any]]:
    """What came of each prompt."""
    done = subprocess.run(
        [sys.executable, str(CLIENT), str(prompts), *attack.agent(life)],
        env=attack.environment,
        capture_output=True,
        timeout=FUSE_SECONDS,
        check=True,
    )
    assert KEY.encode() not in done.stdout + done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[-1] == {"left": True}
    return told[2:-1]


STILL_WELL: dict[str, list[Any]] = {
    "answers twice": [SAYS, ENDS, ENDS],
    "answers for somebody else first": [
        ["send", {"id": 99, "result": END_TURN}],
        ["send", {"id": "0", "result": END_TURN}],
        SAYS,
        ENDS,
    ],
    "lines that are none": [["raw", 'Loading…\n\n  \n[1,2]\n"text"\n7\nnull\n'], SAYS, ENDS],
    "bytes that are no text": [["bytes", "fffe0a"], SAYS, ENDS],
    "nesting without end": [["raw", '{"id":' + "[" * 20_000 + "\n"], SAYS, ENDS],
    "a line of two mebibytes": [["say", "x" * 2**21], ENDS],
    "an update of another session": [
        ["send", {"method": "session/update", "params": {"sessionId": "s9", "update": {}}}],
        SAYS,
        ENDS,
    ],
    "updates of no shape": [
        ["send", {"method": "session/update", "params": each}] for each in ({}, [], "x")
    ]
    + [SAYS, ENDS],
    "failures of no shape": [
        ["update", "agent_error", each] for each in ({}, {"error": 7}, {"error": {"type": []}})
    ]
    + [SAYS, ENDS],
    "a request under the prompt's own id": [
        ["send", {"id": "$id", "method": "session/request_permission", "params": {}}],
        SAYS,
        ENDS,
    ],
    "a method that nobody knows": [
        ["send", {"id": 5, "method": "weather/tell", "params": {}}],
        ["send", {"method": "weather/told"}],
        SAYS,
        ENDS,
    ],
    "a mebibyte on stderr": [["stderr", "x" * 2**20], SAYS, ENDS],
}


@pytest.mark.parametrize("what", list(STILL_WELL))
def test_what_an_agent_sends_beside_its_answer_costs_its_client_no_turn(
    watched: Attack, what: str
) -> None:
    life = {"session/prompt": [STILL_WELL[what], [SAYS, ENDS]]}
    told = outcomes(watched, life)
    assert told[1] == WELL, told
    # What says that it failed has failed, whatever the answer says.
    assert told[0] == WELL or (what == "failures of no shape" and "failed" in told[0]), told


FAILS: dict[str, list[Any]] = {
    "a result that is a list": ["answer", []],
    "a result that is null": ["answer", None],
    "a stop reason that nobody knows": ["answer", {"stopReason": "bored"}],
    "a stop reason that is a list": ["answer", {"stopReason": ["end_turn"]}],
    "an error that is a text": ["error", "429 Too Many Requests"],
    "an error that is a list": ["error", [1]],
    "an error that is nothing": ["error", {}],
    "a code that is a text": ["error", {"code": "busy", "message": 7}],
    "a code of 400 digits": ["error", {"code": 10**400, "message": "busy"}],
    "both": ["send", {"id": "$id", "result": END_TURN, "error": {"code": 1, "message": "no"}}],
}


@pytest.mark.parametrize("what", list(FAILS))
def test_an_answer_that_is_none_is_a_failure_at_once_and_the_next_turn_is_well(
    watched: Attack, what: str
) -> None:
    told = outcomes(watched, {"session/prompt": [[SAYS, FAILS[what]], [SAYS, ENDS]]})
    assert "failed" in told[0], told
    assert told[1] == WELL, told


DIES: dict[str, list[Any]] = {
    "killed": [SAYS, ["kill"]],
    "gone with 0": [SAYS, ["exit", 0]],
    "in the midst of a line": [["raw", '{"jsonrpc":"2.0","id":'], ["exit", 3]],
    "after a flood on stderr": [["stderr", "x" * 2**20], ["exit", 3]],
}


@pytest.mark.parametrize("what", list(DIES))
def test_an_agent_that_dies_fails_this_prompt_and_the_next_at_once(
    watched: Attack, what: str
) -> None:
    told = outcomes(watched, {"session/prompt": [DIES[what]]})
    assert told[0].get("failed") == "agent_crash", told
    assert "hangs" not in told[1], told
    assert "stop_reason" not in told[1], told
