"""Bytes that are no frames, floods, secrets, clients that do not read: none touches a turn."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.kit.left_behind import CAN_LOOK
from tests.kit.patience import FUSE_SECONDS
from tests.process.sidecar.failing_turn import (
    fails,
    failure_of,
    is_healthy,
    next_request_is_answered,
)

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

FLOOD = 50_000_000
MIB = 1024 * 1024


def _peak_mb(client: SidecarClient) -> float:
    """The most memory that the sidecar ever had."""
    if not CAN_LOOK:
        return 0.0
    with open(f"/proc/{client.pid}/status", encoding="utf-8") as status:
        (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
    return int(peak) / 1024


def test_noise_on_stdout_never_reaches_the_client_and_the_messages_in_it_do(
    start: Start,
) -> None:
    client = start("noise")
    client.open()
    turn = client.turn()
    # The driver holds that every line is a JSON object; nothing else than the turn's came.
    assert set(turn.kinds) == {"agent_message_chunk"}
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    for mode in ("two-frames-on-a-line", "frame-on-two-lines"):
        since = len(client.frames)
        prompt = client.prompt(f"fail {mode}")
        # What comes between the two comes in one piece.
        client.go_on()
        client.go_on()
        turn = client.end_of(prompt, since)
        assert is_healthy(turn), mode
        assert turn.text.startswith("I begin.ab"), mode
        assert turn.text.endswith("eHere is the answer."), mode
    for mode, said in (
        ("wide-characters", "I begin.Here is the answer."),
        ("not-a-number", "Here is the answer."),
        ("lone-surrogate", "broken \ud83d here"),
        ("invalid-utf8", "broken \ufffd here"),
    ):
        assert said in client.turn(f"fail {mode}").text, mode
    assert rb"broken \ud83d here" in client.stdout.data
    assert all(frame.get("jsonrpc") == "2.0" for frame in client.frames)


def test_a_line_over_the_limit_ends_the_turn_typed_and_one_just_below_passes(
    start: Start,
) -> None:
    client = start("healthy", options=["--line-limit", "1MiB", "--cancel-grace", "60"])
    client.open()
    assert fails(client, "long-line", 3 * MIB) == ("protocol_error", "line_too_long")
    turn = client.turn(f"fail long-answer {3 * MIB}")
    assert failure_of(turn)["reason"] == "line_too_long"
    assert turn.text == "Here is the answer."
    assert len(client.stdout.data) < 64 * 1024
    assert len(client.turn(f"fail long-line {MIB - 4096}").text) == MIB - 4096


def test_a_line_over_the_default_limit_costs_no_more_memory_than_the_limit(
    start: Start,
) -> None:
    client = start("healthy", options=["--cancel-grace", "60"])
    client.open()
    assert fails(client, "long-line", 80 * MIB) == ("protocol_error", "line_too_long")
    assert is_healthy(client.turn("hello"))
    assert _peak_mb(client) < 3 * 64


def test_a_flood_on_stderr_neither_blocks_a_turn_nor_costs_memory(start: Start) -> None:
    client = start("healthy", options=["--stderr-limit", "0"])
    client.open()
    for mode in ("stderr-flood", "stderr-flood-without-lines"):
        assert is_healthy(client.turn(f"fail {mode} {FLOOD}")), mode
    assert _peak_mb(client) < 64
    client.stderr.reading = False
    before, read = _peak_mb(client), len(client.stderr.data)
    turn = client.turn(f"fail stderr-flood-beside-text {10 * FLOOD}", fuse=5 * FUSE_SECONDS)
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text.split() == [str(number) for number in range(len(turn.updates))]
    # Freed blocks of 64 KiB among smaller ones: what grows comes to an end, see `benchmarks/`.
    assert _peak_mb(client) - before < 16
    client.stderr.reading = True
    client.end()
    client.listen(1)
    assert "bytes of the agent's stderr left out here" in client.said
    assert len(client.stderr.data) - read < MIB


def test_a_flood_on_stderr_ends_the_turn_typed_and_a_talkative_agent_does_not(
    start: Start,
) -> None:
    # 20 times 500 KiB, each with a frame after it. The two pipes are not in step: what is read
    # from one may be older by what the other holds, 1 MiB.
    client = start("healthy", options=["--stderr-limit", "2MiB"])
    client.open()
    turn = client.turn(f"fail talkative {500 * 1024}")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert len(turn.updates) == 20
    assert fails(client, "stderr-flood", 6 * MIB) == ("stderr_overflow", "stderr_limit")
    next_request_is_answered(client)


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


def test_stdout_and_stderr_on_one_pipe_do_not_mix_their_lines(
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
    # An agent that still writes when its client leaves has two seconds.
    client.read_until_true(lambda: b'"result"' in client.stdout.data, "the answer")
    client.close_stdin()
    lines = client.read_to_end().splitlines()
    frames = [line for line in lines if line.startswith(b"{")]
    noise = [line for line in lines if line.startswith(b"noise ")]
    assert len([json.loads(frame) for frame in frames]) == 201
    assert noise
    assert all(line == b"noise " + b"x" * 1000 for line in noise)
    assert b"last words" in lines


def test_a_quiet_sidecar_relays_the_agents_stderr_and_adds_nothing(
    start: Start,
) -> None:
    # A byte order mark at its beginning does not hide the first answer.
    client = start("byte-order-mark")
    client.open()
    client.turn("hello")
    assert b"\xef\xbb\xbf" not in client.stdout.data
    assert client.said == ""
    assert is_healthy(client.turn("fail warns"))
    client.expect_stderr("warning: the cache is cold \u2603\n")
    assert client.end() == 0
    client.listen(0.1)
    assert client.said == "warning: the cache is cold \u2603\n"


def test_a_client_that_never_reads_our_stderr_can_block_neither_a_turn_nor_the_end(
    start: Start,
) -> None:
    client = start("healthy", options=["--verbose"])
    client.open()
    client.stderr.reading = False
    for _ in range(2):
        assert is_healthy(client.turn("fail stderr-flood 3000000"))
    assert fails(client, "stderr-flood-then-dies", 3_000_000)[0] == "agent_crash"
    next_request_is_answered(client)
    client.close(client.stderr)
    next_request_is_answered(client)
    client.close_stdin()
    client.wait()


KEY = "xq7-canary-Zw93hTTp0-do-not-show"


def test_a_key_that_the_agent_prints_is_in_none_of_our_frames_and_not_in_the_log(
    start: Start,
) -> None:
    client = start("leaks-the-key", environment={"FOO_API_KEY": KEY}, options=["--verbose"])
    client.open()
    client.turn()
    client.expect_stderr("rule=")
    assert KEY not in client.said
    turn = client.turn("fail leaks-the-key-and-says-nothing")
    assert "error" in turn.answer
    failure_of(client.turn("fail leaks-the-key-and-dies"))
    client.call("session/new", cwd="/", mcpServers=[])
    # The kept end of stderr begins in the middle of a key, wherever that is.
    failure_of(client.turn("fail floods-with-the-key-and-dies"))
    told = client.stdout.data.decode()
    assert "canary" not in told
    assert not [KEY[n:] for n in range(len(KEY) - 6) if KEY[n:] in told]
