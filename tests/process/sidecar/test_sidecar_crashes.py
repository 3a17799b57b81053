"""The agent's process dies, loses its pipes, ends a turn wrongly, or never was an agent."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword.sidecar.session import REPORTS
from tests.process.sidecar.failing_turn import (
    failure_of,
    is_healthy,
    next_request_is_answered,
    payload_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

OFTEN = {
    "core.restart.state.FIRST_BACKOFF_SECONDS": 0.02,
    "core.restart.state.MAX_BACKOFF_SECONDS": 0.02,
    "core.restart.state.LOOP_CRASHES": 1e9,
    "core.restart.state.LOOP_SHORT_LIVES": 1e9,
}
"""However often the agent dies, it is started again at once."""

DEATHS: tuple[tuple[str, str, bool, dict[str, Any]], ...] = (
    ("exits-0", "premature_exit", True, {"exit_code": 0}),
    ("kills-itself", "killed", True, {"exit_signal": "SIGKILL"}),
    ("segfaults", "native_crash", True, {"exit_signal": "SIGSEGV"}),
    ("traceback", "uncaught_exception", False, {"exit_code": 1, "phase": "tool_running"}),
    ("dies-in-frame", "exit_status", False, {"exit_code": 1}),
    ("dies-in-answer", "exit_status", False, {"exit_code": 1, "phase": "mid_output"}),
    ("grandchild-holds-stdout", "killed", True, {"exit_signal": "SIGKILL"}),
    ("grandchild-floods-stderr", "exit_status", False, {"exit_code": 1}),
    ("closes-stdout", "closed_stdout", True, {}),
)
"""How an agent dies, and what must be said of it."""


def test_each_kind_of_agent_death_ends_its_turn_typed_and_the_next_agent_works(
    start: Start, tmp_path: Path
) -> None:
    client = start("healthy", limits=OFTEN, memory=tmp_path)
    client.open()
    for mode, reason, retryable, evidence in DEATHS:
        turn = client.turn(f"fail {mode}")
        payload = failure_of(turn)
        assert (payload["type"], payload["reason"]) == ("agent_crash", reason), mode
        assert payload["retryable"] is retryable, mode
        assert evidence.items() <= payload.items(), mode
        if mode == "traceback":
            assert "the model's answer makes no sense" in payload["detail"]["text"]
        if mode == "dies-in-answer":
            # What it sent whole arrives before its death does.
            assert turn.kinds == ["agent_message_chunk", "session_info_update"]
        assert is_healthy(client.turn("hello")), mode
    # An answer that is whole but for its line end is one, and who dies after it has answered.
    for mode in ("dies-before-newline", "dies-after-answer"):
        ends = client.said.count("the agent ended")
        assert is_healthy(client.turn(f"fail {mode}")), mode
        client.read_until_true(lambda n=ends: client.said.count("the agent ended") > n, "its end")
        assert is_healthy(client.turn("hello"))
    client.expect_stderr("ValueError: the model's answer makes no sense")
    client.expect_stderr("the agent ended: killed by SIGSEGV")
    assert (REPORTS in client.said) is (sys.platform == "darwin")
    # What the children that held its pipes left behind is none of ours, and it may leave.
    assert client.end() == 0


def test_an_agent_that_exits_with_0_between_turns_ends_the_sidecar(start: Start) -> None:
    client = start("exits-0-after-answer")
    client.open()
    assert is_healthy(client.turn())
    assert client.wait() == 0


def test_an_agent_that_dies_at_once_is_reported_on_initialize(start: Start) -> None:
    client = start("dies-at-once")
    payload = payload_of(client.initialize())
    assert (payload["type"], payload["exit_code"]) == ("agent_crash", 3)
    assert payload["phase"] == "startup"
    assert "no model configured" in payload["detail"]["text"]
    answer = client.call("session/new", cwd="/", mcpServers=[])
    assert payload_of(answer)["type"] == "agent_crash"
    assert client.end() == 3


def test_every_open_request_of_a_dead_agent_is_answered_and_a_cancelled_turn_has_not_failed(
    start: Start, tmp_path: Path
) -> None:
    client = start("exits-3", limits=OFTEN, memory=tmp_path)
    client.open()
    with client.in_one_piece():
        # All of them are with the agent before it can die.
        prompts = [client.prompt(), client.prompt(), client.prompt()]
        other = client.request("session/list")
    for request in (*prompts, other):
        assert payload_of(client.answer(request))["type"] == "agent_crash"
    assert is_healthy(client.turn("hello"))
    since = len(client.frames)
    prompt = client.prompt("fail dies-on-cancel")
    client.expect(lambda frame: "Half an answer." in str(frame), since=since)
    client.cancel()
    turn = client.end_of(prompt, since)
    assert turn.answer["result"] == {"stopReason": "cancelled"}
    assert turn.kinds == ["agent_message_chunk"]
    next_request_is_answered(client)


def test_an_agent_that_closed_its_stdin_is_ended_at_the_next_write(
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

    client.read_until_true(answered, "the end of the turn")
    assert failure_of(client.end_of(prompt, since))["type"] == "agent_crash"
    next_request_is_answered(client)


def test_an_idle_agents_death_is_noticed_and_sigterm_answers_a_turn(
    start: Start, tmp_path: Path
) -> None:
    client = start("tells", limits=OFTEN, memory=tmp_path)
    client.open()
    os.kill(json.loads(client.turn().text)["pid"], signal.SIGKILL)
    client.expect_stderr("the agent ended: killed by SIGKILL")
    assert is_healthy(client.turn("hello"))
    since = len(client.frames)
    prompt = client.prompt("fail silence-after-text")
    client.expect(lambda frame: "Half an answer." in str(frame), since=since)
    os.kill(client.pid, signal.SIGTERM)
    client.answer(prompt)
    assert client.wait() == 128 + signal.SIGTERM


# Turns that the agent ends wrongly while its process is well: what the core decides arrives.

WRONG = (
    ("http-429", "rate_limit", None),
    ("silent-success", "unknown", "silent_success"),
    ("id-null", "provider_unavailable", None),
    ("error-twice", "provider_unavailable", None),
    ("error-after-text", "network", "connection_lost"),
    ("runaway", "agent_stalled", "runaway"),
)


def test_a_turn_that_the_agent_ends_wrongly_fails_typed_and_the_session_continues(
    start: Start,
) -> None:
    client = start("healthy")
    client.open()
    for mode, type_, reason in WRONG:
        turn = client.turn(f"fail {mode}")
        payload = failure_of(turn)
        assert payload["type"] == type_, mode
        assert reason is None or payload["reason"] == reason, mode
        # Whatever the agent sent after its first answer came before this one.
        assert is_healthy(client.turn("hello")), mode
        if mode == "http-429":
            assert (payload["retry_after_seconds"], payload["http_status"]) == (20, 429)
        if mode == "error-after-text":
            assert turn.kinds[-2:] == ["tool_call_update", "session_info_update"]
            assert (turn.updates[-2]["toolCallId"], turn.updates[-2]["status"]) == ("t1", "failed")


def test_a_program_that_echoes_its_input_is_distinguished_from_an_agent(start: Start) -> None:
    client = start("cat")
    payload = payload_of(client.initialize())
    assert (payload["type"], payload["reason"]) == ("protocol_error", "not_acp")
    assert "error" in client.call("session/new", cwd="/", mcpServers=[])
    assert client.end() == 0


WITHOUT_FILES = """
import sys, lastword.cli
class Gone:
    def find_spec(self, name, *_):
        if name.startswith(("lastword.core.classify", "lastword.core.failure.sentences")):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Gone())
sys.exit(lastword.cli.main(sys.argv[sys.argv.index("run"):]))
"""


@pytest.mark.real_start
def test_without_its_files_lastword_ends_as_the_agent_does(start: Start) -> None:
    client = start("dies-in-answer", under=[sys.executable, "-c", WITHOUT_FILES])
    client.open()
    client.prompt()
    assert client.wait() == 1
    assert client.said.count("files have been replaced or removed") == 1
    assert "Traceback" not in client.said
