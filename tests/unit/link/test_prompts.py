"""Prompts: what an answer to one means, and what ends a turn of version 2."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.evidence import SILENT
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    permission,
    prompt,
    prompted,
    result,
    second_version,
    update,
)
from tests.unit.link.test_hints import EMPTY, begun, hint


def test_new_work_does_not_overtake_the_idle_state_before_it() -> None:
    wire = second_version()
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    wire.agent(update(**idle), update(sessionUpdate="state_update", state="running")).time(1)
    assert [told["state"] for told in wire.updates()] == ["running", "idle", "running"]
    assert "error" not in wire.updates()[1]


def test_a_success_after_a_call_known_only_by_status_waits_for_the_providers_words() -> None:
    for words, type_ in ((EMPTY, "budget"), (None, "rate_limit")):
        wire = begun(expects=True)
        hint(wire).agent(result())
        assert wire.answers() == []
        if words is not None:
            hint(wire, words, goes_on=False)
        wire.time(1)
        failed = failure(wire)
        assert (failed["type"], failed["reason"]) == (type_, SILENT)


def test_a_success_after_a_call_with_a_fully_known_cause_fails_at_once() -> None:
    wire = hint(begun(expects=True), EMPTY).agent(result())
    assert failure(wire)["type"] == "budget"


# --- A turn that its agent calls cancelled


def cancelled_by_agent(wire: Wire) -> bool:
    """The agent ends the turn as cancelled: has it failed?"""
    wire.agent(result(1, "cancelled")).time(wire.now + 1)
    return "error" in wire.answers()[0]


def test_a_turn_that_the_agent_cancels_itself_fails_by_its_text_or_stderr() -> None:
    wire = prompted()
    assert cancelled_by_agent(wire)
    failed = failure(wire)
    assert (failed["type"], failed["reason"], failed["origin"]) == (
        "unknown",
        "agent_cancelled",
        "agent",
    )
    wire = prompted().agent(chunk("Credit balance is too low"))
    assert cancelled_by_agent(wire)
    assert failure(wire)["type"] == "budget"
    wire = begun(expects=True).stderr(b"Error code: 429 - {}\n")
    assert cancelled_by_agent(wire)
    assert failure(wire)["type"] == "rate_limit"


def test_a_user_with_a_question_or_a_new_prompt_may_have_cancelled_the_turn() -> None:
    no = {"outcome": {"outcome": "selected", "optionId": "no"}}
    asked = prompted().agent(permission()).client({"jsonrpc": "2.0", "id": 9, "result": no})
    assert not cancelled_by_agent(asked)
    assert not cancelled_by_agent(prompted().client(cancel()))
    assert not cancelled_by_agent(prompted().client(prompt(2)))
    assert not cancelled_by_agent(Wire().client(INITIALIZE, prompt(text="/clear")))
    assert not cancelled_by_agent(prompted(silent_success="pass"))


@pytest.mark.parametrize("state", ["running", "requires_action"])
def test_the_idle_state_of_version_2_is_read_likewise(state: str) -> None:
    wire = second_version().agent(update(sessionUpdate="state_update", state=state))
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="cancelled")).time(1)
    failed = wire.updates()[-1].get("error")
    assert (failed is not None) is (state == "running")
    assert failed is None or failed["data"]["agent_error"]["reason"] == "agent_cancelled"


# --- A new prompt after a cancel that the agent never confirms


def test_the_new_turn_keeps_its_output_although_the_old_one_was_never_answered() -> None:
    wire = prompted().agent(chunk()).client(cancel(), prompt(2)).time(11)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}
    wire.agent(chunk("the reply"), result(2))
    assert wire.updates()[-1]["content"]["text"] == "the reply"
    assert wire.answers(2) == [result(2)]


# --- A turn that is stopped while its answer is held back


def test_a_turn_that_the_agent_has_answered_leaves_no_quarantine_behind() -> None:
    wire = prompted(stderr_limit_bytes=10).agent(result()).stderr(b"x" * 11)
    assert wire.answers()[0]["error"]["data"]["errorKind"] == "stderr_overflow"
    wire.client(prompt(2))
    assert b'"id": 2' in wire.to_agent[-1]


# --- When nothing waits for the agent


def test_a_link_with_a_withheld_prompt_is_not_idle() -> None:
    wire = prompted().agent(chunk()).client(cancel()).time(11)
    assert wire.core.idle
    wire.client(prompt(2))
    assert not wire.core.idle


# --- Numbers that no machine holds


@pytest.mark.parametrize("number", [10**400, 10**30, 1e300])
def test_a_huge_number_is_left_out_and_does_not_trip_the_fuse(number: float) -> None:
    wire = prompted()
    told = {"type": "rate_limit", "message": "Wait.", "retry_after_seconds": number}
    wire.agent(update(sessionUpdate="agent_error", error=told), error())
    assert "retry_after_seconds" not in failure(wire)


@pytest.mark.parametrize("rest", ["", "y" * 70_000])
def test_members_beside_the_agents_error_are_redacted_and_bounded(rest: str) -> None:
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


def test_a_joined_prompt_that_the_user_cancelled_has_not_failed() -> None:
    wire = second_version().client(prompt(2), cancel()).agent(error(2, -32800, "cancelled"))
    assert wire.answers(2)[0]["error"]["code"] == -32800
    assert [told["sessionUpdate"] for told in wire.updates()] == ["state_update"]
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="cancelled"))
    assert wire.updates()[-1]["stopReason"] == "cancelled"
