"""The scripted agent: what comes of each scenario, in both versions, with lastword and without.

`expected.json` holds every turn in short words, as `scenario_play.py` writes them: no change of a
scenario goes unnoticed. What the list says of each is held against the same turns.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.client import describe, read_error
from lastword.core.failure.taxonomy import ErrorType
from lastword.kit.agent.scenarios import SCENARIOS
from tests.kit.rows import every
from tests.process.scenarios.scenario_play import AGENT, BARE, EXPECTED, TYPED, AnyClient, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.client import Frame

    Start = Callable[..., AnyClient]


WORDS = json.loads(EXPECTED.read_text())


@pytest.fixture(scope="module", params=[1, 2])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    made = Stage(request.param, all_names=bool(request.config.getoption("--matrix")))
    yield made
    made.close()


def test_every_scenario_has_an_expectation_and_every_type_its_scenario() -> None:
    assert list(WORDS) == list(SCENARIOS)
    assert [name for name, told in WORDS.items() if "bare" in told] == BARE
    for error_type in ErrorType:
        assert SCENARIOS[error_type.value].error_type is error_type


@every("name", SCENARIOS)
def test_a_scenario_plays_as_expected_and_fails_as_listed(stage: Stage, name: str) -> None:
    if name not in stage.names:
        return
    seen = stage.play(name)
    assert seen.words == WORDS[name][f"v{stage.version}"]
    told = SCENARIOS[name].failure_in(stage.version)
    if told is None or told.type is ErrorType.CANCELLED:
        assert seen.error is None
        stop_reason = str(seen.words[-2:])
        assert ("cancelled" in stop_reason) is (told is not None)
        return
    assert seen.error is not None
    listed = told.error.payload()
    del listed["message"]
    assert listed.items() <= seen.error.items()
    waits = {"retry_after_seconds", "reset_at_epoch_ms"} & seen.error.keys()
    assert bool(waits) is (told.resets or told.wait_seconds is not None)
    if stage.version == 1:
        # A client reads the same failure from the answer, and shows the button that is listed.
        assert seen.answer is not None
        read = read_error(seen.answer)
        assert read is not None
        payload = {key: value for key, value in seen.error.items() if key != "stopReason"}
        assert read.payload() == payload
        assert f'"{describe(read).button}"' in SCENARIOS[name].advice


def test_a_wire_fault_is_sent_raw_without_lastword() -> None:
    stage = Stage(1)
    for name in BARE:
        seen = stage.play(name, bare=True)
        assert seen.words == WORDS[name]["bare"], name
        assert "agent_error" not in str(seen.frames)
    stage.close()


# --- over several turns: prompts that ask, cancels, the turns of files


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts the agent with arguments, and opens a session."""
    started: list[AnyClient] = []

    def start(
        *arguments: str,
        command: list[str] = AGENT,
        capabilities: Frame = TYPED,
        **environment: str,
    ) -> AnyClient:
        started.append(AnyClient([*command, *arguments], environment=environment))
        assert "result" in started[-1].hello(1, capabilities)
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


def test_a_lost_session_asks_for_a_new_one(start: Start) -> None:
    client = start("context_lost")
    client.turn("go")
    assert client.turn("go on").error["reason"] == "context_lost"
    client.open_session()
    assert client.turn("go on").answer["result"] == {"stopReason": "end_turn"}


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
    "typed": (["agent_error"], "error"),
    "error_with_meta": (["session_info_update"], "error"),
    "error": ([], "error"),
    "text": (["agent_message_chunk"], "result"),
}
SLOW = {"turns": [[{"fail": {"http": 429, "message": "Slow"}}]]}


@pytest.mark.parametrize(
    ("rung", "door"),
    [
        *((rung, "option") for rung in RUNGS),
        *(("error", door) for door in ("environment", "scenario file", "lastword run")),
    ],
)
def test_a_stock_client_sees_each_rung_however_it_is_chosen(
    start: Start, tmp_path: Path, rung: str, door: str
) -> None:
    script = tmp_path / "mine.json"
    script.write_text(json.dumps(SLOW | {"run": {"fallback": rung}}))
    if door == "option":
        client = start(f"--fallback={rung}", "rate_limit", capabilities={})
    elif door == "environment":
        client = start("rate_limit", capabilities={}, LASTWORD_FALLBACK=rung)
    elif door == "scenario file":
        client = start(str(script), capabilities={})
    else:
        run = [sys.executable, "-m", "lastword", "run", "--fallback", rung, "--no-record", "--"]
        client = start("--bare", "rate_limit", command=[*run, *AGENT], capabilities={})
    turn = client.turn("go")
    kinds, member = RUNGS[rung]
    assert (turn.kinds, member in turn.answer) == (kinds, True)


# Scenario files.

MINE = {
    "turns": [
        [
            {"say": "Let me look. "},
            {"tool": {"title": "Edit a.py", "kind": "edit", "status": "completed"}},
            {"fail": {"http": 529, "message": "Overloaded"}},
        ],
        [{"say": "Better now."}, {"result": "end_turn"}],
    ],
}


def test_turns_are_played_in_order_and_the_last_one_repeats(start: Start, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(MINE))
    client = start("--file", str(tmp_path / "mine.json"))
    first = client.turn("go")
    assert first.kinds == ["agent_message_chunk", "tool_call", "agent_error"]
    assert (first.error["type"], first.error["retry_safety"]) == ("provider_unavailable", "ask")
    for _ in range(2):
        assert client.turn("go").text == "Better now."


@pytest.mark.parametrize("words", [[], ["--bare"]], ids=["behind lastword", "bare"])
def test_a_script_defines_what_a_cancel_does_and_a_second_one_ends_its_steps(
    start: Start, tmp_path: Path, words: list[str]
) -> None:
    script = {
        "turns": [
            [{"say": "one"}, {"silence": True}],
            [{"say": "\ud83d"}, {"raw": "\ud83d"}, {"result": "end_turn"}],
        ],
        # Lastword passes the first cancel on; without it, a second one ends these steps.
        "on_cancel": [{"say": "two"}, {"silence": True} if words else {"result": "cancelled"}],
        "run": {"idle-timeout": 60, "cancel-grace": 60},
    }
    (tmp_path / "mine.json").write_text(json.dumps(script))
    client = start(*words, str(tmp_path / "mine.json"))
    prompt = client.prompt("go")
    for text in ("one", "two"):
        client.expect_text(text)
        client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert client.turn("go").answer["result"] == {"stopReason": "end_turn"}
    # A lone surrogate is written as it is, and lastword keeps what is no frame.
    assert any("noise" in frame for frame in client.frames) is bool(words)
    assert (client.end(), client.said) == (0, "")
