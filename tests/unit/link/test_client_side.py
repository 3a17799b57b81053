"""What a client sends: cancels while a question is open, and answers that come too late."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.state import MAX_ANSWERED
from lastword.core.timeline import summary
from tests.kit.wire import (
    Wire,
    cancel,
    chunk,
    greeted,
    permission,
    prompt,
    prompted,
    reply,
    request,
    result,
    second_version,
    update,
)

CANCELLED = {"stopReason": "cancelled"}
ENDED = {"stopReason": "end_turn"}
LEFT = reply(9, outcome={"outcome": "cancelled"})
CHOSEN = reply(9, outcome={"outcome": "selected"})


def asked(session_id: str = "s", *, sessions: tuple[str, ...] = ("s",)) -> Wire:
    """Turns with a tool call each; the agent asks about one of them."""
    wire = greeted()
    for number, name in enumerate(sessions, 1):
        wire.client(prompt(number, name))
        wire.agent(update(name, sessionUpdate="tool_call", toolCallId="t", status="pending"))
    wire.agent(permission(session_id=session_id))
    return wire


def closed(wire: Wire) -> list[dict[str, Any]]:
    """The tool calls that were closed in the agent's place."""
    return wire.updates("tool_call_update")


def stop_reason(wire: Wire, request_id: int = 1) -> dict[str, Any]:
    (answer,) = wire.answers(request_id)
    return answer["result"]


@pytest.mark.parametrize("reason", ["end_turn", "refusal", "max_turn_requests"])
@pytest.mark.parametrize(
    "steps", [(cancel(), LEFT), (LEFT, cancel()), (cancel(),), (cancel(), LEFT, cancel())]
)
def test_a_cancel_with_a_question_open_ends_the_turn_as_cancelled(
    steps: tuple[dict[str, Any], ...], reason: str
) -> None:
    wire = asked()
    for step in steps:
        wire.client(step)
    wire.agent(result(1, reason, usage={"totalTokens": 7}))
    assert stop_reason(wire) == {**CANCELLED, "usage": {"totalTokens": 7}}
    closing = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed"}
    assert (closed(wire), json.loads(wire.to_client[-1])["id"]) == ([closing], 1)
    facts = wire.entries[-1].facts
    assert (facts["stop_reason"], facts["cancelled"]) == (reason, True)
    assert summary.summarise(wire.entries).outcome == "cancelled"


def test_the_next_prompt_passes_and_is_answered_as_the_agent_says() -> None:
    wire = asked().client(cancel()).agent(result(1)).client(prompt(2)).agent(chunk())
    wire.client(cancel()).agent(result(2))
    assert stop_reason(wire, 2) == ENDED


@pytest.mark.parametrize("answered", [CHOSEN, LEFT], ids=["chosen", "left, and it went on"])
def test_an_answer_that_may_have_crossed_the_cancel_passes(answered: dict[str, Any]) -> None:
    wire = asked().client(answered).agent(chunk()).client(cancel()).agent(result(1))
    assert (stop_reason(wire), closed(wire)) == (ENDED, [])


def test_a_question_that_the_agent_withdrew_is_closed() -> None:
    wire = asked()
    wire.agent({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}})
    wire.client(cancel()).agent(result(1))
    assert stop_reason(wire) == ENDED


def test_a_question_in_another_session_does_not_affect_this_turn() -> None:
    wire = asked(session_id="s2", sessions=("s", "s2")).client(cancel()).agent(result(1))
    assert stop_reason(wire) == ENDED


@pytest.mark.parametrize("left", [(), (LEFT,)], ids=["open", "left"])
@pytest.mark.parametrize(
    ("sessions", "told"), [(("s",), CANCELLED), (("s", "s2"), ENDED)], ids=["one", "two"]
)
def test_a_sub_agents_question_belongs_to_the_only_session_at_work(
    sessions: tuple[str, ...], told: dict[str, Any], left: tuple[dict[str, Any], ...]
) -> None:
    wire = asked(session_id="sub", sessions=sessions)
    for answer in left:
        wire.client(answer)
    wire.client(cancel()).agent(result(1))
    assert stop_reason(wire) == told


def test_either_of_two_prompts_in_a_session_may_be_answered_before_the_cancel() -> None:
    wire = asked().client(prompt(2), cancel()).agent(result(1))
    assert stop_reason(wire) == ENDED


