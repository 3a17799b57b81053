"""How a handler is cancelled by the user: the one that lets it pass, swallows it, was asking."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kit.client import Frame
    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Start

GRACE_SECONDS = 0.5
GRACE = {"LASTWORD_CANCEL_GRACE": str(GRACE_SECONDS)}
CANCELLED = {"stopReason": "cancelled"}
END_TURN = {"stopReason": "end_turn"}
CANCELLED_PERMISSION: Frame = {"outcome": {"outcome": "cancelled"}}


def test_a_cancelled_turn_stops_its_handler_and_its_session_continues(client: DoorClient) -> None:
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    client.expect_line("wait is over")
    # In the same breath as its prompt.
    prompt = client.prompt("wait")
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    assert client.goes_on()
    assert client.settled() == []
    assert "own cancel" not in client.said


def test_an_authors_own_cancel_takes_precedence_and_delays_nothing(start: Start) -> None:
    for how, answer in (("end", CANCELLED | {"_meta": {"by": "agent"}}), ("never", CANCELLED)):
        client = start(f"cancel={how}").opened()
        prompt = client.prompt("wait")
        client.expect_text("waiting")
        client.cancel()
        assert client.answer(prompt)["result"] == answer
        if how == "end":
            assert client.serves_on()
            assert "own cancel" in client.said


def test_a_single_request_is_cancelled_by_its_id(client: DoorClient) -> None:
    waiting = client.request("_wait")
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.send(method="$/cancel_request", params={"requestId": prompt})
    assert client.answer(prompt)["result"] == CANCELLED
    assert "did not stop" not in client.said
    client.go_on()
    assert client.answer(waiting)["result"] == {"echo": {}}


def test_a_handler_that_waits_for_nothing_but_its_updates_can_be_cancelled(
    client: DoorClient,
) -> None:
    client.open_session("s2")
    prompt = client.prompt("block 1000")
    client.expect_text("word 0 ")
    # Another session is served meanwhile.
    assert client.take("say", "s2")["result"] == END_TURN
    assert not client.answers(prompt)
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    assert client.settled() == []


def test_a_swallowed_cancel_is_answered_and_late_output_is_dropped(start: Start) -> None:
    client = start(**GRACE).opened()
    prompt = client.prompt("swallow")
    client.expect_text("waiting")
    started = time.monotonic()
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    assert time.monotonic() - started >= GRACE_SECONDS
    client.expect_line("the handler did not stop when it was cancelled")
    # Until it stops, its session is answered typed.
    assert client.turn("say").error["reason"] == "busy_with_ended_turn"
    client.expect_line("the handler of an earlier turn is still running")
    client.go_on()
    client.expect_line("was sent after the answer to its own session/prompt, and is dropped")
    client.roundtrip()
    assert client.serves_on()
    assert client.texts == ["waiting", "Hello."]
    assert len(client.answers(prompt)) == 1


def test_an_open_question_does_not_delay_the_cancel_and_its_late_answer_is_ignored(
    client: DoorClient,
) -> None:
    client.open_session("s2")
    kept = client.prompt("wait", "s2")
    for late in (False, True):
        since = len(client.frames)
        prompt = client.prompt("ask")
        question = client.expect_method("session/request_permission", since=since)
        client.cancel()
        if not late:
            # What the protocol asks of a client that cancels: it answers its open questions so.
            client.send(id=question["id"], result=CANCELLED_PERMISSION)
        assert client.answer(prompt)["result"] == CANCELLED
        if late:
            client.send(id=question["id"], result=CANCELLED_PERMISSION)
            client.send(id="nobody's", result="to nobody")
    assert client.goes_on()
    # The other session was left alone.
    client.go_on()
    assert client.answer(kept)["result"] == END_TURN
    assert client.settled() == []
