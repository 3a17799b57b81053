"""Agents that answer as none should, to a client on the official SDK by `lastword.client.acp`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kit.patience import FUSE_SECONDS
from tests.process.attacks.watched import END_TURN, KEY

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

CLIENT = Path(__file__).parent / "sdk_client.py"
WELL = {"stop_reason": "end_turn"}
SAYS: list[Any] = ["say", "Here."]
ENDS: list[Any] = ["answer", END_TURN]


def outcomes(attack: Attack, life: dict[str, Any], prompts: int) -> list[dict[str, Any]]:
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


def sends(*each: dict[str, Any]) -> list[list[Any]]:
    return [*(["send", members] for members in each), SAYS, ENDS]


STILL_WELL: dict[str, list[Any]] = {
    "answers twice": [SAYS, ENDS, ENDS],
    "answers for somebody else first": sends({"id": 99, "result": END_TURN}),
    "lines that are none": [["raw", 'Loading…\n\n  \n[1,2]\n"text"\n7\nnull\n'], SAYS, ENDS],
    "bytes that are no text": [["bytes", "fffe0a"], SAYS, ENDS],
    "nesting without end": [["raw", '{"id":' + "[" * 20_000 + "\n"], SAYS, ENDS],
    "a line of two mebibytes": [["say", "x" * 2**21], ENDS],
    "updates of no shape": sends(
        *({"method": "session/update", "params": each} for each in ([], "x", {"update": {}}))
    ),
    "failures of no shape": [
        *(["update", "agent_error", each] for each in ({}, {"error": {"type": []}})),
        SAYS,
        ENDS,
    ],
    "a request under the prompt's own id": sends(
        {"id": "$id", "method": "session/request_permission", "params": {}}
    ),
}
FAILS: dict[str, list[Any]] = {
    "a result that is null": ["answer", None],
    "a stop reason that is a list": ["answer", {"stopReason": ["end_turn"]}],
    "an error that is a text": ["error", "429 Too Many Requests"],
    "a code of 400 digits": ["error", {"code": 10**400, "message": "busy"}],
    "both": ["send", {"id": "$id", "result": END_TURN, "error": {"code": 1, "message": "no"}}],
}


def test_odd_output_of_an_agent_fails_only_the_turn_without_a_valid_answer(
    watched: Attack,
) -> None:
    odd = [*STILL_WELL.values(), *([SAYS, answer] for answer in FAILS.values())]
    turns = [turn for each in odd for turn in (each, [SAYS, ENDS])]
    told = outcomes(watched, {"session/prompt": turns}, len(turns))
    for what, first, second in zip([*STILL_WELL, *FAILS], told[::2], told[1::2], strict=True):
        assert second == WELL, (what, second)
        # What says that it failed has failed, whatever the answer says.
        if what in FAILS or (what == "failures of no shape" and first != WELL):
            assert "failed" in first, (what, first)
        else:
            assert first == WELL, (what, first)


def test_a_dying_agent_fails_this_prompt_and_the_next_at_once(attack: Attack) -> None:
    dies = [["stderr", "x" * 2**20], ["raw", '{"id":'], ["exit", 3]]
    told = outcomes(attack, {"session/prompt": [dies]}, 2)
    assert told[0].get("failed") == "agent_crash", told
    assert "hangs" not in told[1], told
    assert "stop_reason" not in told[1], told
