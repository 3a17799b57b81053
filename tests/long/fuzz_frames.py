"""A fuzzer for what comes off a pipe: not run by pytest, needs `atheris`.

    python -m tests.long.fuzz_frames -max_total_time=60 [CORPUS_FOLDER]

Options are libFuzzer's. What may never happen: an exception, a line that changes by how the bytes
were cut, a block that is read otherwise than its lines, or a frame of ours that is no frame.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import atheris

from tests.kit.places import PROTOCOL
from tests.kit.simulation import spoiled

with atheris.instrument_imports(include=["lastword"]):
    from lastword.core.link.connection import Connection, LinkOptions, Side
    from lastword.core.link.effects import Answer, Send
    from lastword.core.link.failopen import FailOpen
    from lastword.core.protocol import glued, jsonrpc
    from lastword.platform.framing import LineReader

LIMIT_BYTES = 200
VECTORS = PROTOCOL / "vectors"
MAX_SEEDS = 600


def fuzz(data: bytes) -> None:
    """One input: its first byte says where it is cut, and how."""
    cut, block = (data[0] if data else 1), data[1:]
    check_lines(block, max(1, cut))
    check_block(block)
    check_parts(block)
    check_link(block, seconds=cut)


def check_lines(data: bytes, size: int) -> None:
    """However the bytes are cut, the same lines come out, and none over the limit."""
    whole, pieces = LineReader(LIMIT_BYTES), LineReader(LIMIT_BYTES)
    at_once = [line for line in whole.feed(data)[1].split(b"\n") if len(line) <= LIMIT_BYTES]
    in_pieces: list[bytes] = []
    for start in range(0, len(data), size):
        in_pieces += pieces.feed(data[start : start + size])[1].split(b"\n")
    kept = [line for line in in_pieces if line and len(line) <= LIMIT_BYTES]
    assert kept == [line for line in at_once if line]
    assert len(pieces.rest()) <= LIMIT_BYTES + size


def check_block(data: bytes) -> None:
    """A block that is read in one go says what its lines say one by one."""
    block = data if data.endswith(b"\n") else data + b"\n"
    messages = jsonrpc.decode_block(block)
    lines = jsonrpc.split_block(block, messages) if messages else None
    if messages and lines is not None:
        assert len(lines) == len(messages)
        for line, message in zip(lines, messages, strict=True):
            alone = jsonrpc.decode(line)
            if isinstance(alone, jsonrpc.Frame):
                assert alone.message.method == message.method
                assert alone.message.request_id == message.request_id


def check_parts(data: bytes) -> None:
    """A frame is found behind whatever else, and what is in front never becomes one."""
    for line in data.split(b"\n"):
        alone = glued.decode_parts(line, may_quote=True)
        assert alone
        assert len(alone) > 1 or alone == [jsonrpc.decode(line)]
        # A word in front of the frame: nothing that could open a list, or label a quotation.
        behind = glued.decode_parts(line + b" text" + FRAME, may_quote=True)
        assert behind[-1] == jsonrpc.decode(FRAME)
        assert b"".join(part.line for part in behind).endswith(FRAME)


FRAME = b'{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","text":"\\"}{"}}'


def _raised(error: Exception) -> None:
    raise error


def check_link(data: bytes, *, seconds: int) -> None:
    """The core takes anything from either side; what it says itself is JSON, one object a line."""
    core = FailOpen(Connection(LinkOptions(restart="on-crash", cancel_grace_seconds=1)), _raised)
    now = 0.0
    for number, line in enumerate(data.split(b"\n")):
        side = Side.CLIENT if number % 2 == 0 else Side.AGENT
        if spoiled.FILLER in line:
            effects = core.receive_oversized(side, spoiled.ends_of(line), now)
        else:
            effects = core.receive(side, jsonrpc.decode(line), now)
        now += seconds
        due = core.next_timeout()
        if due is not None and due <= now:
            effects += core.handle_timeout(now)
        for effect in effects:
            if isinstance(effect, Send | Answer):
                assert b"\n" not in effect.frame
                assert isinstance(json.loads(effect.frame), dict)


OPENED = (
    b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}',
    b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}',
    b'{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}',
)


def seed(folder: Path) -> None:
    """What the vectors say, and lines that cannot be read in mid-turn, as the first inputs."""
    draw = random.Random(1)
    for number, what in enumerate((spoiled.ANSWER, spoiled.REQUEST, spoiled.OTHER) * 40):
        agent = number % 2 == 0
        _, _, line, _, _ = spoiled.spoiled(
            draw.choice,
            side="agent" if agent else "client",
            what=what,
            own=draw.choice((b"2", b"7", b'"v1.0"', b"2147483648")),
            decoy=draw.choice((b"2", b"1")),
            session=b"s1",
        )
        lines = [*OPENED, *([] if agent else [b""]), line]
        (folder / f"spoiled-{number}").write_bytes(bytes([number]) + b"\n".join(lines))
    steps = [
        step.get("client") or step.get("agent")
        for file in sorted(VECTORS.glob("*.json"))
        for vector in json.loads(file.read_text(encoding="utf-8"))
        for step in vector["steps"]
    ]
    frames = [json.dumps(frame).encode() for frame in steps if frame]
    for number in range(0, min(len(frames), MAX_SEEDS * 4), 4):
        text = b"\n".join(frames[number : number + 4])
        (folder / f"seed-{number}").write_bytes(bytes([number % 251]) + text)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if not argument.startswith("-") and Path(argument).is_dir():
            seed(Path(argument))
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
