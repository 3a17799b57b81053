"""What a viewer says again over another link, and a clock that is set back meanwhile."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.gateway.editor import counting
from tests.kit.gateway.viewing import ViewerClient, has_ended_well

if TYPE_CHECKING:
    from tests.kit.gateway.serving import Gateway, Serve

BACK_BY_SECONDS = 86_400


@pytest.mark.processes
def test_a_new_session_whose_answer_was_lost_is_answered_again_without_a_duplicate(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    before = ViewerClient(gateway, replay=True)
    request = before.request("session/new", gateway.opening())
    before.cut()
    gateway.reload()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        after.request("session/new", gateway.opening(), id_=request)
        session = after.answer(request)["result"]["sessionId"]
        assert [each["sessionId"] for each in gateway.sessions()] == [session]
        assert has_ended_well(after.turn(session))
        assert after.new(gateway.root) != session
        assert len(gateway.sessions()) == 2
    with ViewerClient(gateway, replay=True, known=before.known) as later:
        later.request("session/new", gateway.opening(), id_=request)
        assert later.answer(request)["result"]["sessionId"] == session
        later.find(lambda frame: "agent_message_chunk" in str(frame))


def test_a_client_that_uses_one_id_for_all_is_answered_each_time(healthy: Gateway) -> None:
    with ViewerClient(healthy) as viewer:
        sessions = []
        for _ in range(2):
            viewer.frames.clear()
            viewer.request("session/new", healthy.opening(), id_=1)
            sessions.append(viewer.answer(1)["result"]["sessionId"])
        assert len(set(sessions)) == 2
        for _ in range(2):
            viewer.frames.clear()
            assert has_ended_well(viewer.answer(viewer.prompt(sessions[0], id_=1)))


def test_a_request_is_cancelled_over_another_link_than_it_was_sent(serve: Serve) -> None:
    gateway = serve("", command=counting(os.devnull))
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    before.turn(session, "2 1")
    prompt = before.prompt(session, "4000 50")
    before.find(lambda frame: "2.3" in str(frame))
    before.cut()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        after.load(session, gateway.root)
        after.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
        after.prompt(session, "4000 50", id_=prompt)
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"


def test_a_clock_set_back_in_mid_turn_loses_nothing_and_delays_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = serve("", command=counting(os.devnull))
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    epoch = gateway.session(session)["epoch"]
    prompt = before.prompt(session, "60 20 ask")
    before.find(lambda frame: "1.5" in str(frame))
    real, real_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: real() - BACK_BY_SECONDS)
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() - BACK_BY_SECONDS * 10**9)
    before.allow(before.question())
    assert has_ended_well(before.answer(prompt))
    before.cut()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        assert after.load(session, gateway.root)["_meta"]["lastword"]["epoch"] == epoch
        expected = [f"1.{number}" for number in range(60)]
        expected.insert(31, "1.answer=True")
        assert "".join(after.said).split() == expected
        assert after.seqs() == sorted(after.seqs())
