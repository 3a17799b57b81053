"""The scripted agent over several turns: prompts that ask, restarts, cancels, files' turns."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.kit.agent.scenarios import SCENARIOS
from tests.kit.rows import every
from tests.process.scenarios.scenario_play import AGENT, TYPED, AnyClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., AnyClient]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts the agent with arguments, and opens a session."""
    started: list[AnyClient] = []

    def start(*arguments: str, command: list[str] = AGENT, **environment: str) -> AnyClient:
        started.append(AnyClient([*command, *arguments], environment=environment))
        assert "result" in started[-1].hello(1, TYPED)
        started[-1].open_session()
        return started[-1]

    yield start
    for client in started:
        client.kill()


ASKED_FOR = ["after_tool", "agent_stalled", "agent_crash", "error_is_text"]


def test_a_prompt_plays_another_scenario_for_its_turn_or_learns_why_not(start: Start) -> None:
    client = start("healthy")
    for text in ("/scenario budget", "please\n /scenario\tbudget now"):
        assert client.turn(text).error["type"] == "budget"
        assert client.turn("go").answer["result"] == {"stopReason": "end_turn"}
    for name in ASKED_FOR:
        assert client.turn(f"/scenario {name}").error["type"] == SCENARIOS[name].error_type
    error = client.turn("/scenario rate-limits").error
    assert error["type"] == "invalid_request"
    assert 'no scenario "rate-limits" (did you mean rate_limit' in error["message"]
    # What befalls a process from its start is not to be had by a prompt.
    error = client.turn("/scenario crash_loop").error
    assert error["type"] == "invalid_request"
    assert "start lastword agent crash_loop" in error["message"].replace("`", "")


@pytest.mark.parametrize("name", ["restarted", "restarted_by_load"])
def test_a_session_survives_a_restart(start: Start, name: str) -> None:
    client = start(name)
    assert client.turn("go").error["reason"] == "killed"
    second = client.turn("go on")
    assert second.answer["result"] == {"stopReason": "end_turn"}
    assert second.text == "Here is the answer."


def test_a_lost_session_asks_for_a_new_one(start: Start) -> None:
    client = start("context_lost")
    client.turn("go")
    assert client.turn("go on").error["reason"] == "context_lost"
    client.open_session()
    assert client.turn("go on").answer["result"] == {"stopReason": "end_turn"}


def test_an_agent_that_only_crashes_is_reported_as_a_crash_loop(start: Start) -> None:
    client = start("crash_loop")
    reasons = [client.turn("go").error["reason"] for _ in range(5)]
    assert reasons[0] == "killed"
    assert reasons[-1] == "crash_loop"


def test_late_frames_reach_no_later_turn(start: Start) -> None:
    client = start("late_frames")
    client.turn("go")
    # Its answer comes once the agent has ended its old turn, and said all that it had to say.
    assert client.turn("/scenario healthy").answer["result"] == {"stopReason": "end_turn"}
    assert "too late" not in str(client.frames)


def test_a_login_lets_the_next_prompt_work(start: Start) -> None:
    client = start("login_needed")
    assert client.turn("go").answer["error"]["code"] == -32000
    assert "result" in client.answer(client.request("authenticate", methodId="login"))
    assert client.turn("go").text == "You are logged in now."


def test_a_limit_in_the_environment_overrides_the_scenarios(start: Start) -> None:
    client = start("agent_stalled", LASTWORD_IDLE_TIMEOUT="600")
    prompt = client.prompt("go")
    client.listen(3.0)  # the scenario's own is 2 seconds
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}


def test_the_bare_agent_uses_no_extension_and_survives_malformed_input(
    start: Start,
) -> None:
    client = start("--bare", "rate_limit")
    answer = client.turn("go").answer["error"]
    assert (answer["code"], answer["message"]) == (-32603, "Internal error")
    assert "agent_error" not in str(client.frames)
    for line in ("no json", "[]", "7", '{"id":[1],"result":1}', '{"id":1,"method":{"a":1}}'):
        client.send_bytes(line.encode() + b"\n")
    client.send(id=70, method="session/prompt", params={"sessionId": {"a": 1}, "prompt": 3})
    client.send(id=71, method="session/prompt", params=[1])
    client.send(id=72, method="_nobody/knows", params={})
    codes = [client.answer(number)["error"]["code"] for number in (70, 71, 72)]
    assert codes == [-32602, -32602, -32601]
    assert client.end() == 0
    assert client.said == ""


RUNGS = {
    "typed": ("agent_error", "error"),
    "error_with_meta": ("session_info_update", "error"),
    "result": ("session_info_update", "result"),
    "error": ("", "error"),
    "text": ("agent_message_chunk", "result"),
}


DOORS = ["option", "environment", "scenario file", "lastword run"]


@every(
    ("rung", "door"),
    [
        *((rung, "option") for rung in RUNGS),
        *((rung, door) for rung in ("error", "result") for door in DOORS[1:]),
    ],
)
def test_a_stock_client_sees_each_rung_however_it_is_chosen(
    tmp_path: Path, rung: str, door: str
) -> None:
    kind, member = RUNGS[rung]
    assert _failing_turn(tmp_path, rung, door) == ([kind] if kind else [], member)


def _failing_turn(folder: Path, rung: str, door: str) -> tuple[list[str], str]:
    """Return the kinds of a failing turn's updates, and the member of its answer that tells."""
    arguments, command = ["rate_limit"], AGENT
    environment: dict[str, str] = {}
    if door == "option":
        arguments = [f"--fallback={rung}", *arguments]
    elif door == "environment":
        environment = {"LASTWORD_FALLBACK": rung}
    elif door == "scenario file":
        script = {
            "turns": [[{"fail": {"http": 429, "message": "Slow"}}]],
            "run": {"fallback": rung},
        }
        (folder / "mine.json").write_text(json.dumps(script))
        arguments = [str(folder / "mine.json")]
    else:
        run = [sys.executable, "-m", "lastword", "run", "--fallback", rung, "--no-record", "--"]
        command = [*run, *AGENT, "--bare"]
    client = AnyClient([*command, *arguments], environment=environment)
    try:
        client.hello(1, {})
        client.open_session()
        turn = client.turn("go")
        return turn.kinds, "error" if "error" in turn.answer else "result"
    finally:
        client.kill()


def test_a_module_in_the_clients_directory_is_not_loaded(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uuid.py").write_text("raise SystemExit('the wrong one')\n")
    (tmp_path / "subprocess.py").write_text("raise SystemExit('the wrong one')\n")
    monkeypatch.chdir(tmp_path)
    safe = [AGENT[0], "-P", *AGENT[1:]]
    assert start("healthy", command=safe).turn("go").text.startswith("The parser")
