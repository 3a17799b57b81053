"""A scripted agent that attacks: what it does at each message is a list of steps from a file.

Owns the steps; whatever the script does not name the kit's agent does. Run as a plain file, so that
it starts in any directory. What it reads it notes in a journal beside its script: the tests read
there what reached the agent.

The steps are none of `lastword agent`'s: a script has them for any message, not for a prompt alone,
and they are played before the next message is read. What leaves its group or answers for another
would help nobody who writes a client.

A script has a list of lives, one a process, the last for all further ones. A life names methods
(`session/prompt`, …), each with a list of step lists: one a message of that method, the last
repeats. Beside them it may have `capabilities`, `start` (steps before the first message) and `end`
(steps at the end of input). In a step's strings `$id` stands for the message's id as JSON text and
`$session` for its session.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from lastword.kit.agent.plain import Output, PlainAgent, die, hang, session_of, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Attacker(PlainAgent):
    """One life of the agent."""

    says = "Here."

    def __init__(self, file: str) -> None:
        super().__init__(sys.stdin.buffer, Output())
        journal = os.path.join(os.path.dirname(file), "journal")
        self._journal = os.open(journal, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        with open(f"{file}.lives", "a+", encoding="ascii") as lives:
            lives.write("x")
            number = lives.tell()
        with open(file, encoding="utf-8") as script:
            lives_of_script = json.load(script)
        self.life: dict[str, Any] = lives_of_script[min(number, len(lives_of_script)) - 1]
        self.info = {"name": "attacker", "version": "1"}
        self.capabilities = self.life.get("capabilities", {})
        self._times: dict[str, int] = {}
        self._message: dict[str, Any] = {}

    def run(self) -> None:
        """Serve until the end of input."""
        self.note(pid=os.getpid())
        self._play(self.life.get("start", []))
        super().run()
        self._play(self.life.get("end", []))

    def note(self, **members: Any) -> None:
        """Write into the journal."""
        os.write(self._journal, json.dumps(members).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Note what comes."""
        message = super().receive()
        if message is not None:
            self.note(method=message.get("method"))
        return message

    def handle(self, message: dict[str, Any]) -> None:
        """Do with a message what the script says, else what a healthy agent does."""
        self._message = message
        method, params = message.get("method"), message.get("params") or {}
        self.session_id = session_of(params) or "s1"
        steps = self.life.get(method or "answer")
        if steps is None:
            super().handle(message)
            return
        if method == "session/prompt":
            self.begin_turn(message["id"], params)
        time_ = self._times[method] = self._times.get(method, 0) + 1
        self._play(steps[min(time_, len(steps)) - 1])

    def handle_request(self, request_id: object, method: str, params: dict[str, Any]) -> None:
        """Agree to what the kit's agent does not know."""
        if method in self.requests:
            super().handle_request(request_id, method, params)
        else:
            self.answer(request_id, result={})

    def _play(self, steps: list[list[Any]]) -> None:
        for step in steps:
            name, *arguments = step
            getattr(self, f"do_{name}")(*self._filled(arguments))

    def _filled(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        if not isinstance(value, str) or "$" not in value:
            return value
        filled = value.replace("$id", json.dumps(self._message.get("id")))
        return filled.replace("$session", self.session_id)

    # --- the steps

    def do_answer(self, result: Any) -> None:
        """Answer the message with a result."""
        self.answer(self._message["id"], result=result)

    def do_error(self, error: Any) -> None:
        """Answer the message with an error."""
        self.answer(self._message["id"], error=error)

    def do_send(self, members: dict[str, Any]) -> None:
        """Send a frame."""
        self.wire.frame(**members)

    def do_say(self, text: str) -> None:
        """Show text."""
        self.say(text)

    def do_update(self, kind: str, members: dict[str, Any]) -> None:
        """Send an update of the message's session."""
        self.update(kind, **members)

    def do_raw(self, text: str) -> None:
        """Write a text as it is, without a line end."""
        self.wire.write(text.encode())

    def do_stderr(self, text: str) -> None:
        """Write to stderr."""
        write_all(2, text.encode())

    def do_hear(self, method: str) -> None:
        """Read on until a message of that method (`answer`: one without), and no further."""
        while (message := self.receive()) is not None:
            if message.get("method", "answer") == method:
                return
        sys.exit(0)

    def do_serve(self) -> None:
        """Do with this message what a healthy agent does."""
        super().handle(self._message)

    def do_hang(self) -> None:
        """Do nothing any more, and read nothing; signals end it as they end any process."""
        hang()

    def do_exit(self, status: int) -> None:
        """Leave."""
        os._exit(status)

    def do_kill(self) -> None:
        """Die of a signal."""
        die(signal.SIGKILL)

    def do_leave_group(self) -> None:
        """Leave the process group that it was started in, for its parent's."""
        os.setpgid(0, os.getpgid(os.getppid()))

    def do_ignore(self, name: str) -> None:
        """Ignore a signal."""
        signal.signal(getattr(signal, name), signal.SIG_IGN)


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)  # it reads what is nested deep
    Attacker(sys.argv[1]).run()
