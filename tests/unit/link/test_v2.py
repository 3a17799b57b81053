"""Version 2: an idle state by which the agent itself reports a failure."""

from __future__ import annotations

import pytest

from tests.kit.wire import cancel, error, prompt, second_version, update


@pytest.mark.parametrize("rest", ["", "y" * 70_000])
def test_what_the_agent_said_beside_its_error_is_redacted_and_bounded(rest: str) -> None:
    wire = second_version()
    meta = {"debug": "Authorization: Bearer sk-ant-api03-AAAABBBBCCCCDDDD1234"}
    meta |= {str(number): rest for number in range(20)}
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error"}
    wire.agent(update(**idle, error={"code": -32603, "message": "overloaded"}, _meta=meta))
    assert wire.updates()[-1]["stopReason"] == "error"
    assert b"sk-ant" not in b"".join(wire.to_client)
    assert len(wire.to_client[-1]) < 60 * 1024


# --- Version 2: prompts that join work under way


def test_a_joined_prompt_that_the_user_cancelled_is_no_failure() -> None:
    wire = second_version().client(prompt(2), cancel()).agent(error(2, -32800, "cancelled"))
    assert wire.answers(2)[0]["error"]["code"] == -32800
    assert [told["sessionUpdate"] for told in wire.updates()] == ["state_update"]
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="cancelled"))
    assert wire.updates()[-1]["stopReason"] == "cancelled"
