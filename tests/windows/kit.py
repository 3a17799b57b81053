"""An editor in front of `lastword run`, on pipes; processes by their parents."""

from __future__ import annotations

import ctypes
import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from ctypes import wintypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lastword.platform.files import is_running

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FUSE_SECONDS = 60.0
AGENT = Path(__file__).with_name("agent.py")


def agent(mode: str) -> list[str]:
    """Return the command of the agent that fails so."""
    return [sys.executable, str(AGENT), mode]


def lastword(*arguments: str) -> list[str]:
    """Return lastword's own command."""
    return [sys.executable, "-m", "lastword", *arguments]


def run(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, without input; nothing that it prints is a traceback."""
    ended = subprocess.run(
        command, input=b"", capture_output=True, timeout=2 * FUSE_SECONDS, check=False
    )
    assert b"Traceback" not in ended.stdout + ended.stderr
    return ended


def said_by(*command: str, encoding: str = "utf-8") -> tuple[int, str]:
    """Return the exit status and the output of a command without input."""
    ended = run(*command)
    return ended.returncode, (ended.stdout + ended.stderr).decode(encoding)


class Client:
    """A client of an agent, or of what stands in front of one."""

    def __init__(self, *command: str, environment: Mapping[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )
        self.frames: queue.Queue[dict[str, Any]] = queue.Queue()
        self.updates: list[str] = []
        """The text of all updates."""
        self.errors: list[bytes] = []
        self._numbers = 0
        self._readers = [threading.Thread(target=each) for each in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(FUSE_SECONDS)
        for reader in self._readers:
            reader.join(FUSE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(OSError):  # what was not written to a reader that has gone
                stream.close()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.frames.put(json.loads(line))

    def _read_errors(self) -> None:
        for line in self.process.stderr or ():
            self.errors.append(line)
            del self.errors[:-50]

    def send(self, method: str, **params: object) -> int:
        """Send a request; return its id."""
        self._numbers += 1
        self._write({"jsonrpc": "2.0", "id": self._numbers, "method": method, "params": params})
        return self._numbers

    def _write(self, frame: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\r\n")
        self.process.stdin.flush()

    def _first(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the next frame that is wanted; keep the texts of those before it."""
        deadline = time.monotonic() + FUSE_SECONDS
        while True:
            frame = self.frames.get(timeout=max(0.0, deadline - time.monotonic()))
            if wanted(frame):
                return frame
            self.updates.append((update_in(frame).get("content") or {}).get("text", ""))

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request."""
        return self._first(lambda frame: frame.get("id") == number and "method" not in frame)

    def update(self, kind: str) -> dict[str, Any]:
        """Return the next update of a kind."""
        return update_in(self._first(lambda f: update_in(f).get("sessionUpdate") == kind))

    def session(self, folder: str = "", **capabilities: object) -> str:
        """Begin a session; return its id."""
        if not self._numbers:
            hello = {"protocolVersion": 1, "clientCapabilities": capabilities}
            self.answer(self.send("initialize", **hello))
        begun = self.answer(self.send("session/new", cwd=folder or os.getcwd(), mcpServers=[]))
        return str(begun["result"]["sessionId"])

    def ask(self, session: str, text: str = "hello") -> int:
        """Send a prompt; return its id."""
        content = [{"type": "text", "text": text}]
        return self.send("session/prompt", sessionId=session, prompt=content)

    def prompt(self, session: str, text: str = "hello") -> dict[str, Any]:
        """Send a prompt; return its answer."""
        return self.answer(self.ask(session, text))

    def notify(self, method: str, **params: object) -> None:
        """Send a notification."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def leave(self) -> int:
        """Close our side; return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(FUSE_SECONDS)


class Editor(Client):
    """A client of `lastword run -- COMMAND`."""

    def __init__(self, *command: str, options: tuple[str, ...] = ("--no-record",)) -> None:
        super().__init__(*lastword("run", *options, "--", *command))


def update_in(frame: dict[str, Any]) -> dict[str, Any]:
    """Return the update of a notification; an empty one where the frame is none."""
    update: dict[str, Any] = frame.get("params", {}).get("update", {})
    return update


def failure(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the typed error of an answer."""
    return answer["error"]["data"]["agent_error"]  # type: ignore[no-any-return]


class _Entry(ctypes.Structure):
    _fields_ = (
        ("size", wintypes.DWORD),
        ("usage", wintypes.DWORD),
        ("pid", wintypes.DWORD),
        ("heap", ctypes.c_size_t),
        ("module", wintypes.DWORD),
        ("threads", wintypes.DWORD),
        ("parent", wintypes.DWORD),
        ("priority", wintypes.LONG),
        ("flags", wintypes.DWORD),
        ("name", ctypes.c_wchar * 260),
    )


def descendants(pid: int) -> set[int]:
    """Return the processes below one, while it runs."""
    kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    kernel32.CreateToolhelp32Snapshot.restype = wintypes.HANDLE
    snapshot = wintypes.HANDLE(kernel32.CreateToolhelp32Snapshot(2, 0))
    entry, parents = _Entry(), {}
    entry.size = ctypes.sizeof(entry)
    more = kernel32.Process32FirstW(snapshot, ctypes.byref(entry))
    while more:
        parents[entry.pid] = entry.parent
        more = kernel32.Process32NextW(snapshot, ctypes.byref(entry))
    kernel32.CloseHandle(snapshot)
    below = {pid}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    return below - {pid}


def all_gone(pids: set[int]) -> bool:
    """Return whether none of these processes runs, after a moment."""
    deadline = time.monotonic() + 10
    while pids & descendants(0) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(is_running(pid) for pid in pids)
