"""What does not end by itself, and what only looks as if it did not."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.left_behind import CAN_LOOK, processes
from tests.process.sidecar.failing_turn import (
    fails,
    failure_of,
    is_healthy,
    next_prompt_is_answered,
    next_request_is_answered,
    payload_of,
    quick,
)

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

GRACE = ("--cancel-grace", "0.3")
linux_only = pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")

_WITHOUT_SIGCONT = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])
os.execvp(sys.argv[1], sys.argv[1:])
"""
UNTOLD = (sys.executable, "-c", _WITHOUT_SIGCONT)
"""What to start a sidecar under, so that it stands still without a word, as a frozen container."""

ALLOW = {"outcome": {"outcome": "selected", "optionId": "yes"}}


def _resident_mb(client: SidecarClient) -> float:
    with open(f"/proc/{client.pid}/status", encoding="utf-8") as status:
        (resident,) = [line.split()[1] for line in status if line.startswith("VmRSS")]
    return int(resident) / 1024


def _processor_seconds(client: SidecarClient) -> float:
    with open(f"/proc/{client.pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("mode", "option", "reason"),
    [
        ("silence", "--first-update-timeout", "first_update_timeout"),
        ("silence-after-text", "--idle-timeout", "idle_timeout"),
        ("silence-in-tool", "--tool-timeout", "tool_timeout"),
        ("silence-after-text", "--turn-timeout", "turn_timeout"),
        ("ignores-cancel", "--idle-timeout", "idle_timeout"),
    ],
)
def test_an_agent_that_falls_silent_is_stopped_and_the_turn_ends_typed(
    start: Start, mode: str, option: str, reason: str
) -> None:
    client = start(mode, options=[option, "0.3", *GRACE])
    client.open()
    turn = client.turn()
    payload = failure_of(turn)
    assert (payload["type"], payload["reason"]) == ("agent_stalled", reason)
    assert 0.2 <= turn.seconds < quick()
    next_request_is_answered(client)


@pytest.mark.parametrize(
    ("mode", "limit"),
    [
        ("silent-at-initialize", "core.protocol.acp.INITIALIZE_LIMIT_SECONDS"),
        ("silent-at-new", "core.protocol.acp.SESSION_REQUEST_LIMIT_SECONDS"),
    ],
)
def test_an_agent_that_is_silent_before_the_first_prompt_is_answered_for(
    start: Start, mode: str, limit: str
) -> None:
    client = start(mode, limits={limit: 0.4})
    answer = client.initialize()
    if "result" in answer:
        answer = client.answer(client.request("session/new", cwd="/", mcpServers=[]))
    payload = payload_of(answer)
    assert (payload["type"], payload["reason"]) == ("agent_stalled", "request_timeout")
    assert is_healthy(client.turn("hello"))


@pytest.mark.parametrize("mode", ["stops-reading", "cannot-be-woken"])
def test_an_agent_that_does_nothing_at_all_any_more_cannot_hold_the_turn_open(
    start: Start, mode: str
) -> None:
    options = ["--idle-timeout", "0.3", "--first-update-timeout", "0.3", *GRACE]
    client = start(mode, options=options)
    client.open()
    assert fails(client)[0] == "agent_stalled"
    next_prompt_is_answered(client)


@linux_only
def test_more_than_an_agent_reads_does_not_hold_the_turn_open(start: Start) -> None:
    client = start("stops-reading", options=["--idle-timeout", "0.5", *GRACE])
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    notes = b'{"jsonrpc":"2.0","method":"_vendor/note","params":"%s"}\n' % (b"x" * 1000) * 16_000
    # Some of it is taken; a sidecar that took all would hold it in memory.
    assert client.send_bytes(notes, fuse=0.3) < len(notes)
    assert failure_of(client.end_of(prompt, since))["type"] == "agent_stalled"
    assert _resident_mb(client) < 64


def test_the_users_cancel_is_the_agents_to_confirm(start: Start) -> None:
    client = start("silence-after-text")
    client.open()
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert is_healthy(client.turn("hello"))


def test_a_cancel_that_the_agent_ignores_is_confirmed_in_its_place(start: Start) -> None:
    client = start("ignores-cancel", options=GRACE)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    turn = client.end_of(prompt, since)
    assert turn.answer["result"] == {"stopReason": "cancelled"}
    assert 0.2 <= turn.seconds < quick()
    next_request_is_answered(client)


def test_an_error_after_a_cancel_is_a_cancelled_turn(start: Start) -> None:
    client = start("error-on-go")
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.cancel()
    client.go_on()
    turn = client.end_of(prompt, since)
    assert turn.answer["result"] == {"stopReason": "cancelled"}
    assert turn.updates == []


