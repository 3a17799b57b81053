"""Too much, or the wrong thing, on the agent's stdout and stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.left_behind import CAN_LOOK
from tests.kit.patience import patient
from tests.process.sidecar.failing_turn import (
    fails,
    failure_of,
    is_healthy,
    next_request_is_answered,
    quick,
)

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

FLOOD = 50_000_000
NO_LIMIT = ("--stderr-limit", "0")
MIB = 1024 * 1024


def _peak_mb(client: SidecarClient) -> float:
    """The most memory that the sidecar ever had."""
    if not CAN_LOOK:
        return 0.0
    with open(f"/proc/{client.pid}/status", encoding="utf-8") as status:
        (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
    return int(peak) / 1024


def test_what_is_no_message_on_stdout_never_reaches_the_client(start: Start) -> None:
    client = start("noise")
    client.open()
    turn = client.turn()
    # The driver holds that every line is a JSON object; nothing else than the turn's came.
    assert set(turn.kinds) == {"agent_message_chunk"}
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert all(frame.get("jsonrpc") == "2.0" for frame in client.frames)


def test_a_byte_order_mark_does_not_hide_the_first_answer(start: Start) -> None:
    client = start("byte-order-mark")
    client.open()
    assert is_healthy(client.turn("hello"))
    assert b"\xef\xbb\xbf" not in client.stdout.data


@pytest.mark.parametrize("mode", ["two-frames-on-a-line", "frame-on-two-lines"])
def test_frames_that_are_no_lines_never_reach_the_client_as_such(start: Start, mode: str) -> None:
    client = start(mode)
    client.open()
    since = len(client.frames)
    prompt = client.prompt()
    client.expect_text("I begin.")
    # What comes now comes in one piece. The driver holds that every line is a JSON object.
    client.go_on()
    client.expect_text("e")
    client.go_on()
    turn = client.end_of(prompt, since)
    assert is_healthy(turn)
    assert turn.text.startswith("I begin.ab")
    assert turn.text.endswith("eHere is the answer.")


@pytest.mark.parametrize("mode", ["wide-characters", "not-a-number"])
def test_what_only_python_takes_for_json_never_reaches_the_client(start: Start, mode: str) -> None:
    client = start(mode)
    client.open()
    assert "Here is the answer." in client.turn(fuse=quick()).text
    assert is_healthy(client.turn("hello"))


def test_a_lone_surrogate_in_a_text_arrives_as_it_was_written(start: Start) -> None:
    client = start("lone-surrogate")
    client.open()
    assert client.turn().text == "broken \ud83d here"
    assert rb"broken \ud83d here" in client.stdout.data


def test_a_line_over_the_limit_ends_the_turn_typed_and_the_session_lives(start: Start) -> None:
    options = ["--line-limit", "1MiB", "--cancel-grace", "5"]
    client = start("long-line", 3 * MIB, options=options)
    client.open()
    assert fails(client) == ("protocol_error", "line_too_long")
    assert is_healthy(client.turn("hello"))
    assert len(client.stdout.data) < 64 * 1024


def test_a_line_over_the_default_limit_is_held_in_memory_no_further_than_that(
    start: Start,
) -> None:
    client = start("long-line", 80 * MIB, options=["--cancel-grace", "5"])
    client.open()
    assert fails(client, fuse=20.0) == ("protocol_error", "line_too_long")
    assert is_healthy(client.turn("hello"))
    assert _peak_mb(client) < 3 * 64


def test_a_line_limit_of_0_is_none(start: Start) -> None:
    client = start("long-line", 3 * MIB, options=["--line-limit", "0"])
    client.open()
    assert len(client.turn().text) == 3 * MIB


def test_an_answer_over_the_limit_ends_its_turn_at_once(start: Start) -> None:
    client = start("long-answer", 3 * MIB, options=["--line-limit", "1MiB"])
    client.open()
    turn = client.turn()
    payload = failure_of(turn)
    assert (payload["type"], payload["reason"]) == ("protocol_error", "line_too_long")
    assert turn.text == "Here is the answer."
    assert turn.seconds < quick()
    assert is_healthy(client.turn("hello"))


def test_a_line_just_under_the_limit_passes(start: Start) -> None:
    client = start("long-line", MIB - 4096, options=["--line-limit", "1MiB"])
    client.open()
    assert len(client.turn().text) == MIB - 4096


@pytest.mark.parametrize("mode", ["stderr-flood", "stderr-flood-without-lines"])
def test_a_flood_on_stderr_neither_blocks_a_turn_nor_grows_the_sidecar(
    start: Start, mode: str
) -> None:
    client = start(mode, FLOOD, options=NO_LIMIT)
    client.open()
    turn = client.turn()
    assert is_healthy(turn)
    assert _peak_mb(client) < 64


def test_beside_a_flood_on_stderr_every_frame_arrives_and_memory_stays_flat(start: Start) -> None:
    client = start("stderr-flood-beside-text", 10 * FLOOD, options=NO_LIMIT)
    client.open()
    client.stderr.reading = False
    before = _peak_mb(client)
    turn = client.turn(fuse=60)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text.split() == [str(number) for number in range(len(turn.updates))]
    # Freed blocks of 64 KiB among smaller ones: what grows comes to an end, see `benchmarks/`.
    assert _peak_mb(client) - before < 16


def test_a_flood_on_stderr_over_the_limit_ends_the_turn_typed(start: Start) -> None:
    client = start("stderr-flood", 3 * MIB, options=["--stderr-limit", "1MiB"])
    client.open()
    assert fails(client) == ("stderr_overflow", "stderr_limit")
    next_request_is_answered(client)


def test_a_talkative_agent_is_none_that_floods(start: Start) -> None:
    # 20 times 500 KiB, each with a frame after it. The two pipes are not in step: what is read
    # from one may be older by what the other holds, 1 MiB.
    client = start("talkative", 500 * 1024, options=["--stderr-limit", "2MiB"])
    client.open()
    turn = client.turn()
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert len(turn.updates) == 20


WRITES_BOTH = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    for number in range(200):
        update = {"jsonrpc": "2.0", "method": "_vendor/note", "params": "y" * 30_000}
        print("noise", "x" * 1000, file=sys.stderr, flush=True)
        print(json.dumps(update), flush=True)
    print("last words", end="", file=sys.stderr, flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""


def test_where_stderr_goes_the_way_of_stdout_neither_spoils_a_line_of_the_other(
    start: Start,
) -> None:
    client = start.program(
        [sys.executable, "-c", WRITES_BOTH], under=["sh", "-c", 'exec "$@" 2>&1', "sh"]
    )
    client.stdout.reading = False
    client.request("initialize", protocolVersion=1)
    # All pipes are full before anything is taken.
    client.listen(0.5)
    client.stdout.reading = True
    client.close_stdin()
    lines = client.read_to_end().splitlines()
    frames = [line for line in lines if line.startswith(b"{")]
    noise = [line for line in lines if line.startswith(b"noise ")]
    assert len([json.loads(frame) for frame in frames]) == 201
    assert noise
    assert all(line == b"noise " + b"x" * 1000 for line in noise)
    assert b"last words" in lines


def test_what_the_agent_writes_to_stderr_is_passed_on(start: Start) -> None:
    client = start("warns")
    client.open()
    assert is_healthy(client.turn())
    client.expect_stderr("warning: the cache is cold \u2603\n")
    assert client.said == "warning: the cache is cold \u2603\n"


def test_what_is_left_out_of_a_flood_is_said(start: Start) -> None:
    client = start("stderr-flood", FLOOD, options=NO_LIMIT)
    client.open()
    client.stderr.reading = False
    client.turn()
    client.stderr.reading = True
    client.end()
    client.listen(1)
    assert "bytes of the agent's stderr left out here" in client.said
    assert len(client.stderr.data) < MIB


@pytest.mark.parametrize("mode", ["stderr-flood", "stderr-flood-then-dies"])
def test_a_client_that_never_reads_our_stderr_cannot_block_a_turn(start: Start, mode: str) -> None:
    client = start(mode, 3_000_000)
    client.open()
    client.stderr.reading = False
    turn = client.turn(fuse=quick())
    assert is_healthy(turn) or failure_of(turn)["type"] == "agent_crash"
    next_request_is_answered(client)


def test_an_end_does_not_wait_for_a_client_that_never_reads_our_stderr(start: Start) -> None:
    client = start("stderr-flood", 1_000_000)
    client.open()
    client.stderr.reading = False
    client.turn()
    client.close_stdin()
    # Clients kill us 2 to 4 seconds after they have closed their side.
    client.wait(fuse=patient(2.0))


def test_a_verbose_sidecar_whose_stderr_is_never_read_cannot_block_a_turn(start: Start) -> None:
    client = start("stderr-flood", 3_000_000, options=["--verbose"])
    client.open()
    client.stderr.reading = False
    assert is_healthy(client.turn(fuse=quick()))
    assert is_healthy(client.turn("hello"))


def test_a_client_that_has_closed_our_stderr_gets_its_answers(start: Start) -> None:
    client = start("stderr-flood", 300_000, options=["--verbose"])
    client.open()
    client.close(client.stderr)
    assert is_healthy(client.turn())
    assert is_healthy(client.turn("hello"))
    assert client.end() == 0


def test_verbose_says_in_whole_lines_what_is_seen(start: Start) -> None:
    client = start("traceback", options=["--verbose"])
    client.open()
    client.turn()
    client.expect_stderr("the agent ended: exit status 1")
    ours = [line for line in client.said.splitlines() if line.startswith("lastword: ")]
    assert len(ours) >= 4
    assert all(len(line) < 1000 for line in ours)
    # What is unknown is not said.
    assert not [line for line in ours if "=None" in line]


def test_a_quiet_sidecar_says_nothing_of_a_healthy_session(start: Start) -> None:
    client = start("healthy")
    client.open()
    client.turn("hello")
    assert client.end() == 0
    client.listen(0.1)
    assert client.said == ""
