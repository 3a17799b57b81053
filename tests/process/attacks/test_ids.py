"""Ids: who waits for a line that is too long or broken is told under its own id, and nobody else.

`tests/unit/protocol/test_peek.py` and `tests/unit/link/test_connection_broken_lines.py` have every
place that an id can stand in; here the lines are on pipes, and longer than these hold.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import END_TURN

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

PAD = "x" * 300_000
OTHER = 7
"""The open prompt that a line names somewhere within; the line's own id is 8."""

OWN = 8


def line(**members: object) -> str:
    """A line with its members in this order."""
    return json.dumps({"jsonrpc": "2.0", **members}) + "\n"


def test_a_line_that_is_too_long_fails_whoever_waits_for_it_and_no_other_turn(
    attack: Attack,
) -> None:
    long_answer = line(
        result={"_meta": {"id": OTHER}, "stopReason": "end_turn", "pad": PAD}, id=OWN
    )
    broken = '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"id":7},},"id":10}'
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Here."}}
    shown = {"method": "session/update", "params": {"sessionId": "s1", "update": said}}
    turns: list[list[Any]] = [
        [],
        [["raw", long_answer]],
        [
            ["send", shown],
            ["send", {"id": OTHER, "result": END_TURN}],
            ["serve"],
        ],
    ]
    with attack.run({"session/prompt": turns}, options=("--line-limit=64KiB",)) as client:
        client.open(sessions=2)
        client.prompt("One.", session="s1", request_id=OTHER)
        client.prompt("Two.", session="s2", request_id=OWN)
        assert payload_of(client.answer(OWN))["reason"] == "line_too_long"
        for request in (9, 10):
            client.expect_answer_to(request)
        meta = {
            "_meta": {"id": OTHER},
            "sessionId": "s2",
            "prompt": [{"type": "text", "text": PAD}],
        }
        client.send_line(line(method="session/prompt", params=meta, id=9).encode().strip())
        client.send_line(broken.encode())
        refused = payload_of(client.answer(9))
        assert (refused["reason"], refused["origin"]) == ("line_too_long", "client")
        assert client.answer(10)["error"]["code"] == -32700
        assert not client.answers(OTHER)
        assert client.turn("Three.", session="s2")["result"] == END_TURN
        (ended,) = client.answers(OTHER)
        assert ended.get("result") == END_TURN


def test_only_a_number_and_its_text_are_the_same_id(attack: Attack) -> None:
    refusal = {"stopReason": "refusal"}
    turns: list[list[Any]] = [
        [["send", {"id": "11.0", "result": refusal}], ["serve"]],
        [["say", "Here."], ["send", {"id": "12", "result": END_TURN}]],
    ]
    with attack.run({"session/prompt": turns}) as client:
        client.open()
        for number in (11, 12):
            prompt = client.prompt("Hello", request_id=number)
            assert client.answer(prompt)["result"] == END_TURN
