"""A link whose agent dies and is started again, for the tests of the core's restart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from lastword.core.classify import classify_exit
from lastword.core.link.connection import Side
from lastword.core.link.effects import Restart
from tests.kit.wire import INITIALIZE, Wire, prompt, request

if TYPE_CHECKING:
    from lastword.core.link.effects import Effect

KILLED = classify_exit(exit_signal=9)
LOADING = {"agentCapabilities": {"loadSession": True}}


class Link(Wire):
    """A link whose agent can die and is started again, as the core asks for it."""

    def __init__(self, capabilities: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(restart="on-crash", **options)
        self.capabilities = capabilities if capabilities is not None else LOADING
        self.starts = True
        self.client(INITIALIZE)
        self.answer(0, protocolVersion=1, **self.capabilities)
        self.client(request(1, "session/new", cwd="/w", mcpServers=[]))
        self.answer(1, sessionId="s")
        self.to_client.clear()
        self.to_agent.clear()

    def carry_out(self, effects: list[Effect], *came: Any) -> None:
        before = len(self.orders)
        super().carry_out(effects, *came)
        if self.starts and Restart() in self.orders[before:]:
            self.carry_out(self.core.agent_started(self.now))

    def die(self) -> Self:
        """The agent is killed."""
        self.carry_out(self.core.receive_eof(Side.AGENT, lambda: KILLED, self.now))
        return self

    def answer(self, request_id: Any, **members: Any) -> Self:
        """The agent answers."""
        return self.agent({"jsonrpc": "2.0", "id": request_id, "result": members})

    def asked(self) -> list[dict[str, Any]]:
        """What the agent has been sent since it was last asked for."""
        frames = [json.loads(frame) for frame in self.to_agent]
        self.to_agent.clear()
        return frames

    def greet(self) -> Self:
        """The new agent answers the replayed handshake."""
        (greeting,) = self.asked()
        assert greeting["method"] == "initialize"
        return self.answer(greeting["id"], protocolVersion=1, **self.capabilities)

    def die_and_be_greeted(self) -> Self:
        """A crash, a prompt after the wait, and the new agent's handshake."""
        return self.die().time(self.now + 10).client(prompt(2)).greet()

    def come_back(self) -> Self:
        """A crash, a prompt, a new agent that loads the session."""
        self.time(self.now + 400).die_and_be_greeted()
        (bring_back,) = self.asked()
        return self.answer(bring_back["id"])


def reasons(link: Link, request_id: Any) -> list[str | None]:
    """The reasons of the typed answers to a request."""
    answers = link.answers(request_id)
    return [answer["error"]["data"]["agent_error"].get("reason") for answer in answers]


def two_sessions(**options: Any) -> Link:
    """A link with the sessions `s` and `t`."""
    link = Link(LOADING, **options).client(request(5, "session/new", cwd="/w", mcpServers=[]))
    link.answer(5, sessionId="t").asked()
    return link
