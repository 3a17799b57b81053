"""Bounds: of our own frames, of what is kept, and of what a frame costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.doors import DOORS, command

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack, Life

END_TURN = {"stopReason": "end_turn"}
PARSE_ERROR = -32700
MAX_OWN_FRAME_BYTES = 60 * 1024
LONG_ID = "x" * 200_000


# TERM-11, G6: a frame of ours is short, however long an agent's ids are.


TOOL = ["update", "tool_call", {"toolCallId": LONG_ID, "title": "Edit", "status": "pending"}]
QUESTION = ["send", {"id": LONG_ID, "method": "session/request_permission", "params": {}}]
ERROR = ["error", {"code": -32603, "message": "Odd."}]


@pytest.mark.parametrize(
    ("left_open", "ends"),
    [(TOOL, ["kill"]), (TOOL, ERROR), (QUESTION, ["kill"])],
    ids=["a tool call of a dead agent", "a tool call of a failed turn", "a dead agent's question"],
)
def test_our_own_frames_stay_short_where_an_agent_left_something_with_a_long_id_open(
    attack: Attack, left_open: list[Any], ends: list[Any]
) -> None:
    with attack.run({"session/prompt": [[left_open, ends]]}) as client:
        client.open()
        assert "error" in client.turn()
        lines = bytes(client.stdout.data).splitlines()
        (long,) = [number for number, line in enumerate(lines) if LONG_ID.encode() in line][:1]
        assert max(map(len, lines[long + 1 :])) < MAX_OWN_FRAME_BYTES


def test_our_own_frames_stay_short_where_the_session_id_is_long(attack: Attack) -> None:
    agent: Life = {
        "session/new": [[["answer", {"sessionId": LONG_ID}]]],
        "session/prompt": [[ERROR]],
    }
    with attack.run(agent) as client:
        client.open()
        since = len(bytes(client.stdout.data).splitlines())
        assert "error" in client.turn("Hello", session=LONG_ID)
        lines = bytes(client.stdout.data).splitlines()[since:]
        assert max(map(len, lines)) < MAX_OWN_FRAME_BYTES


# FRM-1: what JSON allows passes, byte for byte.


DEPTHS = [100, 1000]


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("frame", ["an update", "an answer", "a notification"])
def test_what_an_agent_nests_deep_passes_byte_for_byte(
    attack: Attack, depth: int, frame: str
) -> None:
    line = {
        "an update": '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1",'
        '"update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read",'
        f'"status":"completed","rawOutput":{nested(depth)}}}}}}}\n',
        "an answer": '{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn",'
        f'"_meta":{{"x":{nested(depth)}}}}}}}\n',
        "a notification": f'{{"jsonrpc":"2.0","method":"_x/y","params":{nested(depth)}}}\n',
    }[frame]
    ends = [] if frame == "an answer" else [["answer", END_TURN]]
    agent = {"session/prompt": [[["say", "Here."], ["raw", line], *ends]]}
    with attack.run(agent, options=("--idle-timeout=5",)) as client:
        client.open()
        assert "result" in client.turn()
        assert nested(depth).encode() in client.stdout.data


@pytest.mark.parametrize("depth", DEPTHS)
def test_what_a_client_nests_deep_reaches_the_agent(attack: Attack, depth: int) -> None:
    with attack.run({}) as client:
        client.open()
        client.expect_answer_to(7)
        client.send_line(
            b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s1",'
            b'"prompt":[{"type":"text","text":"Hello"}],"_meta":{"x":%s}}}' % nested(depth).encode()
        )
        assert client.answer(7).get("result") == END_TURN


@pytest.mark.parametrize("door", DOORS)
def test_what_is_nested_too_deep_for_a_handler_is_answered(attack: Attack, door: str) -> None:
    with attack.start(*command(door)) as client:
        client.open()
        client.expect_answer_to(7)
        client.send_line(
            b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s1",'
            b'"prompt":[],"_meta":{"x":%s}}}' % nested(5000).encode()
        )
        assert client.answer(7)["error"]["code"] == PARSE_ERROR
        assert client.turn("say").get("result") == END_TURN


# FRM-2: what is no UTF-8 does not reach the client, alone or in a burst.


def chunk(text: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' % text
    )


@pytest.mark.parametrize("frames", [1, 10, 500])
def test_no_invalid_utf_8_reaches_the_client_however_many_frames_come_at_once(
    attack: Attack, frames: int
) -> None:
    lines = [chunk(b"%d" % number) for number in range(frames)]
    lines[frames // 2] = chunk(b"caf\xe9")
    burst = b"".join(lines).hex()
    agent = {"session/prompt": [[["say", "Here."], ["bytes", burst], ["answer", END_TURN]]]}
    with attack.run(agent) as client:
        client.open()
        client.turn()  # each line is decoded as UTF-8
        assert len(client.updates()) == frames + 1


# The bounds of what is kept, and of what it costs.


def test_a_line_that_comes_by_threes_takes_no_more_memory_than_its_limit(attack: Attack) -> None:
    # 300,000 bytes of one line, which is never ended.
    steps = [["say", "Here."], ["hear", "_test/go"], ["trickle", "abc", 100_000], ["hear", "_x"]]
    with attack.run({"session/prompt": [steps]}, options=("--line-limit=1MiB",)) as client:
        client.open()
        client.prompt("Hello")
        client.expect_method("session/update")
        before = client.memory
        client.notify("_test/go")
        client.notify("_test/went")
        client.read_until_true(
            lambda: bool(attack.reached("_test/went")), "the agent's last piece", fuse=120.0
        )
        assert client.memory - before < 2 * 1024 * 1024


def cpu_seconds_of(pid: int) -> float:
    """What a process's first thread has taken of the processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
def test_equal_frames_in_bulk_cost_what_different_ones_do(attack: Attack, kind: str) -> None:
    line = chunk(b"%s").decode().replace("agent_message_chunk", kind)
    times = 30_000
    bulk = [
        [["bulk", times, line % "x#"], ["say", "done"], ["answer", END_TURN]],
        [["bulk", times, line % "xxxxx"], ["say", "done"], ["answer", END_TURN]],
    ]
    with attack.run({"session/prompt": [[["serve"]], *bulk]}) as client:
        client.open()
        client.turn()
        costs = []
        for _ in bulk:
            before = cpu_seconds_of(client.pid)
            client.turn()
            costs.append(cpu_seconds_of(client.pid) - before)
        different, equal = costs
        assert equal < 4 * different
