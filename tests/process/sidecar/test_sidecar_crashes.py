"""The agent's process dies, loses its pipes, or never was one."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lastword.sidecar.session import REPORTS
from tests.process.sidecar.failing_turn import (
    failure_of,
    is_healthy,
    next_request_is_answered,
    payload_of,
    quick,
)

if TYPE_CHECKING:
    from tests.process.sidecar.conftest import Start

KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class Death:
    """How an agent of a mode dies, and what must be said of it."""

    mode: str
    reason: str
    retryable: bool
    evidence: dict[str, object]
    status: int


DEATHS = (
    Death("exits-0", "premature_exit", True, {"exit_code": 0}, 0),
    Death("exits-3", "exit_status", False, {"exit_code": 3}, 3),
    Death("kills-itself", "killed", True, {"exit_signal": "SIGKILL"}, KILLED),
    Death("segfaults", "native_crash", True, {"exit_signal": "SIGSEGV"}, 128 + signal.SIGSEGV),
    Death("traceback", "uncaught_exception", False, {"exit_code": 1}, 1),
    Death("node-out-of-memory", "oom", True, {"exit_signal": "SIGABRT"}, 128 + signal.SIGABRT),
    Death("dies-in-frame", "exit_status", False, {"exit_code": 1}, 1),
    Death("dies-in-answer", "exit_status", False, {"exit_code": 1}, 1),
    Death("grandchild-holds-stdout", "killed", True, {"exit_signal": "SIGKILL"}, KILLED),
    Death("grandchild-floods-stdout", "exit_status", False, {"exit_code": 1}, 1),
    Death("grandchild-floods-stderr", "exit_status", False, {"exit_code": 1}, 1),
)


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: death.mode)
def test_the_death_of_an_agent_ends_its_turn_typed_and_at_once(start: Start, death: Death) -> None:
    client = start(death.mode)
    client.open()
    turn = client.turn(fuse=quick())
    payload = failure_of(turn)
    assert (payload["type"], payload["reason"]) == ("agent_crash", death.reason)
    assert payload["retryable"] is death.retryable
    assert death.evidence.items() <= payload.items()
    next_request_is_answered(client)
    # The exit status of what ran last: an agent that was started again is asked to leave.
    assert client.end() in (death.status, 0)


def test_a_crash_on_macos_is_said_with_the_place_of_its_report(start: Start) -> None:
    client = start("segfaults")
    client.open()
    client.turn()
    client.end()
    assert "the agent ended: killed by SIGSEGV" in client.said
    assert (REPORTS in client.said) is (sys.platform == "darwin")


def test_what_the_agent_sent_whole_arrives_before_its_death_does(start: Start) -> None:
    client = start("dies-in-answer")
    client.open()
    turn = client.turn()
    assert turn.kinds == ["agent_message_chunk", "session_info_update"]
    assert failure_of(turn)["phase"] == "mid_output"


def test_a_slow_client_gets_all_that_a_dead_agent_had_sent_and_then_its_death(
    start: Start,
) -> None:
    # 1.5 MB: the sidecar holds some of it, the pipe the rest, and the agent is gone.
    client = start("many-frames-then-dies", 1500)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.stdout.reading = False
    client.listen(0.7)
    client.stdout.reading = True
    turn = client.end_of(prompt, since)
    assert failure_of(turn)["type"] == "agent_crash"
    assert turn.kinds.count("agent_message_chunk") == 1500


def test_the_end_of_a_traceback_is_in_the_details(start: Start) -> None:
    client = start("traceback")
    client.open()
    payload = failure_of(client.turn())
    assert "the model's answer makes no sense" in payload["detail"]["text"]
    assert payload["phase"] == "tool_running"
    client.expect_stderr("ValueError: the model's answer makes no sense")


def test_an_answer_that_is_whole_but_for_its_line_end_is_an_answer(start: Start) -> None:
    client = start("dies-before-newline")
    client.open()
    assert is_healthy(client.turn())


@pytest.mark.parametrize("mode", ["dies-after-answer", "exits-0-after-answer"])
def test_an_agent_that_dies_after_its_answer_has_answered(start: Start, mode: str) -> None:
    client = start(mode)
    client.open()
    assert is_healthy(client.turn())


def test_an_agent_that_leaves_with_0_between_turns_takes_the_sidecar_with_it(start: Start) -> None:
    client = start("exits-0-after-answer")
    client.open()
    client.turn()
    assert client.wait() == 0


def test_an_agent_that_dies_at_once_is_reported_on_initialize(start: Start) -> None:
    client = start("dies-at-once")
    payload = payload_of(client.initialize())
    assert payload["type"] == "agent_crash"
    assert payload["exit_code"] == 3
    assert payload["phase"] == "startup"
    assert "no model configured" in payload["detail"]["text"]
    answer = client.answer(client.request("session/new", cwd="/", mcpServers=[]))
    assert payload_of(answer)["type"] == "agent_crash"
    assert client.end() == 3


def test_every_open_request_of_a_dead_agent_is_answered(start: Start) -> None:
    client = start("exits-3")
    client.open()
    with client.in_one_piece():
        # All of them are with the agent before it can die.
        prompts = [client.prompt(), client.prompt(), client.prompt()]
        other = client.request("session/list")
    for prompt in prompts:
        assert payload_of(client.answer(prompt))["type"] == "agent_crash"
    assert payload_of(client.answer(other))["type"] == "agent_crash"


def test_an_agent_that_closes_its_stdout_and_lives_is_ended(start: Start) -> None:
    client = start("closes-stdout")
    client.open()
    turn = client.turn()
    assert failure_of(turn)["type"] == "agent_crash"
    assert turn.text == "Half an answer."
    assert turn.seconds < quick()
    next_request_is_answered(client)


def test_an_agent_that_closes_its_stdin_and_lives_is_ended_when_it_is_written_to(
    start: Start,
) -> None:
    client = start("closes-stdin")
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("Half an answer.")

    def answered() -> bool:
        # Only a write tells that nobody will read.
        client.notify("_vendor/anything")
        return any(frame.get("id") == prompt for frame in client.frames)

    client.read_until(answered, "the end of the turn", fuse=quick())
    assert failure_of(client.end_of(prompt, since))["type"] == "agent_crash"
    next_request_is_answered(client)


def test_a_cancelled_turn_whose_agent_dies_is_cancelled_and_no_failure(start: Start) -> None:
    client = start("dies-on-cancel")
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    turn = client.end_of(prompt, since)
    assert turn.answer["result"] == {"stopReason": "cancelled"}
    assert turn.kinds == ["agent_message_chunk"]
    next_request_is_answered(client)


def test_a_turn_that_sigterm_cuts_short_still_has_its_answer(start: Start) -> None:
    client = start("silence-after-text")
    client.open()
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    os.kill(client.pid, signal.SIGTERM)
    client.answer(prompt)
    assert client.wait() == 128 + signal.SIGTERM


def test_killing_the_agent_from_outside_is_seen_while_it_is_idle_too(start: Start) -> None:
    client = start("tells")
    client.open()
    os.kill(json.loads(client.turn().text)["pid"], signal.SIGKILL)
    client.expect_stderr("the agent ended: killed by SIGKILL")
    next_request_is_answered(client)
