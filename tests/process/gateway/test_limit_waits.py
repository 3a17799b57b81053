"""Limits of a provider and of spending, as each session meets them, whoever looks on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.agents import limited, prompts_in
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient, failure_of, is_life
from tests.kit.patience import FUSE_SECONDS
from tests.process.gateway.test_quality import seen

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve

GOES_ON = ("--continue-at-reset", "--continue-with", "Go on.")


def texts(path: Path) -> list[str]:
    """Return the texts of the prompts that reached the agent."""
    return [prompt["text"] for prompt in prompts_in(path / "prompts")]


class Waiting:
    """A session whose turn waits for the end of a limit, with a viewer of it."""

    def __init__(self, gateway: Gateway, viewer: ViewerClient) -> None:
        self.id = viewer.new(gateway.root)
        self.prompt = viewer.prompt(self.id)
        waits = is_life("limit_wait")
        life = viewer.find(lambda frame: waits(frame) and self.id in str(frame))
        self.until_epoch_ms = life["params"]["facts"]["until_epoch_ms"]


def view_of(gateway: Gateway, session: Waiting) -> dict[str, Any]:
    """Return a session as the API shows it."""
    view: dict[str, Any] = ApiClient(gateway).json(f"/v1/sessions/{session.id}")["session"]
    return view


def viewing(gateway: Gateway, **how: Any) -> ViewerClient:
    """A viewer that knows retries and positions."""
    return ViewerClient(gateway, capabilities=TYPED, replay=True, **how)


@pytest.mark.processes
def test_a_viewer_that_comes_during_the_wait_sees_its_end_and_may_cancel_it_in_any_process(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", *GOES_ON, command=limited(tmp_path / "prompts", 3600))
    with viewing(gateway) as viewer:
        later = Waiting(gateway, viewer)
        last = Waiting(gateway, viewer)
        session = Waiting(gateway, viewer)
        assert "a turn continues" in gateway.tell("status").stdout
        assert session.until_epoch_ms == view_of(gateway, session)["continues_at_epoch_ms"]
        with ViewerClient(gateway, capabilities=TYPED) as typed, ViewerClient(gateway) as stock:
            typed.load(session.id, gateway.root)
            stock.load(session.id, gateway.root)
            typed.find(lambda frame: "agent_retry" in str(frame))
            (retry,) = typed.updates("agent_retry")
            assert retry["error"]["reset_at_epoch_ms"] == session.until_epoch_ms
            stock.find(lambda frame: "The turn continues" in str(frame))
            typed.cancel(session.id)
        assert viewer.answer(session.prompt)["result"] == {"stopReason": "cancelled"}
        kinds = [event["kind"] for event in ApiClient(gateway).events(session.id)]
        assert kinds.count("limit_wait") == 1
    gateway.tell("stop")
    gateway.front.wait(FUSE_SECONDS)
    gateway.start()
    assert later.until_epoch_ms == view_of(gateway, later)["continues_at_epoch_ms"]
    assert gateway.tell("status").stdout.count("a turn continues") == 2
    with viewing(gateway) as viewer:
        viewer.load(later.id, gateway.root)
        viewer.find(is_life("restored"))
        viewer.cancel(later.id)
        viewer.find(lambda frame: frame.get("method") == "_lastword/ended")
        assert gateway.tell("status").stdout.count("a turn continues") == 1
        viewer.turn(later.id, "next")
    gateway.tell("stop", "--agents")
    gateway.front.wait(FUSE_SECONDS)
    gateway.start()
    assert view_of(gateway, last).get("continues_at_epoch_ms") is None
    assert view_of(gateway, last)["state"] == "ended"
    assert texts(tmp_path) == ["go", "go", "go", "next"]
    assert not list((gateway.state / "gateway" / "sessions").glob("*.wait"))


@pytest.mark.processes
def test_a_waiting_client_gets_its_answer_from_the_next_process_and_the_agent_one_prompt(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", *GOES_ON, command=limited(tmp_path / "prompts", 12))
    with viewing(gateway) as before:
        session = Waiting(gateway, before)
    gateway.crash()
    with viewing(gateway, known=before.known) as viewer:
        viewer.load(session.id, gateway.root)
        viewer.prompt(session.id, id_=session.prompt)
        assert viewer.answer(session.prompt)["result"] == {"stopReason": "end_turn"}
        viewer.turn(session.id, "next")
    assert texts(tmp_path) == ["go", "Go on.", "next"]


@pytest.mark.processes
def test_a_waiting_turn_fails_and_says_why_if_the_session_cannot_be_loaded_again(
    serve: Serve,
) -> None:
    limit = {"exception": "You've hit your usage limit. Try again in 5 hours 12 minutes."}
    script = {"turns": [[{"fail": limit}]], "sessions": "lost"}
    gateway = serve(script, "--continue-at-reset=12h")
    with viewing(gateway) as before:
        session = Waiting(gateway, before)
    gateway.crash()
    with viewing(gateway, known=before.known) as viewer:
        viewer.load(session.id, gateway.root)
        viewer.prompt(session.id, id_=session.prompt)
        answer = viewer.answer(session.prompt)
        assert not list((gateway.state / "gateway" / "sessions").glob("*.wait"))
        lost = viewer.turn(session.id)["error"]
    assert failure_of(answer)["reason"] == "not_continued"
    assert "waited for a limit" in answer["error"]["message"]
    assert lost["data"]["agent_error"]["reason"] == "context_lost"
    assert lost["data"]["details"].startswith(lost["message"] + " (")


def reason(answer: dict[str, Any]) -> str:
    """Why a turn failed."""
    failure = failure_of(answer)
    return f"{failure['type']} {failure['reason']} {failure['phase']}"


@pytest.mark.processes
def test_an_unattended_session_is_stopped_at_its_spend_limit_and_stays_so_when_it_is_restored(
    serve: Serve, tmp_path: Path
) -> None:
    cost = {"amount": 1, "currency": "USD"}
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": cost}
    turn = [{"say": "Some work."}, {"update": update}, {"silence": True}]
    script = tmp_path / "costly.json"
    script.write_text(json.dumps({"sessions": "load", "turns": [turn]}))
    gateway = serve("", "--spend-limit=1USD", command=agent("--file", str(script)))
    with viewing(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.prompt(session)
    seen(gateway, "it is stopped", lambda now: now("turns_total", outcome="failed") == 1)
    metrics = seen(gateway, "its cost", lambda now: now("cost_total", currency="USD") == 1)
    assert metrics("sessions", state="idle") == 1
    until("it is written down", lambda: "USD" in (gateway.state / "spending.json").read_text())
    gateway.crash()
    with viewing(gateway) as viewer:
        viewer.load(session, gateway.root)
        assert reason(viewer.turn(session)) == "budget spend_limit before_request"
        stopped = viewer.turn(viewer.new(gateway.root))
        assert reason(stopped) == "budget spend_limit mid_output"
