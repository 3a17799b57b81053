"""What does not end by itself, and what only looks as if it did not."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import NOTICES, update_of
from tests.kit.left_behind import CAN_LOOK, processes
from tests.kit.patience import patient
from tests.process.sidecar.failing_turn import (
    fails,
    is_healthy,
    next_prompt_is_answered,
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


def _resident_mb(client: SidecarClient) -> float:
    with open(f"/proc/{client.pid}/status", encoding="utf-8") as status:
        (resident,) = [line.split()[1] for line in status if line.startswith("VmRSS")]
    return int(resident) / 1024


def _processor_seconds(client: SidecarClient) -> float:
    with open(f"/proc/{client.pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_agent_that_falls_silent_is_stopped_and_the_turn_ends_typed(start: Start) -> None:
    client = start("healthy", options=["--idle-timeout=0.4", *GRACE])
    client.open()
    for mode in ("silence-after-text", "foreign-id"):
        assert (mode, *fails(client, mode)) == (mode, "agent_stalled", "idle_timeout")
        next_prompt_is_answered(client)
    assert not [frame for frame in client.frames if frame.get("id") == 987654]


def test_an_agent_that_cannot_be_signalled_does_not_keep_the_turn_open(start: Start) -> None:
    client = start("cannot-be-woken", options=["--first-update-timeout", "0.3", *GRACE])
    client.open()
    assert fails(client)[0] == "agent_stalled"
    next_prompt_is_answered(client)


@linux_only
def test_a_client_that_does_not_read_slows_the_agent_and_stops_the_clocks(start: Start) -> None:
    frames, limit = 20_000, patient(0.5)
    client = start("many-frames", frames, options=[f"--idle-timeout={limit}", *GRACE])
    client.open()
    since, before = len(client.frames), _resident_mb(client)
    prompt = client.prompt()
    client.stdout.reading = False
    client.listen(2 * limit)
    # 20 MB are on their way, and nobody holds them: the agent waits.
    assert _resident_mb(client) - before < 16
    client.stdout.reading = True
    turn = client.end_of(prompt, since)
    assert is_healthy(turn)
    assert len(turn.updates) == frames


@linux_only
@pytest.mark.parametrize(
    ("busy_seconds", "under"), [(0.0, ()), (0.1, UNTOLD)], ids=["at once, told", "waits, untold"]
)
def test_a_stopped_and_continued_sidecar_and_agent_do_not_look_stalled(
    start: Start, busy_seconds: float, under: tuple[str, ...]
) -> None:
    limit = patient(0.5)
    options = [f"--idle-timeout={limit}", f"--first-update-timeout={limit}", *GRACE]
    client = start("answer-on-go", options=options, under=under)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("I begin.")
    everyone = list(processes(client.mark))
    client.listen(busy_seconds)
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2 * limit)
    for pid in everyone:
        os.kill(pid, signal.SIGCONT)
    client.listen(0.2)
    client.go_on()
    assert is_healthy(client.end_of(prompt, since))


@linux_only
def test_a_sidecar_that_waits_uses_no_processor(start: Start) -> None:
    def rests(state: str) -> None:
        def is_at_rest() -> bool:
            before = _processor_seconds(client)
            client.listen(0.5)
            return _processor_seconds(client) - before < 0.1

        client.read_until_true(is_at_rest, state)

    client = start("many-frames", 4000)
    client.open()
    client.turn("hello")
    rests("idle")
    client.stdout.reading = False
    client.prompt()
    rests("client blocks")
    client = start("stops-reading")
    client.open()
    client.prompt()
    note = b'{"jsonrpc":"2.0","method":"_vendor/note","params":"%s"}\n' % (b"x" * 1000)
    client.send_bytes(note * 4000, fuse=0.2)
    rests("agent blocks")
    client = start("grandchild-holds-stdout")
    client.open()
    client.turn()
    rests("agent dead")


# Why an agent is silent, seen from its own processes and connections: that the looks arrive. What
# they prove is decided in `tests/unit/sidecar/test_silence_cause.py`.


def remark(client: SidecarClient, before: str) -> None:
    """Expect a notice that says this, and how long it has been so."""
    notice = client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "notice")
    title = str(update_of(notice)["title"])
    match = re.fullmatch(rf"{re.escape(before)} (\d+) s\.", title)
    assert match, title
    assert int(match[1]) >= 2


@linux_only
def test_a_silent_provider_is_named_and_makes_the_turn_time_out(start: Start) -> None:
    options = ["--warn-after", "5.5", "--first-update-timeout", "8", "--cancel-grace", "0.3"]
    with socket.create_server(("127.0.0.1", 0)) as provider:  # which never answers
        client = start("waits-for-provider", provider.getsockname()[1], options=options)
        client.open(**NOTICES)
        since = len(client.frames)
        prompt = client.prompt()
        taken, _ = provider.accept()
        with taken:
            taken.recv(40_000, socket.MSG_WAITALL)
            remark(client, "The model provider has not answered for")
            payload = client.end_of(prompt, since).error
    assert (payload["type"], payload["reason"]) == ("timeout", "provider_silent")
    assert (payload["origin"], payload["retryable"]) == ("provider", True)


@linux_only
def test_a_program_that_runs_is_named_without_its_arguments(start: Start) -> None:
    client = start("runs-child", options=["--warn-after", "5.5"])
    client.open(**NOTICES)
    client.prompt()
    remark(client, '"sleep" has been running for')
