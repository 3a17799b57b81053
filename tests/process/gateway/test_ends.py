"""Processes of a gateway that end: no turn is lost with one, and nothing comes twice."""

from __future__ import annotations

import os
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.editor import counting
from tests.kit.gateway.serving import agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

WORDS = 40
TALKS: dict[str, Any] = {
    "turns": [
        [step for number in range(WORDS) for step in ({"say": f"<{number}>"}, {"wait": 0.05})]
        + [{"result": "end_turn"}]
    ],
    "sessions": "resume",
}
HANGS: dict[str, Any] = {
    "turns": [[{"say": "One."}, {"hang": True}], [{"say": "Back."}, {"result": "end_turn"}]],
    "sessions": "resume",
}
GO = {"prompt": [{"type": "text", "text": "go"}]}


def said(viewer: ViewerClient) -> list[str]:
    return [update["content"]["text"] for update in viewer.updates("agent_message_chunk")]


def cursor(viewer: ViewerClient, epoch: str) -> dict[str, Any]:
    return {"_meta": {"lastword": {"after": {"epoch": epoch, "seq": viewer.seqs()[-1]}}}}


def place_of(viewer: ViewerClient) -> str:
    found = next(frame for frame in viewer.frames if "epoch" in str(frame.get("result")))
    epoch: str = found["result"]["_meta"]["lastword"]["epoch"]
    return epoch


@pytest.mark.parametrize("log_kind", ["late"])
@pytest.mark.processes
def test_a_gateway_replaced_in_mid_turn_loses_and_duplicates_nothing(
    serve: Serve,
) -> None:
    gateway = serve(TALKS)
    before = ViewerClient(gateway, capabilities=TYPED, replay=True)
    session = before.new(gateway.root)
    epoch = place_of(before)
    prompt = before.prompt(session)
    before.find(lambda frame: "<5>" in str(frame))
    gateway.reload()
    assert before.closed()[0] == 1012
    with ViewerClient(gateway, capabilities=TYPED, replay=True, known=before.known) as after:
        place = after.load(session, gateway.root, **cursor(before, epoch))["_meta"]["lastword"]
        assert place["epoch"] == epoch
        assert "reset" not in place
        after.request("session/prompt", {"sessionId": session} | GO, id_=prompt)
        assert after.answer(prompt)["result"]["stopReason"] == "end_turn"
        assert said(before) + said(after) == [f"<{number}>" for number in range(WORDS)]
        seqs = before.seqs() + after.seqs()
        assert seqs == sorted(
            seqs
        )  # a position may be told again, by a frame that says nothing else


def test_a_stock_viewer_is_shown_the_turn_that_continued_without_it(serve: Serve) -> None:
    gateway = serve(TALKS)
    before = ViewerClient(gateway)
    session = before.new(gateway.root)
    before.prompt(session)
    before.find(lambda frame: "<2>" in str(frame))
    before.cut()
    until("the turn ends", lambda: not gateway.holders()[0]["sessions"][0]["turn"])
    with ViewerClient(gateway) as after:
        after.load(session, gateway.root)
        assert "".join(said(after)) == "".join(f"<{number}>" for number in range(WORDS))
        assert [each["content"]["text"] for each in after.updates("user_message_chunk")] == ["go"]


@pytest.mark.parametrize("log_kind", ["disk", "late"])
@pytest.mark.processes
def test_a_gateway_killed_in_mid_turn_ends_it_typed_and_the_session_is_restored(
    serve: Serve,
) -> None:
    gateway = serve(HANGS)
    before = ViewerClient(gateway, capabilities=TYPED, replay=True)
    session = before.new(gateway.root)
    epoch = place_of(before)
    prompt = before.prompt(session)
    before.find(lambda frame: "One." in str(frame))
    gateway.crash()
    assert before.closed()[0] == 1006
    with ViewerClient(gateway, capabilities=TYPED, replay=True, known=before.known) as after:
        place = after.load(session, gateway.root, **cursor(before, epoch))["_meta"]["lastword"]
        assert place["epoch"] == epoch
        after.request("session/prompt", {"sessionId": session} | GO, id_=prompt)
        answer = after.answer(prompt)
        assert answer["error"]["data"]["agent_error"]["type"] == "agent_crash"
        assert said(before) + said(after) == ["One."]
        assert after.find(lambda frame: "restored" in str(frame))
        second = after.prompt(session)
        after.find(lambda frame: "One." in str(frame))
        assert second != prompt
    held = [each["sessionId"] for holder in gateway.holders() for each in holder["sessions"]]
    assert held == [session]


