"""`lastword gateway --continue-at-reset`: a turn goes on when its limit ends, whoever looks on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.agents import prompts_in
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

GOES_ON = ("--continue-at-reset", "--continue-with", "Go on.")


@pytest.fixture
def limited(serve: Serve, tmp_path: Path) -> Callable[..., Gateway]:
    """Start a gateway before an agent whose sessions run into a limit."""

    def start(count: int, seconds: object, *words: str, options: tuple[str, ...] = GOES_ON) -> Any:
        agent = [sys.executable, "-m", "tests.kit.gateway.agents", "limited"]
        command = [*agent, str(tmp_path / "prompts"), str(count), str(seconds), *words]
        return serve("", *options, command=command)

    return start


def texts(path: Path) -> list[str]:
    """Return the texts of the prompts that reached the agent."""
    return [prompt["text"] for prompt in prompts_in(path / "prompts")]


class Waiting:
    """A session whose turn waits for the end of a limit, with a viewer of it."""

    def __init__(self, gateway: Gateway, viewer: ViewerClient) -> None:
        self.id = viewer.new(gateway.root)
        self.known = viewer.known
        self.prompt = viewer.prompt(self.id)
        life = viewer.find(lambda frame: word_of(frame) == "limit_wait")
        self.until_epoch_ms = life["params"]["facts"]["until_epoch_ms"]


def word_of(frame: dict[str, Any]) -> str | None:
    """Return what a frame says has happened to the session."""
    is_life = frame.get("method") == "_lastword/life"
    return frame["params"]["word"] if is_life else None


def viewing(gateway: Gateway, **how: Any) -> ViewerClient:
    """A viewer that knows retries and positions."""
    return ViewerClient(gateway, capabilities=TYPED, replay=True, **how)


def test_a_turn_continues_without_a_viewer(limited: Any, tmp_path: Path) -> None:
    gateway = limited(1, 3)
    with viewing(gateway) as viewer:
        session = Waiting(gateway, viewer)
    until("it has gone on", lambda: len(texts(tmp_path)) == 2)
    assert texts(tmp_path) == ["go", "Go on."]
    with viewing(gateway) as viewer:
        viewer.load(session.id, gateway.root)
        viewer.find(lambda frame: "Done." in str(frame))
        words = [word_of(frame) for frame in viewer.frames]
        assert words.index("limit_wait") < words.index("continued")


@pytest.mark.processes
def test_a_viewer_that_comes_during_the_wait_sees_its_end_and_may_cancel_it(
    limited: Any, tmp_path: Path
) -> None:
    gateway = limited(1, 3600)
    with viewing(gateway) as viewer:
        session = Waiting(gateway, viewer)
        assert "a turn continues" in gateway.tell("status").stdout
        view = ApiClient(gateway).json(f"/v1/sessions/{session.id}")["session"]
        assert view["continues_at_epoch_ms"] == session.until_epoch_ms
        with ViewerClient(gateway, capabilities=TYPED) as typed, ViewerClient(gateway) as stock:
            typed.load(session.id, gateway.root)
            stock.load(session.id, gateway.root)
            typed.find(lambda frame: "agent_retry" in str(frame))
            (retry,) = typed.updates("agent_retry")
            assert retry["error"]["reset_at_epoch_ms"] == session.until_epoch_ms
            stock.find(lambda frame: "The turn continues" in str(frame))
            typed.send({"method": "session/cancel", "params": {"sessionId": session.id}})
        assert viewer.answer(session.prompt)["result"] == {"stopReason": "cancelled"}
        assert "continues" not in gateway.tell("status").stdout
        kinds = [event["kind"] for event in ApiClient(gateway).events(session.id)]
        assert kinds.count("limit_wait") == 1
    assert texts(tmp_path) == ["go"]


@pytest.mark.processes
def test_a_wait_survives_all_processes_and_the_agent_gets_one_prompt(
    limited: Any, tmp_path: Path
) -> None:
    gateway = limited(1, 12, "silent")
    with viewing(gateway) as viewer:
        session = Waiting(gateway, viewer)
    gateway.crash()
    until("it has gone on", lambda: len(texts(tmp_path)) == 2)
    with viewing(gateway) as viewer:
        viewer.load(session.id, gateway.root)
        viewer.find(lambda frame: "Done." in str(frame))
        viewer.answer(viewer.prompt(session.id, "next"))
    assert texts(tmp_path) == ["go", "go", "next"]


@pytest.mark.processes
def test_a_waiting_client_gets_its_answer_from_the_next_process(
    limited: Any, tmp_path: Path
) -> None:
    gateway = limited(1, 12)
    with viewing(gateway) as viewer:
        session = Waiting(gateway, viewer)
    gateway.crash()
    with viewing(gateway, known=session.known) as viewer:
        viewer.load(session.id, gateway.root)
        again = {"sessionId": session.id, "prompt": [{"type": "text", "text": "go"}]}
        viewer.request("session/prompt", again, id_=session.prompt)
        assert viewer.answer(session.prompt)["result"] == {"stopReason": "end_turn"}
    assert texts(tmp_path) == ["go", "Go on."]


@pytest.mark.processes
def test_a_cancel_in_the_next_process_ends_the_wait(limited: Any, tmp_path: Path) -> None:
    gateway = limited(1, 3600)
    with viewing(gateway) as viewer:
        session = Waiting(gateway, viewer)
    gateway.crash()
    with viewing(gateway) as viewer:
        viewer.load(session.id, gateway.root)
        viewer.find(lambda frame: word_of(frame) == "restored")
        viewer.send({"method": "session/cancel", "params": {"sessionId": session.id}})
        viewer.find(lambda frame: frame.get("method") == "_lastword/ended")
        viewer.answer(viewer.prompt(session.id, "next"))
    assert texts(tmp_path) == ["go", "next"]
    assert not list((gateway.state / "gateway" / "sessions").glob("*.wait"))


def test_a_turn_fails_at_once_without_the_option_to_wait(limited: Any) -> None:
    gateway = limited(1, 3600, options=())
    with viewing(gateway) as viewer:
        answer = viewer.answer(viewer.prompt(viewer.new(gateway.root)))
        assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"
