"""A client before an agent on the SDK (`tests.process.sdk.agents`)."""

from __future__ import annotations

import sys
from typing import Self

from tests.kit.client import Client, Frame, clean_environment, texts, update_of

AGENTS = (sys.executable, "-m", "tests.process.sdk.agents")
OUR_LOGGER = "[lastword] "
CANARY = "sk-proj-Zq8vN3xT7rLm2KpW9sYb4HdC"
"""A key that no provider gave; handlers raise it, and no client may see it."""


class AgentProcess(Client):
    """One run of `agents.py KIND`."""

    def __init__(self, kind: str = "plain", **environment: str) -> None:
        super().__init__([*AGENTS, kind], environment=clean_environment(**environment))

    @property
    def lines(self) -> list[str]:
        """The lines of stderr so far."""
        return self.said.splitlines()

    @property
    def told(self) -> list[str]:
        """What lastword told the author: its log lines so far, a line each."""
        return [line.removeprefix(OUR_LOGGER) for line in self.lines if OUR_LOGGER in line]

    def take(self, text: str, session: str = "s1") -> Frame:
        """The answer to a prompt."""
        return self.answer(self.prompt(text, session))

    def opened(self, /, **capabilities: object) -> Self:
        """Initialize, and open the session `s1`."""
        hello = self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)
        assert "result" in hello
        return self.open_session("s1")

    def open_session(self, session: str) -> Self:
        """Open a session of this name."""
        assert "result" in self.call("session/new", cwd=f"/{session}", mcpServers=[])
        return self

    def expect_line(self, text: str) -> str:
        """The first line of stderr with this text, once it is there to its end."""

        def found() -> list[str]:
            whole, _, _ = self.said.rpartition("\n")
            return [line for line in whole.splitlines() if text in line]

        self.read_until(lambda: bool(found()), f"a line with {text!r} on stderr")
        return found()[0]

    def expect_words(self, text: str) -> Frame:
        """The first chunk with this text in it."""
        return self.expect(lambda frame: text in texts([frame]))

    def updates(self, kind: str) -> list[Frame]:
        """The updates of a kind, so far."""
        return [u for u in map(update_of, self.frames) if u.get("sessionUpdate") == kind]

    def answers(self, request_id: int) -> list[Frame]:
        """Every answer to a request, so far."""
        return [f for f in self.frames if "method" not in f and f.get("id") == request_id]

    def roundtrip(self) -> None:
        """Wait until all that was sent so far has been seen, and all that came of it is here."""
        assert "result" in self.call("_nothing")