@pytest.mark.processes
def test_stopping_the_gateway_ends_the_turn_and_the_next_one_restores_the_session(
    serve: Serve,
) -> None:
    gateway = serve(HANGS)
    before = ViewerClient(gateway, capabilities=TYPED, replay=True)
    session = before.new(gateway.root)
    prompt = before.prompt(session)
    before.find(lambda frame: "One." in str(frame))
    assert gateway.tell("stop").returncode == 0
    assert before.closed()[0] == 1001
    gateway.front.wait(FUSE_SECONDS)
    assert gateway.front.returncode == 0
    assert gateway.tell("stop").returncode == 1
    gateway.start()
    with ViewerClient(gateway, capabilities=TYPED, replay=True, known=before.known) as after:
        after.load(session, gateway.root)
        after.request("session/prompt", {"sessionId": session} | GO, id_=prompt)
        assert "The agent was stopped" in after.answer(prompt)["error"]["message"]
        after.find(lambda frame: "restored" in str(frame))


@pytest.mark.processes
def test_a_reload_during_connects_refuses_none_and_closes_viewers_as_restarting(
    serve: Serve,
) -> None:
    gateway = serve(TALKS)
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    before.prompt(session)
    before.find(lambda frame: "<0>" in str(frame))
    over = threading.Event()
    refused: list[OSError] = []
    answered: list[int] = []

    def connect() -> None:
        while not over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", gateway.port), FUSE_SECONDS) as made:
                    made.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    answered.append(len(made.recv(64)))
            except OSError as error:
                refused.append(error)

    hammering = threading.Thread(target=connect)
    hammering.start()
    try:
        assert gateway.tell("reload").returncode == 0
        assert before.closed() == (1012, "gateway_restarts")
        pid = gateway.front.pid
        until("the front is back", lambda: gateway.stderr().count("serving at") == 2)
        with ViewerClient(gateway) as after:
            after.load(session, gateway.root)
            after.find(lambda frame: f"<{WORDS - 1}>" in str(frame))
        until("many are answered", lambda: len(answered) > 10)
    finally:
        over.set()
        hammering.join(FUSE_SECONDS)
    assert not [error for error in refused if isinstance(error, ConnectionRefusedError)]
    assert gateway.front.poll() is None
    assert gateway.front.pid == pid


@pytest.mark.processes
def test_a_question_of_an_agent_that_was_started_again_is_answered_after_a_reload(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", command=counting(str(tmp_path / "prompts")))
    before = ViewerClient(gateway, capabilities=TYPED, replay=True)
    session = before.new(gateway.root)
    prompt = before.prompt(session, "4000 50")
    before.find(lambda frame: "1.1" in str(frame))
    (pid,) = [each["agent_pid"] for each in gateway.holders() if each["sessions"]]
    os.kill(pid, signal.SIGKILL)
    assert "error" in before.answer(prompt)
    prompt = before.prompt(session, "4 1 ask")
    before.question()
    gateway.reload()
    with ViewerClient(gateway, capabilities=TYPED, replay=True, known=before.known) as after:
        after.load(session, gateway.root)
        after.allow(after.question())
        after.request("session/prompt", {"sessionId": session} | GO, id_=prompt)
        assert after.answer(prompt)["result"]["stopReason"] == "end_turn"


def test_a_crashed_agent_ends_the_turn_typed_and_is_started_again(serve: Serve) -> None:
    gateway = serve({"turns": [[{"say": "One."}, {"kill": "SIGKILL"}]], "sessions": "resume"})
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
        answer = viewer.answer(viewer.prompt(session))
        assert answer["error"]["data"]["agent_error"]["type"] == "agent_crash"
        answer = viewer.answer(viewer.prompt(session, "Please: /scenario healthy"))
        assert answer["result"]["stopReason"] == "end_turn"


@pytest.mark.processes
def test_a_gateway_with_another_agent_does_not_use_the_former_ones_spare(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway):
        pass
    assert len(gateway.holders()) == 1
    gateway.kill()
    gateway.command = agent("rate_limit")
    gateway.start()
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        assert "error" in viewer.answer(viewer.prompt(session))
