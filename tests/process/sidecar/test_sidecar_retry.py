"""`lastword run --retry`: what the user sees of a failure that passes, and of one that lasts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import RETRY, update_of
from tests.process.sidecar.failing_turn import failure_of, is_healthy, quick

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

AGENT = [sys.executable, "-m", "lastword", "agent"]
BARE = [*AGENT, "--bare"]


@pytest.mark.parametrize("agent", [AGENT, BARE], ids=["typed", "bare"])
def test_a_failure_that_passes_is_an_answer_after_two_waits(start: Start, agent: list[str]) -> None:
    client = start.command([*agent, "third_time_lucky"], options=["--retry", "2"])
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.kinds == ["agent_retry", "agent_retry", "agent_message_chunk"]
    assert [told["attempt"] for told in turn.of_kind("agent_retry")] == [2, 3]
    assert turn.text == "The provider is back."
    assert client.end() == 0


def test_a_client_that_asked_for_nothing_sees_the_answer_alone(start: Start) -> None:
    client = start.command([*BARE, "third_time_lucky"], options=["--retry=2"])
    client.open()
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert not {"agent_retry", "agent_error", "notice"} & set(turn.kinds)
    assert turn.text == "The provider is back."


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
    answer = client.answer(prompt)
    assert answer["result"] == {"stopReason": "cancelled"}
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}


def test_a_wait_over_the_limit_is_no_wait(start: Start) -> None:
    options = ["--retry", "2", "--retry-wait-limit", "5"]
    client = start.command([*BARE, "healthy"], options=options)
    client.open()
    turn = client.turn("/scenario rate_limit")
    assert failure_of(turn)["retry_after_seconds"] == 20
    assert turn.seconds < quick()


def test_an_agent_that_dies_at_once_is_started_again_and_gets_the_prompt_once_more(
    start: Start,
) -> None:
    client = start.command([*AGENT, "restarted_by_load"], options=["--retry", "1"])
    client.open()
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == "Here is the answer."


def test_an_agent_that_dies_during_the_wait_is_started_again_for_the_prompt(
    start: Start, tmp_path: Path
) -> None:
    slow = {"http": 429, "message": "Too Many Requests", "headers": {"retry-after": "1"}}
    script = tmp_path / "dies_after_its_answer.json"
    script.write_text(json.dumps({"turns": [[{"fail": slow}, {"kill": "SIGKILL"}]]}))
    client = start.command([*BARE, str(script)], options=["--retry", "1"])
    client.open(**RETRY)
    turn = client.turn("hello")
    # It does the same in its second life, in which the session was brought back.
    assert turn.kinds == ["agent_retry", "agent_error"]
    assert (turn.error["type"], turn.error["attempts"]) == ("rate_limit", 2)
    client.expect_stderr("starting the agent again")


def test_the_record_has_the_retries_with_their_waits(start: Start, tmp_path: Path) -> None:
    options = ["--retry", "2", "--record", str(tmp_path)]
    client = start.command([*BARE, "third_time_lucky"], options=options)
    client.open()
    assert client.turn("hello").answer["result"]
    assert client.end() == 0
    command = [sys.executable, "-m", "lastword", "log", "--json", "--record", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    (session,) = json.loads(done.stdout)["sessions"]
    (turn,) = session["turns"]
    assert (turn["outcome"], turn["retries"]) == ("ok", 2)
    assert len(turn["retry_wait_seconds"]) == 2
