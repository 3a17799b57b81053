"""Version 2: prompts that join work under way."""

from __future__ import annotations

from wire import INITIALIZE, Wire, cancel, error, prompt, update


def second_version() -> Wire:
    """A link of protocol version 2 with a prompt accepted and running."""
    wire = Wire()
    wire.client(INITIALIZE | {"params": {"protocolVersion": 2}})
    wire.agent({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 2}})
    wire.client(prompt())
    wire.agent({"jsonrpc": "2.0", "id": 1, "result": {"messageId": "m"}})
    wire.agent(update(sessionUpdate="state_update", state="running"))
    return wire


def test_a_joined_prompt_that_the_user_cancelled_is_no_failure() -> None:
    wire = second_version()
    wire.client(prompt(2))
    wire.client(cancel())
    wire.agent(error(2, -32800, "cancelled"))
    assert wire.answers(2)[0]["error"]["code"] == -32800
    assert [told["sessionUpdate"] for told in wire.updates()] == ["state_update"]
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="cancelled"))
    assert wire.updates()[-1]["stopReason"] == "cancelled"
