"""Version 2: prompts that join work under way."""

from __future__ import annotations

from tests.kit.wire import cancel, error, prompt, second_version, update


def test_a_joined_prompt_that_the_user_cancelled_is_no_failure() -> None:
    wire = second_version().client(prompt(2), cancel()).agent(error(2, -32800, "cancelled"))
    assert wire.answers(2)[0]["error"]["code"] == -32800
    assert [told["sessionUpdate"] for told in wire.updates()] == ["state_update"]
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="cancelled"))
    assert wire.updates()[-1]["stopReason"] == "cancelled"
