"""Answers of the client's that come late, or under an id that reads like another."""

from __future__ import annotations

import json
from typing import Any

from lastword.core.link.state import MAX_ANSWERED
from tests.kit.wire import Wire, cancel, chunk, prompted

PERMISSION: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 5,
    "method": "session/request_permission",
    "params": {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []},
}
ALLOWED = {"outcome": {"outcome": "selected", "optionId": "allow"}}


def _asked() -> Wire:
    return prompted().agent(chunk(), PERMISSION)


def test_what_the_user_allows_after_their_cancel_went_unanswered_reaches_nobody() -> None:
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


def test_an_answer_whose_id_has_another_json_type_reaches_the_agent_under_its_own() -> None:
    wire = _asked().client({"jsonrpc": "2.0", "id": "5", "result": ALLOWED})
    answer = json.loads(wire.to_agent[-1])
    assert (answer["id"], answer["result"]) == (5, ALLOWED)


def test_a_message_without_an_id_is_not_answered_under_one_deeper_down() -> None:
    wire = _asked().client(b'{"jsonrpc":"2.0","params":{"id":1}}')
    assert (wire.answers(1), len(wire.answers(None))) == ([], 1)


def test_an_answer_that_comes_again_is_no_answer_to_the_text_of_its_number() -> None:
    wire = _asked().agent({**PERMISSION, "id": "5"})
    wire.client({"jsonrpc": "2.0", "id": 5, "result": ALLOWED})
    sent = len(wire.to_agent)
    wire.client({"jsonrpc": "2.0", "id": 5, "result": ALLOWED})
    assert len(wire.to_agent) == sent
    wire.client({"jsonrpc": "2.0", "id": "5", "result": ALLOWED})
    assert json.loads(wire.to_agent[-1])["id"] == "5"


def test_only_so_many_answered_requests_are_remembered() -> None:
    wire = _asked()
    link = wire.core.connection.link
    for number in range(2 * MAX_ANSWERED):
        request_id = 100 + number
        wire.client({"jsonrpc": "2.0", "id": request_id, "method": "session/list", "params": {}})
        wire.agent({"jsonrpc": "2.0", "id": request_id, "result": {}})
    assert len(link.answered_by_agent) == MAX_ANSWERED
    assert str(99 + 2 * MAX_ANSWERED).encode() in link.answered_by_agent
