"""`lastword run --continue-at-reset`: a turn goes on by itself when its limit ends."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import RETRY, update_of
from tests.kit.gateway.limited_agent import prompts_in
from tests.kit.patience import patient
from tests.process.sidecar.failing_turn import failure_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

AGENT = [sys.executable, "-m", "lastword", "agent", "--bare"]
GOES_ON = ["--continue-at-reset"]


def limited(seconds: int) -> dict[str, Any]:
    """A call that fails of a limit which ends after so long."""
    return {"fail": {"http": 429, "message": f"Rate limited: try again in {seconds}s"}}


def agent(folder: Path, *turns: list[dict[str, Any]]) -> list[str]:
    """The command of an agent whose prompts go like this, one after the other."""
    script = folder / "limits.json"
    script.write_text(json.dumps({"turns": turns}))
    return [*AGENT, "--file", str(script)]


def test_a_turn_that_had_begun_goes_on_when_the_limit_ends_twice(
    start: Start, tmp_path: Path
) -> None:
    command = agent(
        tmp_path,
        [{"say": "The first part. "}, limited(3)],
        [{"say": "The second part. "}, limited(2)],
        [{"say": "The last part."}, {"result": "end_turn"}],
    )
    client = start.command(command, options=GOES_ON)
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text == "The first part. The second part. The last part."
    waits = [update["wait_seconds"] for update in turn.of_kind("agent_retry")]
    assert 3 <= waits[0] <= 4
    assert 10 <= waits[1] <= 11, "an earlier wait makes the next one longer"
    assert client.end() == 0


def test_a_prompt_that_had_shown_nothing_is_sent_again(start: Start, tmp_path: Path) -> None:
    goes_well = [{"say": "Done."}, {"result": "end_turn"}]
    client = start.command(agent(tmp_path, [limited(3)], goes_well), options=GOES_ON)
    client.open()
    turn = client.turn("hello")
    assert (turn.text, turn.answer["result"]) == ("Done.", {"stopReason": "end_turn"})


def test_a_cancel_ends_the_wait_and_the_session_goes_on(start: Start, tmp_path: Path) -> None:
    goes_well = [{"say": "Done."}, {"result": "end_turn"}]
    command = agent(tmp_path, [{"say": "Half."}, limited(600)], goes_well)
    client = start.command(command, options=GOES_ON)
    client.open(**RETRY)
    prompt = client.prompt("hello")
    client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "agent_retry")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert client.turn("again").text == "Done."


@pytest.mark.parametrize("options", [[], ["--continue-at-reset=5s"]], ids=["off", "too short"])
def test_without_the_option_or_beyond_its_time_the_turn_fails_at_once(
    start: Start, tmp_path: Path, options: list[str]
) -> None:
    client = start.command(agent(tmp_path, [{"say": "Half."}, limited(600)]), options=options)
    client.open()
    assert failure_of(client.turn("hello"))["type"] == "rate_limit"


def test_a_tool_that_had_begun_is_closed_and_the_turn_goes_on_with_a_new_prompt(
    start: Start, tmp_path: Path
) -> None:
    begins = [{"tool": {"title": "Build", "kind": "execute"}}, limited(2)]
    command = agent(tmp_path, begins, [{"say": "Built."}, {"result": "end_turn"}])
    client = start.command(command, options=GOES_ON)
    client.open(**RETRY)
    turn = client.turn("hello")
    assert (turn.text, turn.answer["result"]) == ("Built.", {"stopReason": "end_turn"})
    assert [update["status"] for update in turn.of_kind("tool_call_update")] == ["failed"]


def test_of_a_limit_without_an_end_the_turn_fails_at_once(start: Start, tmp_path: Path) -> None:
    fails = {"fail": {"http": 429, "message": "Rate limited"}}
    client = start.command(agent(tmp_path, [{"say": "Half."}, fails]), options=GOES_ON)
    client.open()
    assert failure_of(client.turn("hello"))["type"] == "rate_limit"


@pytest.mark.parametrize("count", [5, 32])
def test_sessions_at_one_limit_send_one_prompt_each(
    start: Start, tmp_path: Path, count: int
) -> None:
    noted = tmp_path / "prompts"
    words = [sys.executable, "-m", "tests.kit.gateway.limited_agent", str(noted), "1", "4"]
    client = start.command(words, options=GOES_ON)
    client.open(**RETRY)
    opened = [client.call("session/new", cwd="/", mcpServers=[]) for _ in range(count - 1)]
    sessions = [client.session, *(each["result"]["sessionId"] for each in opened)]
    prompts = [client.prompt("hello", session) for session in sessions]
    for prompt in prompts:
        assert client.answer(prompt)["result"] == {"stopReason": "end_turn"}
    for session in sessions:
        first, then = [each for each in prompts_in(noted) if each["session"] == session]
        assert (first["text"], then["text"]) == ("hello", "Continue.")
        assert 4 <= then["at"] - first["at"] <= patient(10)


def test_a_client_that_leaves_within_the_wait_ends_it(start: Start, tmp_path: Path) -> None:
    noted = tmp_path / "prompts"
    words = [sys.executable, "-m", "tests.kit.gateway.limited_agent", str(noted), "1", "600"]
    client = start.command(words, options=GOES_ON)
    client.open(**RETRY)
    client.prompt("hello")
    client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "agent_retry")
    assert client.end() == 0
    assert [each["text"] for each in prompts_in(noted)] == ["hello"]