@pytest.mark.parametrize("action", ["cancel", "decline"])
def test_a_cancelled_form_counts_as_a_cancelled_question(action: str) -> None:
    wire = asked().client(CHOSEN)
    wire.agent(request(10, "elicitation/create", sessionId="s", mode="form", message="Which?"))
    wire.client(reply(10, action=action), cancel()).agent(result(1))
    assert stop_reason(wire) == (CANCELLED if action == "cancel" else ENDED)


def idle(**members: Any) -> dict[str, Any]:
    return update(sessionUpdate="state_update", state="idle", **members)


@pytest.mark.parametrize("waits", [True, False])
def test_version_2_work_that_waited_for_the_user_is_cancelled_too(*, waits: bool) -> None:
    wire = second_version()
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t", status="paused"))
    if waits:
        wire.agent(update(sessionUpdate="state_update", state="requires_action"))
    wire.client(cancel()).agent(idle(**ENDED))
    last = wire.updates()[-1]
    assert last == {"sessionUpdate": "state_update", "state": "idle"} | (
        CANCELLED if waits else ENDED
    )
    assert [u["status"] for u in closed(wire)] == (["paused", "failed"] if waits else ["paused"])


def test_version_2_a_prompt_after_the_cancel_is_not_cancelled_with_it() -> None:
    wire = second_version().agent(update(sessionUpdate="state_update", state="requires_action"))
    wire.client(cancel(), prompt(2)).agent(idle(**ENDED))
    assert (wire.updates()[-1]["stopReason"], wire.answers(2)) == ("cancelled", [])
    wire.agent(reply(2, messageId="m2"))
    wire.agent(update(sessionUpdate="state_update", state="running"), chunk(), idle(**ENDED))
    assert wire.updates()[-1]["stopReason"] == "end_turn"


PERMISSION: dict[str, Any] = request(
    5, "session/request_permission", sessionId="s", toolCall={"toolCallId": "t"}, options=[]
)
ALLOWED = {"outcome": {"outcome": "selected", "optionId": "allow"}}


def _asked() -> Wire:
    return prompted().agent(chunk(), PERMISSION)


def test_an_answer_whose_id_changed_its_json_type_reaches_the_agent_under_the_original() -> None:
    wire = _asked().client({"jsonrpc": "2.0", "id": "5", "result": ALLOWED})
    answer = json.loads(wire.to_agent[-1])
    assert (answer["id"], answer["result"]) == (5, ALLOWED)


def test_a_repeated_answer_is_not_an_answer_to_the_same_id_as_text() -> None:
    wire = _asked().agent({**PERMISSION, "id": "5"})
    wire.client({"jsonrpc": "2.0", "id": 5, "result": ALLOWED})
    sent = len(wire.to_agent)
    wire.client({"jsonrpc": "2.0", "id": 5, "result": ALLOWED})
    assert len(wire.to_agent) == sent
    wire.client({"jsonrpc": "2.0", "id": "5", "result": ALLOWED})
    assert json.loads(wire.to_agent[-1])["id"] == "5"


def test_the_number_of_remembered_answered_requests_is_bounded() -> None:
    wire = _asked()
    link = wire.core.connection.link
    for number in range(2 * MAX_ANSWERED):
        request_id = 100 + number
        wire.client(request(request_id, "session/list")).agent(reply(request_id))
    assert len(link.answered_by_agent) == MAX_ANSWERED
    assert str(99 + 2 * MAX_ANSWERED).encode() in link.answered_by_agent


def test_an_approval_after_the_users_unanswered_cancel_is_dropped() -> None:
    wire = _asked().client(cancel()).time(11)
    withdrawn = json.loads(wire.to_client[-2])
    assert withdrawn["method"] == "$/cancel_request"
    assert withdrawn["params"] == {"requestId": 5}
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}
    refused = json.loads(wire.to_agent[-1])
    assert (refused["id"], refused["result"]) == (5, {"outcome": {"outcome": "cancelled"}})
    sent = len(wire.to_agent)
    wire.client({"jsonrpc": "2.0", "id": 5, "result": ALLOWED})
    assert (len(wire.to_agent), wire.drops[-1]) == (sent, "answer_to_dead_agent")
