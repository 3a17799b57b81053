"""Requests of the agent's that a person sees."""

from __future__ import annotations

from tests.kit.wire import permission, prompted, result


def test_a_turn_that_asked_the_user_was_not_silent() -> None:
    wire = prompted().agent(permission()).client({"jsonrpc": "2.0", "id": 9, "result": {}})
    wire.agent(result()).time(1)
    assert wire.answers() == [result()]