def test_nothing_of_a_turn_that_was_ended_for_the_agent_arrives_afterwards(start: Start) -> None:
    client = start("late-frames", options=GRACE)
    client.open()
    prompt = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    client.answer(prompt)
    ended = len(client.frames)
    client.go_on()
    assert is_healthy(client.turn("hello"))
    late = client.frames[ended:-2]
    assert late == []
    assert "This comes too late." not in client.stdout.data.decode()


def test_an_open_permission_stops_the_clocks_and_the_answer_starts_them_again(
    start: Start,
) -> None:
    options = ["--idle-timeout", "0.5", "--first-update-timeout", "0.5", *GRACE]
    client = start("permission-then-silence", options=options)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    asked = client.expect_method("session/request_permission")
    client.listen(1.0)
    assert len(client.frames) == since + 1, "the user had not answered yet"
    client.send(id=asked["id"], result=ALLOW)
    turn = client.end_of(prompt, since)
    assert failure_of(turn)["type"] == "agent_stalled"
    assert 0.4 <= turn.seconds < quick()


def test_a_permission_that_is_given_lets_the_turn_go_on(start: Start) -> None:
    client = start("permission")
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    asked = client.expect_method("session/request_permission")
    client.send(id=asked["id"], result=ALLOW)
    assert is_healthy(client.end_of(prompt, since))


@linux_only
def test_a_client_that_does_not_read_slows_the_agent_and_stops_the_clocks(start: Start) -> None:
    frames = 20_000
    options = ["--idle-timeout", "1", "--first-update-timeout", "1", *GRACE]
    client = start("many-frames", frames, options=options)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.stdout.reading = False
    client.listen(1.8)
    # 20 MB are on their way, and nobody holds them: the agent waits.
    assert _resident_mb(client) < 64
    client.stdout.reading = True
    turn = client.end_of(prompt, since)
    assert is_healthy(turn)
    assert len(turn.updates) == frames


@linux_only
@pytest.mark.parametrize("under", [(), UNTOLD], ids=["told", "untold"])
@pytest.mark.parametrize("busy_seconds", [0.0, 0.1], ids=["at once", "when all waits"])
def test_a_stopped_and_continued_sidecar_and_agent_do_not_look_stalled(
    start: Start, busy_seconds: float, under: tuple[str, ...]
) -> None:
    options = ["--idle-timeout", "1", "--first-update-timeout", "1", *GRACE]
    client = start("answer-on-go", options=options, under=under)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("I begin.")
    everyone = list(processes(client.mark))
    client.listen(busy_seconds)
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5)
    for pid in everyone:
        os.kill(pid, signal.SIGCONT)
    client.listen(0.2)
    client.go_on()
    assert is_healthy(client.end_of(prompt, since))


@linux_only
@pytest.mark.parametrize("state", ["idle", "client blocks", "agent blocks", "agent dead"])
def test_a_sidecar_that_waits_uses_no_processor(start: Start, state: str) -> None:
    if state == "agent blocks":
        client = start("stops-reading")
    elif state == "agent dead":
        client = start("grandchild-holds-stdout")
    else:
        client = start("many-frames", 4000)
    client.open()
    if state == "client blocks":
        client.stdout.reading = False
    if state == "idle":
        client.turn("hello")
    else:
        client.prompt()
    if state == "agent blocks":
        note = b'{"jsonrpc":"2.0","method":"_vendor/note","params":"%s"}\n' % (b"x" * 1000)
        client.send_bytes(note * 4000, fuse=0.2)
    client.listen(0.4)
    before = _processor_seconds(client)
    client.listen(0.5)
    assert _processor_seconds(client) - before < 0.1


def test_a_client_that_can_show_notices_is_warned_of_silence_and_others_are_not(
    start: Start,
) -> None:
    for capabilities in ({"session": {"notices": {}}}, {}):
        client = start("answer-on-go", options=["--warn-after", "0.2"])
        client.open(**capabilities)
        since = len(client.frames)
        prompt = client.prompt()
        client.expect_text("I begin.")
        client.listen(0.5)
        client.go_on()
        turn = client.end_of(prompt, since)
        assert turn.kinds.count("notice") == bool(capabilities)


def test_a_prompt_that_waits_for_the_end_of_an_ended_turn_can_be_cancelled(start: Start) -> None:
    client = start("ignores-cancel", options=["--cancel-grace", "1"])
    client.open()
    first = client.prompt()
    client.expect_text("Half an answer.")
    client.cancel()
    client.answer(first)
    waiting = client.prompt("hello")
    client.notify("session/cancel", sessionId=client.session)
    assert client.answer(waiting)["result"] == {"stopReason": "cancelled"}
