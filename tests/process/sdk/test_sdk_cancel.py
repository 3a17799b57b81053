"""Cancelling: the agent that lets it pass, the one that swallows it, the one that was asking."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.patience import patient

if TYPE_CHECKING:
    from tests.process.sdk.conftest import Start

GRACE_SECONDS = 0.5
GRACE = {"LASTWORD_CANCEL_GRACE": str(GRACE_SECONDS)}


@pytest.mark.parametrize(
    ("kind", "own"), [("plain", {}), ("with_cancel", {"_meta": {"by": "agent"}})]
)
def test_a_cancelled_turn_ends_as_cancelled_and_its_session_goes_on(
    start: Start, kind: str, own: dict[str, object]
) -> None:
    agent = start(kind).opened()
    prompt = agent.prompt("wait")
    agent.expect_words("waiting")
    agent.cancel()
    # An agent with a `cancel` of its own has the first word.
    assert agent.answer(prompt)["result"] == {"stopReason": "cancelled"} | own
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_handler_that_waits_for_nothing_but_its_updates_can_be_cancelled(start: Start) -> None:
    agent = start().opened().open_session("s2")
    prompt = agent.prompt("block 1000")
    agent.expect_words("word 0 ")
    # Another session is served meanwhile.
    assert agent.take("hello", "s2")["result"] == {"stopReason": "end_turn"}
    assert not agent.answers(prompt)
    agent.cancel()
    assert agent.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_swallowed_cancel_is_answered_for_and_what_comes_late_is_dropped(start: Start) -> None:
    agent = start(**GRACE).opened()
    prompt = agent.prompt("swallow")
    agent.expect_words("waiting")
    started = time.monotonic()
    agent.cancel()
    assert agent.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert GRACE_SECONDS <= time.monotonic() - started < patient(GRACE_SECONDS + 5)
    agent.expect_line("the handler did not stop when it was cancelled")
    agent.notify("_go")
    agent.roundtrip()
    # Its handler has returned: the session is itself again.
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    texts = [update["content"]["text"] for update in agent.updates("agent_message_chunk")]
    assert texts == ["waiting", "hello"]
    assert len(agent.answers(prompt)) == 1


def test_a_prompt_to_a_session_whose_handler_will_not_stop_is_answered_typed(
    start: Start,
) -> None:
    agent = start(**GRACE).opened()
    first = agent.prompt("swallow")
    agent.expect_words("waiting")
    agent.cancel()
    agent.answer(first)
    error = agent.take("hello")["error"]
    assert error["data"]["agent_error"]["reason"] == "busy_with_ended_turn"
    agent.expect_line("the handler of an earlier turn has swallowed its cancellation")
    agent.notify("_go")
    agent.roundtrip()
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0


def test_a_question_is_withdrawn_when_its_turn_is_cancelled(start: Start) -> None:
    agent = start().opened()
    prompt = agent.prompt("ask")
    question = agent.expect(lambda f: f.get("method") == "session/request_permission")
    agent.cancel()
    # What the protocol asks of a client that cancels: it answers its open questions so.
    agent.send(id=question["id"], result={"outcome": {"outcome": "cancelled"}})
    assert agent.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_question_that_the_client_leaves_open_does_not_hold_up_the_cancel(start: Start) -> None:
    agent = start().opened()
    prompt = agent.prompt("ask")
    agent.expect(lambda f: f.get("method") == "session/request_permission")
    agent.cancel()
    assert agent.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert agent.take("hello")["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
    assert agent.told == []


def test_a_cancel_of_one_session_leaves_the_other_alone(start: Start) -> None:
    agent = start().opened().open_session("s2")
    kept = agent.prompt("wait", "s1")
    cancelled = agent.prompt("ask", "s2")
    agent.expect(lambda f: f.get("method") == "session/request_permission")
    agent.cancel("s2")
    assert agent.answer(cancelled)["result"] == {"stopReason": "cancelled"}
    agent.notify("_go")
    assert agent.answer(kept)["result"] == {"stopReason": "end_turn"}
    assert agent.end() == 0
