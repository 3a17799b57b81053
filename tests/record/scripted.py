"""Turns of a scripted agent behind a real `lastword run`, and what the record then tells of them.

Owns the client that plays such a turn: it can cancel, and it can leave in the middle. What the
agent does is a scenario file's; what should be told is each test's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from typing import TYPE_CHECKING, Any

from recording import FUSE_SECONDS, lastword

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Frame = dict[str, Any]

ALLOWED = {"outcome": {"outcome": "selected", "optionId": "allow"}}


class Desk:
    """A client of a sidecar. Every frame that came is kept as it came."""

    def __init__(
        self,
        folder: Path,
        script: Frame,
        *options: str,
        params: Frame | None = None,
        before_exec: Callable[[], None] | None = None,
        **environment: str,
    ) -> None:
        """Start the sidecar before the scripted agent, and open a session.

        Args:
            folder: where the scenario file is put, and the state folder is.
            script: the scenario.
            options: of `lastword run`.
            params: further members of `session/new`.
            before_exec: what the sidecar's process does before it becomes one.
            environment: further variables of the sidecar.
        """
        file = folder / "scenario.json"
        file.write_text(json.dumps(script))
        agent = [sys.executable, "-m", "lastword", "agent", "--bare", "--file", str(file)]
        self.state = folder / "state"
        self._log = folder / "sidecar.stderr"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lastword", "run", *options, "--", *agent],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"LASTWORD_STATE_DIR": str(self.state)} | environment,
                preexec_fn=before_exec,  # noqa: PLW1509 - one call of the system's, and no lock
            )
        self._fuse = threading.Timer(FUSE_SECONDS, self.process.kill)
        self._fuse.start()
        self.lines: list[bytes] = []
        self._next = 0
        told = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
        hello = {"protocolVersion": 1, "clientCapabilities": told}
        self.ask("initialize", hello | {"clientInfo": {"name": "an-editor", "version": "1"}})
        opened = self.ask("session/new", {"cwd": "/tmp", "mcpServers": []} | (params or {}))
        self.session: str = opened["result"]["sessionId"]

    def begin(self, method: str, params: Frame) -> int:
        """Send a request; gives its id."""
        number, self._next = self._next, self._next + 1
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def ask(self, method: str, params: Frame) -> Frame:
        """Send a request and wait for its answer."""
        return self.answer_to(self.begin(method, params))

    def prompt(self, text: str = "SECRET-WORDS-OF-MINE") -> int:
        """Begin a turn; gives its id."""
        blocks = [{"type": "text", "text": text}]
        return self.begin("session/prompt", {"sessionId": self.session, "prompt": blocks})

    def cancel(self, **more: Any) -> None:
        """The user cancels."""
        params = {"sessionId": self.session} | more
        self._send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})

    def answer_to(self, number: int) -> Frame:
        """The answer; a permission that is asked for meanwhile is given."""
        while True:
            frame = self._read()
            if frame.get("method") == "session/request_permission":
                self._send({"jsonrpc": "2.0", "id": frame["id"], "result": ALLOWED})
            if frame.get("id") == number and "method" not in frame:
                return frame

    def until(self, kind: str) -> None:
        """Read on until an update of this kind has come."""
        while self._read().get("params", {}).get("update", {}).get("sessionUpdate") != kind:
            continue

    def leave(self) -> int:
        """Close the pipes, and wait for the sidecar's end; gives its exit status."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.lines += self.process.stdout.readlines()
        status = self.process.wait(FUSE_SECONDS)
        self._fuse.cancel()
        self.process.stdout.close()
        return status

    def said(self) -> str:
        """What the sidecar, and everything under it, wrote to stderr."""
        return self._log.read_text(errors="replace")

    def _send(self, frame: Frame) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> Frame:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the sidecar ended without an answer: {self.said()}"
        self.lines.append(line)
        frame: Frame = json.loads(line)
        return frame


def summary_of(state: Path) -> str:
    """The summary of the session that last had a turn, as `lastword export -o -` prints it."""
    done = lastword("export", "--last", "-o", "-", state=state)
    assert done.returncode == 0, done.stderr
    return done.stdout


def members(state: Path, folder: Path) -> dict[str, str]:
    """The members of the same session's export, as texts."""
    file = folder / "export.zip"
    done = lastword("export", "--last", "--force", "-o", str(file), state=state)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}
