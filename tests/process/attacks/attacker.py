"""A scripted agent that attacks: what it does at each message is a list of steps from a file.

Owns the steps and a healthy answer to whatever the script does not name. Standard library only, and
run as a plain file, so that it starts quickly. All that it reads it notes in a journal beside its
script, with the number of its life: the tests read there what reached the agent.

A script has a list of lives, one a process, the last for all further ones. A life names methods
(`session/prompt`, …), each with a list of step lists: one a message of that method, the last
repeats. Beside them it may have a `name`, `capabilities`, `start` (steps before the first message)
and `end` (steps at the end of input). In a step's strings `$id` stands for the message's id as JSON
text (or as a value, where it is the whole string), `$session` for its session and `$n` for a loop's
count.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONG_BYTES = 64 * 1024
"""Of a longer message the journal keeps the method and the id."""


class Attacker:
    """One life of the agent."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._journal = os.open(
            os.path.join(folder, "journal"), os.O_CREAT | os.O_WRONLY | os.O_APPEND
        )
        with open(os.path.join(folder, "lives"), "a+", encoding="ascii") as lives:
            lives.write("x")
            self.number = lives.tell()
        with open(os.path.join(folder, "script.json"), encoding="utf-8") as script:
            lives_of_script = json.load(script)
        self.life: dict[str, Any] = lives_of_script[min(self.number, len(lives_of_script)) - 1]
        self._times: dict[str, int] = {}
        self._open: list[Any] = []
        self._sessions = 0
        self._message: dict[str, Any] = {}
        self._count = 0

    def run(self) -> None:
        """Serve until the end of input."""
        self.note(event="started", pid=os.getpid())
        self._play(self.life.get("start", []))
        while (message := self._read()) is not None:
            self._message = message
            method = message.get("method")
            if method == "session/prompt":
                self._open.append(message["id"])
            steps = self.life.get(method or "answer")
            if steps is None:
                self._serve(method)
                continue
            time_ = self._times[method] = self._times.get(method, 0) + 1
            self._play(steps[min(time_, len(steps)) - 1])
        self._play(self.life.get("end", []))

    def note(self, **members: Any) -> None:
        """Write into the journal."""
        os.write(self._journal, json.dumps({"life": self.number, **members}).encode() + b"\n")

    def _read(self) -> dict[str, Any] | None:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        message: dict[str, Any] = json.loads(line)
        short = {key: message[key] for key in ("id", "method") if key in message}
        self.note(message=message if len(line) < LONG_BYTES else short)
        return message

    def _serve(self, method: str | None) -> None:
        """Do what a healthy agent does."""
        if method == "initialize":
            capabilities = self.life.get("capabilities", {})
            self._answer(
                {
                    "protocolVersion": 1,
                    "agentInfo": {"name": self.life.get("name", "attacker"), "version": "1"},
                    "agentCapabilities": capabilities,
                }
            )
        elif method == "session/new":
            self._sessions += 1
            self._answer({"sessionId": f"s{self._sessions}"})
        elif method == "session/prompt":
            self._play([["say", "Here."], ["answer", {"stopReason": "end_turn"}]])
        elif method == "session/cancel":
            for prompt in self._open:
                self._send({"id": prompt, "result": {"stopReason": "cancelled"}})
            self._open.clear()
        elif method is not None and "id" in self._message:
            self._answer({})

    def _answer(self, result: Any) -> None:
        request_id = self._message["id"]
        if request_id in self._open:
            self._open.remove(request_id)
        self._send({"id": request_id, "result": result})

    def _send(self, members: dict[str, Any]) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def _write(self, data: bytes, fd: int = 1) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def _play(self, steps: list[list[Any]]) -> None:
        for step in steps:
            name, *arguments = step
            if name == "repeat":
                times, inner = arguments
                for self._count in range(times):
                    self._play(inner)
                continue
            getattr(self, f"do_{name}")(*self._filled(arguments))

    def _filled(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        if not isinstance(value, str) or "$" not in value:
            return value
        if value == "$id":
            return self._message.get("id")
        session = (self._message.get("params") or {}).get("sessionId", "s1")
        filled = value.replace("$id", json.dumps(self._message.get("id")))
        return filled.replace("$session", str(session)).replace("$n", str(self._count))

    # --- the steps

    def do_answer(self, result: Any) -> None:
        """Answer the message with a result."""
        self._answer(result)

    def do_error(self, error: Any) -> None:
        """Answer the message with an error."""
        self._send({"id": self._message["id"], "error": error})

    def do_send(self, members: dict[str, Any]) -> None:
        """Send a frame."""
        self._send(members)

    def do_say(self, text: str) -> None:
        """Show text."""
        self.do_update("agent_message_chunk", {"content": {"type": "text", "text": text}})

    def do_update(self, kind: str, members: dict[str, Any]) -> None:
        """Send an update of the message's session."""
        session = (self._message.get("params") or {}).get("sessionId", "s1")
        params = {"sessionId": session, "update": {"sessionUpdate": kind, **members}}
        self._send({"method": "session/update", "params": params})

    def do_raw(self, text: str) -> None:
        """Write a text as it is, without a line end."""
        self._write(text.encode())

    def do_bulk(self, times: int, line: str) -> None:
        """Write a line so many times, with as few writes as the pipe allows."""
        self._write("".join(line.replace("#", str(n)) for n in range(times)).encode())

    def do_trickle(self, piece: str, times: int) -> None:
        """Write a piece so many times, each when the one before has been read."""
        data, waiting = piece.encode(), bytearray(4)
        for _ in range(times):
            os.write(1, data)
            while fcntl.ioctl(1, termios.FIONREAD, waiting) == 0 and any(waiting):
                os.sched_yield()

    def do_bytes(self, digits: str) -> None:
        """Write bytes, given as hexadecimal digits."""
        self._write(bytes.fromhex(digits))

    def do_stderr(self, text: str) -> None:
        """Write to stderr."""
        self._write(text.encode(), 2)

    def do_hear(self, method: str) -> None:
        """Read on until a message of that method (`answer`: one without), and no further."""
        while (message := self._read()) is not None:
            if message.get("method", "answer") == method:
                return
        sys.exit(0)

    def do_wait_for(self, name: str) -> None:
        """Read nothing until there is a file of that name beside the script."""
        while not os.path.exists(os.path.join(self._folder, name)):
            time.sleep(0.005)

    def do_serve(self) -> None:
        """Do with this message what a healthy agent does."""
        self._serve(self._message.get("method"))

    def do_hang(self) -> None:
        """Do nothing any more, and read nothing; signals end it as they end any process."""
        self.note(event="hangs")
        while True:
            time.sleep(3600)

    def do_exit(self, status: int) -> None:
        """Leave."""
        os._exit(status)

    def do_kill(self) -> None:
        """Die of a signal."""
        os.kill(os.getpid(), signal.SIGKILL)

    def do_leave_group(self) -> None:
        """Leave the process group that it was started in, for its parent's."""
        os.setpgid(0, os.getpgid(os.getppid()))

    def do_ignore(self, *names: str) -> None:
        """Ignore signals."""
        for name in names:
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def do_worker(self, where: str) -> None:
        """Start a process that stays, in the group that this one is in or in a session of its own.

        It holds none of this one's pipes.
        """
        worker = subprocess.Popen(
            ["sleep", "3600"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=where == "session",
        )
        worker.returncode = 0  # nobody waits for it, and nothing is to be said of that
        self.note(event="worker", pid=worker.pid)


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)  # it reads what is nested deep
    Attacker(sys.argv[1]).run()
