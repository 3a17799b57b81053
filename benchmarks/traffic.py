"""The traffic of the benchmarks: frames as agents send them, made from a fixed seed."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SESSION = "sess_01hv5m2c9dq8w0"
SENTENCE = (
    "the a of to in and is that for it as with on be this are or from by an we which file test "
    "function returns value error module `config.py` `parse()` import because line change "
    'request session update agent client result "quoted" path/to/file 42 0x1f then where when '
    "each call reads writes first second line-by-line check runs passes fails before after name "
    "list index loop type class field method argument default option string bytes number empty — "
    "it\u2019s …\n"
)
WORDS = SENTENCE.split(" ")


@dataclass(frozen=True)
class Traffic:
    """A file of frames, what it holds, and how large its middle frame is."""

    path: Path
    data: bytes
    frames: int

    @property
    def middle_bytes(self) -> int:
        """The median size of a frame, newline included."""
        return int(median(len(line) for line in self.data.splitlines(keepends=True)))


def encode(update: dict[str, object]) -> bytes:
    """One `session/update` frame."""
    params = {"sessionId": SESSION, "update": update}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def prose(random_: random.Random, size: int) -> str:
    """Text of about `size` characters, unlike any other."""
    return " ".join(random_.choices(WORDS, k=max(1, size // 6)))


def small(random_: random.Random) -> bytes:
    """A piece of the agent's message or thought, 311 bytes in the middle."""
    kind = random_.choices(("agent_message_chunk", "agent_thought_chunk"), (4, 1))[0]
    text = prose(random_, random_.randint(34, 258))
    return encode({"sessionUpdate": kind, "content": {"type": "text", "text": text}})


def tool(random_: random.Random, number: int, size: int) -> Iterator[bytes]:
    """A tool call that starts and completes with content of about `size` bytes."""
    call = f"call_{number:08d}"
    yield encode(
        {"sessionUpdate": "tool_call", "toolCallId": call, "title": f"Read part {number}"}
        | {"kind": "read", "status": "in_progress", "rawInput": {"path": f"/tmp/part{number}.py"}}
    )
    page = prose(random_, min(size, 50_000))
    text = (page * (size // len(page) + 1))[:size]
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    yield encode(
        {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"}
        | {"content": content}
    )


def write_small(path: Path, frames: int) -> Traffic:
    """`frames` small frames; every 20,000 the same ones come again."""
    random_ = random.Random(1)
    unique = [small(random_) for _ in range(min(frames, 20_000))]
    data = b"".join(unique) * (frames // len(unique))
    return _written(path, data)


def write_mixed(path: Path, megabytes: int) -> Traffic:
    """95 % small frames, tool content of 1 to 50 KB, and now and then 1 to 5 MB."""
    random_ = random.Random(2)
    parts: list[bytes] = []
    number = size = 0
    while size < megabytes * 1_000_000:
        number += 1
        new = [small(random_) for _ in range(38)]
        large = random_.random() < 1 / 53
        new += tool(
            random_,
            number,
            random_.randint(*((10**6, 5 * 10**6) if large else (10**3, 50 * 10**3))),
        )
        size += sum(map(len, new))
        parts += new
    return _written(path, b"".join(parts))


def _written(path: Path, data: bytes) -> Traffic:
    path.write_bytes(data)
    return Traffic(path, data, data.count(b"\n"))
