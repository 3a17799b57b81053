"""What a link keeps back at a moment, for a shell that has to go on without the core."""

from __future__ import annotations

import json
from typing import Any

from lastword.core.link.effects import Answer, Send
from tests.kit.wire import Wire, cancel, chunk, prompt, prompted, result


def kept(wire: Wire) -> list[tuple[str, dict[str, Any]]]:
    return [
        (effect.to.value, json.loads(effect.frame))
        for effect in wire.core.connection.withheld_frames()
        if isinstance(effect, Send | Answer)
    ]


def begun() -> Wire:
    return prompted(cancel_grace_seconds=1)


def test_a_turn_in_progress_keeps_no_frames() -> None:
    wire = begun().agent(chunk())
    assert kept(wire) == []


def test_an_answer_without_output_is_withheld() -> None:
    wire = begun().agent(result())
    assert kept(wire) == [("client", result())]


def test_a_prompt_behind_a_quarantine_is_withheld() -> None:
    wire = begun().client(cancel()).time(2).client(prompt(2))
    assert kept(wire) == [("agent", prompt(2))]


def test_an_error_without_an_id_is_withheld() -> None:
    wire = begun()
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "boom"}}
    wire.agent(error)
    assert kept(wire) == [("client", error)]
