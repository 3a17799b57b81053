"""What a viewer says again over another link, and a clock that is set back meanwhile."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.editor import counting
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

BACK_BY_SECONDS = 86_400


def _is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def _sessions(gateway: Gateway) -> list[str]:
    return [each["sessionId"] for one in gateway.holders() for each in one["sessions"]]


@pytest.mark.processes
def test_a_new_session_whose_answer_was_lost_is_answered_again_without_a_duplicate(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    opening = {"cwd": str(gateway.root), "mcpServers": []}
    before = ViewerClient(gateway, replay=True)
    request = before.request("session/new", opening)
    before.cut()
    gateway.reload()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        after.request("session/new", opening, id_=request)
        session = after.answer(request)["result"]["sessionId"]
        assert _sessions(gateway) == [session]
        assert after.answer(after.prompt(session))["result"]["stopReason"] == "end_turn"
        again = after.request("session/new", opening)
        assert after.answer(again)["result"]["sessionId"] != session
        assert len(_sessions(gateway)) == 2
    with ViewerClient(gateway, replay=True, known=before.known) as later:
        later.request("session/new", opening, id_=request)
        assert later.answer(request)["result"]["sessionId"] == session
        later.find(lambda frame: "agent_message_chunk" in str(frame))


def test_a_client_that_uses_one_id_for_all_is_answered_each_time(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        sessions = []
        for method in ("session/new", "session/new", "session/prompt", "session/prompt"):
            params: dict[str, Any] = {"cwd": str(gateway.root), "mcpServers": []}
            if method == "session/prompt":
                blocks = [{"type": "text", "text": "go"}]
                params = {"sessionId": sessions[0], "prompt": blocks}
            viewer.frames.clear()
            viewer.request(method, params, id_=1)
            result = viewer.answer(1)["result"]
            sessions += [result["sessionId"]] if "sessionId" in result else []
        assert len(set(sessions)) == 2


def test_a_request_is_cancelled_over_another_link_than_it_was_sent(serve: Serve) -> None:
    gateway = serve("", command=counting(os.devnull))
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    prompt = before.prompt(session, "2 1")
    before.answer(prompt)
    prompt = before.prompt(session, "4000 50")
    before.find(lambda frame: "2.3" in str(frame))
    before.cut()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        after.load(session, gateway.root)
        after.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
        blocks = [{"type": "text", "text": "4000 50"}]
        params = {"sessionId": session, "prompt": blocks}
        after.request("session/prompt", params, id_=prompt)
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"


def test_a_clock_set_back_in_mid_turn_loses_nothing_and_delays_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = serve("", command=counting(os.devnull))
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    prompt = before.prompt(session, "60 20 ask")
    before.find(lambda frame: "1.5" in str(frame))
    for _ in range(9):
        with pytest.raises(Exception, match="401"):
            ViewerClient(gateway, token="wrong")
    real, real_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: real() - BACK_BY_SECONDS)
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() - BACK_BY_SECONDS * 10**9)
    asked = before.question()
    chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    before.send({"id": asked["id"], "result": chosen})
    assert before.answer(prompt)["result"]["stopReason"] == "end_turn"
    epoch = next(
        frame["result"]["_meta"]["lastword"]["epoch"]
        for frame in before.frames
        if "sessionId" in frame.get("result", {})
    )
    before.cut()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        place = after.load(session, gateway.root)["_meta"]["lastword"]
        assert place["epoch"] == epoch
        words = "".join(
            each["content"]["text"] for each in after.updates("agent_message_chunk")
        ).split()
        expected = [f"1.{number}" for number in range(60)]
        expected.insert(31, "1.answer=True")
        assert words == expected
        assert after.seqs() == sorted(after.seqs())
