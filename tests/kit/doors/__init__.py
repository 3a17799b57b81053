"""The in-process doors: an agent behind each of them, and a client of its process.

Owns how such an agent is started and what its client waits for. What its turns do is in `work`; how
the SDK's door and `serve`'s are fed with it, in `sdk` and `serve`.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from tests.kit.client import Client, clean_environment, texts, update_of

if TYPE_CHECKING:
    from tests.kit.client import Frame

DOORS = ("sdk", "asyncio", "trio")
"""The official SDK's, and `serve` on either event loop."""

CANARY = "sk-proj-Zq8vN3xT7rLm2KpW9sYb4HdC"
"""A key that no provider gave; handlers raise it, and no client may see it."""

_OUR_LINE = re.compile(r"\[lastword\] \w+ (.*)")
_EXCEPTION_LOGGED = re.compile(r"The handler of \S+ raised \w+\.")
"""What `serve` has for an author's own log, and under the SDK is the SDK's."""


def command(door: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.kit.doors", door, *arguments]


class DoorClient(Client):
    """A client of one agent's process, behind whichever door; it does nothing unasked."""

    def __init__(self, *command: str, reads: bool = True, **environment: str) -> None:
        """Start the agent; without `reads` nothing is read until `read` is called."""
        super().__init__(command, environment=clean_environment(**environment))
        self.stdout.reading = reads

    def read(self) -> None:
        self.stdout.reading = True

    @property
    def told(self) -> list[str]:
        """What lastword told the author so far of what can be mended, a line each."""
        found = [match[1] for match in _OUR_LINE.finditer(self.said)]
        return [line for line in found if not _EXCEPTION_LOGGED.fullmatch(line)]

    def opened(self, /, **capabilities: object) -> DoorClient:
        self.open(**capabilities)
        return self

    def open_session(self, session: str) -> DoorClient:
        assert "result" in self.call("session/new", cwd=f"/{session}", mcpServers=[])
        return self

    def take(self, text: str, session: str | None = None) -> Frame:
        return self.answer(self.prompt(text, session))

    def goes_on(self) -> bool:
        """Is a further prompt answered well?"""
        answer = self.take("say")
        assert answer.get("result") == {"stopReason": "end_turn"}, self.story("it serves no more")
        return True

    def serves_on(self) -> bool:
        """Is a further prompt answered well, and the end of input with a good end?"""
        return self.goes_on() and self.end() == 0

    def settled(self) -> list[str]:
        """What the author was told of all that was sent so far, once all of it is here."""
        word = f"all until {len(self.frames)} of {id(self)}"
        self.call("_mark", word=word)
        self.expect_line(word)
        return self.told

    def expect_line(self, text: str) -> str:
        """The first line of stderr with this text, once it is there to its end."""

        def found() -> list[str]:
            whole, _, _ = self.said.rpartition("\n")
            return [line for line in whole.splitlines() if text in line]

        self.read_until(lambda: bool(found()), f"a line with {text!r} on stderr")
        return found()[0]

    @property
    def texts(self) -> list[str]:
        return texts(self.frames)

    def updates(self, kind: str) -> list[Frame]:
        return [u for u in map(update_of, self.frames) if u.get("sessionUpdate") == kind]

    def answers(self, request_id: int) -> list[Frame]:
        return [f for f in self.frames if "method" not in f and f.get("id") == request_id]

    def roundtrip(self) -> None:
        """Wait until all that was sent so far has been seen, and all that came of it is here."""
        assert "result" in self.call("_echo")
