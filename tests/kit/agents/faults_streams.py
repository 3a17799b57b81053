"""Agents that put the wrong bytes, or too many of them, on stdout or stderr."""

from __future__ import annotations

import json
import os
import sys
import time

from lastword.kit.agent.plain import write_all
from tests.kit.agents.acp_agent import SESSION, at_prompt, at_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent

NOISE = (
    b"Debugger attached.\n",
    b"\x1b[33mwarning\x1b[0m: [not json]\n",
    b"42\n",
    b'"a string"\n',
    b"null\n",
    b"[1, 2, 3]\n",
    b'[{"jsonrpc": "2.0", "method": "session/update"}]\n',
    b"{}\n",
    b'{"no": "message"}\n',
    b"{'jsonrpc': '2.0'}\n",
    b"\n   \n\r\n",
    b"\xff\xfe\x00 no text\n",
    b"[" * 5000 + b"\n",
)


def _chunk(text: bytes) -> bytes:
    """A frame whose text is these very bytes, inside the quotes."""
    head = f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}",'
    tail = b'"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
    return head.encode() + tail + text + b'"}}}}\n'


@at_start
def noise(agent: Agent) -> None:
    """Prints lines that are no messages, before its first answer and between a turn's frames."""
    agent.wire.write(b"Welcome to the agent!\n" + b"".join(NOISE))
    agent.on_fail = _noisy_turn


def _noisy_turn(agent: Agent, prompt: object) -> None:
    for line in NOISE:
        agent.wire.write(line)
        agent.say("Something.")
    agent.end_turn(prompt)


@at_prompt
def invalid_utf8(agent: Agent, prompt: object) -> None:
    """Has a byte in a text that is no UTF-8."""
    agent.wire.write(_chunk(b"broken \xff here"))
    agent.end_turn(prompt)


@at_prompt
def lone_surrogate(agent: Agent, prompt: object) -> None:
    """Has half a surrogate pair in a text, escaped, as JavaScript writes it."""
    agent.wire.write(_chunk(rb"broken \ud83d here"))
    agent.end_turn(prompt)


@at_start
def byte_order_mark(agent: Agent) -> None:
    """Begins its stdout with a byte order mark, as some runtimes do."""
    agent.wire.write(b"\xef\xbb\xbf")


@at_prompt
def wide_characters(agent: Agent, prompt: object) -> None:
    """Writes a line in UTF-16, then goes on in UTF-8."""
    agent.say("I begin.")
    agent.wire.write(_chunk(b"wide").decode().encode("utf-16-le"))
    agent.wire.write(b"\n")
    agent.serve(prompt)


@at_prompt
def not_a_number(agent: Agent, prompt: object) -> None:
    """Writes NaN and Infinity, which are no JSON, into an update and into its answer."""
    agent.say("Here is the answer.")
    agent.update("usage_update", used=float("nan"), size=float("-inf"))
    agent.answer(prompt, result={"stopReason": "end_turn", "_meta": {"cost": float("nan")}})


@at_prompt
def two_frames_on_a_line(agent: Agent, prompt: object) -> None:
    """Puts two frames on one line, among good ones, as two threads without a lock do."""
    agent.say("I begin.")
    agent.wait_for_go()
    glued = _chunk(b"c").strip() + _chunk(b"d")
    agent.wire.write(_chunk(b"a") + _chunk(b"b") + glued + _chunk(b"e"))
    agent.wait_for_go()
    agent.serve(prompt)


@at_prompt
def frame_on_two_lines(agent: Agent, prompt: object) -> None:
    """Breaks one frame over two lines, among good ones, as pretty-printing does."""
    agent.say("I begin.")
    agent.wait_for_go()
    broken = _chunk(b"c").replace(b'"update"', b'\n"update"')
    agent.wire.write(_chunk(b"a") + _chunk(b"b") + broken + _chunk(b"e"))
    agent.wait_for_go()
    agent.serve(prompt)


@at_prompt
def long_line(agent: Agent, prompt: object) -> None:
    """Sends a text of so many bytes (its argument) in one frame, then ends the turn well."""
    agent.wire.write(_chunk(b"x" * int(agent.argument)))
    agent.end_turn(prompt)


@at_prompt
def long_answer(agent: Agent, prompt: object) -> None:
    """Sends an answer of so many bytes (its argument)."""
    agent.say("Here is the answer.")
    meta = {"x": "x" * int(agent.argument)}
    agent.answer(prompt, result={"stopReason": "end_turn", "_meta": meta})


@at_prompt
def many_frames(agent: Agent, prompt: object) -> None:
    """Sends so many frames (its argument) of 1 KB, all different, then ends the turn well."""
    frames = [_chunk(b"%08d" % number + b"y" * 900) for number in range(100)]
    for number in range(int(agent.argument)):
        agent.wire.write(frames[number % 100])
    agent.end_turn(prompt)


@at_prompt
def stderr_flood(agent: Agent, prompt: object) -> None:
    """Writes so many bytes (its argument) to stderr, then ends the turn well."""
    _flood(agent, b"a warning that nobody reads\n" * 2000)
    agent.serve(prompt)


@at_prompt
def stderr_flood_without_lines(agent: Agent, prompt: object) -> None:
    """Writes so many bytes (its argument) to stderr without a line end, then ends the turn well."""
    _flood(agent, b"." * 64000)
    agent.serve(prompt)


@at_prompt
def stderr_flood_then_dies(agent: Agent, _prompt: object) -> None:
    """Writes so many bytes (its argument) to stderr, and exits 1."""
    _flood(agent, b"a warning that nobody reads\n" * 2000)
    os._exit(1)


@at_prompt
def stderr_flood_beside_text(agent: Agent, prompt: object) -> None:
    """Lets a child write so many bytes (its argument) to stderr, and numbers texts meanwhile."""
    child = os.fork()
    if child == 0:
        _flood(agent, b"a warning that nobody reads\n" * 2000)
        os._exit(0)
    number = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        agent.say(f"{number} ")
        number += 1
        time.sleep(0.001)
    agent.end_turn(prompt)


@at_prompt
def talkative(agent: Agent, prompt: object) -> None:
    """Writes so many bytes (its argument) to stderr before each of its 20 frames."""
    for _ in range(20):
        _flood(agent, b"a log line\n" * 5000)
        agent.say("Something.")
    agent.end_turn(prompt)


def _flood(agent: Agent, piece: bytes) -> None:
    left = int(agent.argument)
    while left > 0:
        write_all(2, piece[:left])
        left -= len(piece)


@at_prompt
def warns(agent: Agent, prompt: object) -> None:
    """Writes one line to stderr and ends the turn well."""
    write_all(2, "warning: the cache is cold \u2603\n".encode())
    agent.serve(prompt)


@at_start
def cat(agent: Agent) -> None:
    """No agent: writes its input back."""
    while data := os.read(0, 65536):
        agent.wire.write(data)
    os._exit(0)


@at_start
def tape(agent: Agent) -> None:
    """Plays the file of its 1st argument at a prompt; keeps all of its input in that of the 2nd."""
    with open(agent.arguments[0], "rb") as played, open(agent.arguments[1], "wb") as heard:
        frames = played.read()
        for line in sys.stdin.buffer:
            heard.write(line)
            heard.flush()
            message = json.loads(line.decode("utf-8", "replace"))
            method = message.get("method")
            if method == "initialize":
                agent.answer(message["id"], result={"protocolVersion": 1})
            elif method == "session/prompt":
                agent.wire.write(frames)
    os._exit(0)
