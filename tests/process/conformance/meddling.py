"""What stands before an agent that is well, to make one thing wrong on its way out or in.

Owns the relay, the modes of the whole process, and the tables that `meddles` fills with those of
frames.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Frame = dict[str, Any]

CARRIED = {"agent_error", "session_info_update"}


class Meddler:
    """What stands between, and what it remembers."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.asked: dict[object, Frame] = {}
        self.requests: list[object] = []
        self.greeted = False
        self.broken = False
        self.cancelled = False
        self.lock = threading.Lock()

    def run(self, command: list[str]) -> int:
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self.listen, daemon=True).start()
        for line in self.child.stdout:
            frame = json.loads(line)
            for out in OUT.get(self.mode, _as_it_is)(self, frame):
                self.say(out)
        self.child.wait()
        return 3 if self.mode == "exit-3" else 0

    def say(self, out: Frame | bytes) -> None:
        data = out if isinstance(out, bytes) else json.dumps(out).encode()
        with self.lock:
            view = memoryview(data + b"\n")
            while view:
                view = view[os.write(1, view) :]

    def listen(self) -> None:
        lines = _first_lines() if self.mode == "reads-blocks" else sys.stdin.buffer
        for line in lines:
            self.hear(line)
        if self.mode == "stays" or (self.mode == "stays-in-turn" and self.open_turn()):
            threading.Event().wait(600)
        self.child.stdin.close()

    def hear(self, line: bytes) -> None:
        if self.mode.startswith("dies-of-"):
            _die_of(self.mode.removeprefix("dies-of-"), line)
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if isinstance(frame, dict):
            if "id" in frame and "method" in frame:
                self.asked[frame["id"]] = frame
            if not IN.get(self.mode, lambda *_: True)(self, frame):
                return
        self.child.stdin.write(line)
        self.child.stdin.flush()

    def send(self, frame: Frame) -> None:
        self.child.stdin.write(json.dumps(frame).encode() + b"\n")
        self.child.stdin.flush()

    def open_turn(self) -> bool:
        return any(frame["method"] == "session/prompt" for frame in self.asked.values())

    def asked_by(self, frame: Frame) -> str:
        """The method that a frame answers."""
        return str(self.asked.pop(frame.get("id"), {}).get("method"))


def _first_lines():
    while data := os.read(0, 1 << 16):
        yield data.split(b"\n")[0] + b"\n"


def _die_of(junk: str, line: bytes) -> None:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        if junk == "utf8":
            os._exit(1)
        return
    if not text.strip():
        if junk == "blank":
            os._exit(1)
        return
    try:
        value = json.loads(text)
    except ValueError:
        if junk == "text":
            os._exit(1)
        return
    if junk == "scalars" and not isinstance(value, dict):
        os._exit(1)


def _as_it_is(_meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    return [frame]


OUT: dict[str, Callable[[Meddler, Frame], list[Frame | bytes]]] = {}
IN: dict[str, Callable[[Meddler, Frame], bool]] = {}
WHOLE = (
    *("nothing", "reads-blocks", "stays", "stays-in-turn", "exit-3"),
    *("dies-of-text", "dies-of-scalars", "dies-of-blank", "dies-of-utf8"),
)
"""Modes of the process rather than of frames."""


def entered(table: dict[str, Any], *modes: str) -> Callable[[Any], Any]:
    """Enter a function: what becomes of the agent's frames, or which of the client's pass."""

    def enter(function: Any) -> Any:
        table.update(dict.fromkeys(modes, function))
        return function

    return enter
