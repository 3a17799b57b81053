"""`lastword run --retry`: what the user sees of a failure that passes, and of one that lasts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.kit.client import RETRY, update_of
from tests.kit.recording import lastword
from tests.process.sidecar.failing_turn import failure_of, is_healthy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

AGENT = [sys.executable, "-m", "lastword", "agent"]
BARE = [*AGENT, "--bare"]


def test_a_failure_that_passes_is_an_answer_after_two_waits(start: Start, tmp_path: Path) -> None:
    options = ["--retry", "2", "--record", str(tmp_path)]
    client = start.command([*BARE, "third_time_lucky"], options=options)
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.kinds == ["agent_retry", "agent_retry", "agent_message_chunk"]
    assert [told["attempt"] for told in turn.of_kind("agent_retry")] == [2, 3]
    assert turn.text == "The provider is back."
    assert client.end() == 0
    shown = json.loads(lastword("log", "--json", "--record", str(tmp_path)).stdout)
    ((recorded,),) = [session["turns"] for session in shown["sessions"]]
    assert (recorded["outcome"], recorded["retries"]) == ("ok", 2)
    assert len(recorded["retry_wait_seconds"]) == 2


def test_a_failure_that_lasts_says_how_often_it_was_tried(start: Start) -> None:
    client = start.command([*BARE, "third_time_lucky"], environment={"LASTWORD_RETRY": "1"})
    client.open()
    payload = failure_of(client.turn("hello"))
    assert payload["type"] == "provider_unavailable"
    assert payload["attempts"] == 2
    assert len(payload["detail"]["attempts"]) == 2
    # The user tries for a third time.
    assert is_healthy(client.turn("hello"))


def test_nothing_is_tried_again_unless_asked_for(start: Start) -> None:
    client = start.command([*BARE, "third_time_lucky"])
    client.open()
    payload = failure_of(client.turn("hello"))
    assert payload["retry_safety"] == "auto"
    assert "attempts" not in payload


def test_the_users_cancel_ends_the_wait_at_once_and_the_session_goes_on(start: Start) -> None:
    client = start.command([*BARE, "healthy"], options=["--retry", "2"])
    client.open(**RETRY)
    prompt = client.prompt("/scenario rate_limit")
    told = client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "agent_retry")
    assert update_of(told)["wait_seconds"] >= 20
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}


def test_an_agent_that_dies_at_once_is_started_again_and_gets_the_prompt_once_more(
    start: Start,
) -> None:
    client = start.command([*AGENT, "restarted_by_load"], options=["--retry", "1"])
    client.open()
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == "Here is the answer."
