"""Version 2: an idle state by which the agent itself reports a failure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.rows import every
from tests.kit.wire import cancel, chunk, error, prompt, second_version, update


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


@every(
    ("messages", "meta", "kind"),
    [
        ([chunk("API Error: 401 Invalid API key")], None, "auth"),
        ([chunk('HTTP 400: {"error": {"message": "credit balance is too low"}}')], None, "budget"),
        (
            [chunk("I look at it."), chunk("\n\nError: RetriableError: read ECONNRESET")],
            None,
            "network",
        ),
        ([chunk("I look at it.")], {"error": {"statusCode": 429}}, "rate_limit"),
        ([chunk("All done.")], None, None),
        ([chunk("API Error: 401 means that the key is wrong.")], None, None),
    ],
)
def test_an_error_in_words_or_in_the_margin_is_a_failure_as_in_version_1(
    messages: list[dict[str, Any]], meta: object, kind: str | None
) -> None:
    wire = second_version().agent(update(sessionUpdate="state_update", state="running"))
    ends = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    idle = update(**ends, _meta=meta) if meta else update(**ends)
    told = wire.agent(*messages, idle).time(wire.now + 1).updates()[-1]
    error = told.get("error")
    assert (error and error["data"]["agent_error"]["type"]) == kind


# --- Version 2: prompts that join work under way


def test_a_joined_prompt_that_the_user_cancelled_is_no_failure() -> None:
    wire = second_version().client(prompt(2), cancel()).agent(error(2, -32800, "cancelled"))
    assert wire.answers(2)[0]["error"]["code"] == -32800
    assert [told["sessionUpdate"] for told in wire.updates()] == ["state_update"]
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="cancelled"))
    assert wire.updates()[-1]["stopReason"] == "cancelled"
