"""`python -m tests.kit.attribution.agent NAME SCRIPTS TALLY`: an agent that plays rows as they are.

A prompt names its row by the first line of its text. SCRIPTS is a file with the events of each, and
TALLY one to which a line is added for every prompt that arrives.
"""

from __future__ import annotations

import json
import os
import sys
import time

from lastword.kit.agent.plain import STDERR, Output, PlainAgent, text_of, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.kit.agent.plain import Json

WRITE = "_agent/write"
"""A notification of the client's: something is written on stderr between two turns."""


class Player(PlainAgent):
    """The healthy agent, but for what its scripts say."""

    def __init__(self, name: str, scripts: str, tally: str) -> None:
        super().__init__(sys.stdin.buffer, Output())
        self.info = {"name": name, "version": "1"}
        with open(scripts, encoding="utf-8") as file:
            self.scripts = json.load(file)
        self.tally = tally
        self.notifications[WRITE] = lambda params: write_all(STDERR, params["text"].encode())

    def prompt(self, request_id: object, params: Json) -> None:
        """Play the row that the prompt names."""
        self.begin_turn(request_id, params)
        name = text_of(params).partition("\n")[0]
        with open(self.tally, "a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        start = time.monotonic()
        for at, kind, value, session in self.scripts[name]:
            time.sleep(max(0.0, start + at - time.monotonic()))
            self.play(request_id, kind, value, session or self.session_id)

    def play(self, request_id: object, kind: str, value: Json, session: str) -> None:
        """Let one thing happen."""
        if kind == "stderr":
            write_all(STDERR, str(value).encode())
        elif kind == "update":
            self.wire.update(session, value)
        elif kind == "exit":
            if value["signal"] is not None:
                os.kill(os.getpid(), value["signal"])
            os._exit(value["code"])
        else:
            self.answer(request_id, **{kind: value})


if __name__ == "__main__":
    Player(*sys.argv[1:]).run()
