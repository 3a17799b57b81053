"""The SDK's transport as it is guarded: a core out of order, stdin and stdout for one agent."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import Any

import acp
import pytest

import lastword
from lastword.core.link.connection import LinkOptions
from lastword.errors import MisuseError
from lastword.inprocess import stdio
from lastword.inprocess.sdk.agent import GuardedTransport
from tests.kit.patience import FUSE_SECONDS


class Pipe:
    """A transport of the SDK's, in memory."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self._messages = list(messages)
        self._answered = asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any] | None:
        if self._messages:
            return {"jsonrpc": "2.0", **self._messages.pop(0)}
        await self._answered.wait()
        return None

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if message.get("id") == 1:
            self._answered.set()

    async def close(self) -> None:
        pass


class Agent(acp.Agent):
    """Returns what cannot be sent, or raises."""

    def __init__(self, how: str) -> None:
        self._how = how

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def prompt(self, **_: Any) -> Any:
        if self._how == "raises":
            raise ValueError("the database is broken")
        return {"stopReason": object()}


@pytest.mark.parametrize("how", ["raises", "returns what cannot be sent"])
def test_a_failure_is_answered_once_although_the_core_fails_over_it(how: str) -> None:
    def broken() -> Any:
        raise ZeroDivisionError

    async def main() -> list[dict[str, Any]]:
        pipe = Pipe(
            {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}},
            {"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}},
        )
        # Asked for the time of day, which a failure's sentence may hold.
        run = lastword.run_agent(Agent(how), pipe, options=lastword.Options(wall_clock=broken))
        await asyncio.wait_for(run, FUSE_SECONDS)
        return pipe.sent

    [_, answer] = asyncio.run(main())
    assert answer["error"] == {"code": -32603, "message": "Internal error"}


STDOUT = SimpleNamespace(get_extra_info=lambda _: SimpleNamespace(fileno=lambda: stdio.STDOUT))


async def closed() -> None:
    """Nothing to close."""


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_authors_own_streams_on_stdout_are_one_agents_at_a_time() -> None:
    sender = SimpleNamespace(_writer=SimpleNamespace(transport=STDOUT))
    transport: Any = SimpleNamespace(_sender=sender, close=closed)
    options = LinkOptions(in_process=True)
    first = GuardedTransport(transport, options, own_cancel_seconds=0.0)
    with pytest.raises(MisuseError, match="in its own process"):
        GuardedTransport(transport, options, own_cancel_seconds=0.0)
    await first.close()
    with stdio.claimed():
        pass  # the first has ended


def test_a_fork_of_an_agent_may_serve_another_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with stdio.claimed():
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with stdio.claimed():
            pass
