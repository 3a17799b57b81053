"""Bounds: of our own frames, and of what passes byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.process.attacks.watched import END_TURN

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

MAX_OWN_FRAME_BYTES = 60 * 1024
LONG_ID = "x" * 200_000

# TERM-11, G6: a frame of ours is short, however long an agent's ids are.


def test_our_own_frames_stay_short_when_an_agent_leaves_a_long_id_open(
    attack: Attack,
) -> None:
    tool = {"toolCallId": LONG_ID, "title": "Edit", "status": "pending"}
    turns: list[list[Any]] = [
        [["update", "tool_call", tool], ["error", {"code": -32603, "message": "Odd."}]],
        [["send", {"id": LONG_ID, "method": "session/request_permission", "params": {}}], ["kill"]],
    ]
    with attack.run({"session/prompt": turns}) as client:
        client.open()
        for _ in turns:
            since = len(bytes(client.stdout.data).splitlines())
            assert "error" in client.turn()
            lines = bytes(client.stdout.data).splitlines()[since:]
            long = next(number for number, line in enumerate(lines) if LONG_ID.encode() in line)
            assert max(map(len, lines[long + 1 :])) < MAX_OWN_FRAME_BYTES


# FRM-1: what JSON allows passes, byte for byte. FRM-2: what is no UTF-8 does not reach the client.

NESTED = "[" * 1000 + "]" * 1000
DEEP = (
    (
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
        f'{{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read","rawOutput":{NESTED}}}}}}}\n'
    ),
    f'{{"jsonrpc":"2.0","method":"_x/y","params":{NESTED}}}\n',
    f'{{"jsonrpc":"2.0","id":$id,"result":{{"stopReason":"end_turn","_meta":{{"x":{NESTED}}}}}}}\n',
)


def test_deeply_nested_json_passes_byte_for_byte_both_ways(attack: Attack) -> None:
    turn = [["say", "Here."], *(["raw", line] for line in DEEP)]
    with attack.run({"session/prompt": [turn]}) as client:
        client.open()
        client.expect_answer_to(7)
        client.send_line(
            b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s1",'
            b'"prompt":[{"type":"text","text":"Hello"}],"_meta":{"x":%s}}}' % NESTED.encode()
        )
        assert "result" in client.answer(7)
        assert bytes(client.stdout.data).count(NESTED.encode()) == len(DEEP)
    assert NESTED.encode() in (attack.folder / "journal").read_bytes().replace(b" ", b"")


def chunk(text: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' % text
    )


def test_invalid_utf_8_never_reaches_the_client_however_many_frames_come_at_once(
    attack: Attack,
) -> None:
    turns = []
    for frames in (1, 10, 500):
        lines = [chunk(b"%d" % number) for number in range(frames)]
        lines[frames // 2] = chunk(b"caf\xe9")
        turns.append([["say", "Here."], ["bytes", b"".join(lines).hex()], ["answer", END_TURN]])
    with attack.run({"session/prompt": turns}) as client:
        client.open()
        for frames in (1, 10, 500):
            client.turn()  # each line is decoded as UTF-8
            assert len(client.updates()) == frames + 1
            client.begin_anew()
