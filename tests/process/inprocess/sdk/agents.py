"""Agents as the SDK takes them: ``python -m tests.process.inprocess.sdk.agents KIND``."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from typing import TYPE_CHECKING, Any

import acp

import lastword
from lastword.record.thread import recorder_thread
from tests.kit.doors import sdk
from tests.kit.doors.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable


class SdksOwnWork(Work):
    """Turns that only this library can take."""

    async def do_twice(self, turn: sdk.Turn, words: str) -> None:
        await turn.say("said")
        answer = {"jsonrpc": "2.0", "id": int(words), "result": {"stopReason": "max_tokens"}}
        await turn.connection._conn._transport.send(answer)  # past the SDK's own bookkeeping

    async def do_unknown_kind(self, turn: sdk.Turn, words: str) -> None:
        await turn.connection.session_update(turn.session_id, {"sessionUpdate": words})

    async def other(self, name: str, params: dict[str, Any]) -> Any:
        if name == "tasks":
            while not recorder_thread().idle:  # noqa: ASYNC110 - what is not written yet is no growth
                await asyncio.sleep(0.01)
            gc.collect()
            return {"tasks": len(asyncio.all_tasks()), "objects": len(gc.get_objects())}
        return await super().other(name, params)


class Agent(sdk.Agent):
    """The agent of every door, with these turns."""

    def __init__(self) -> None:
        super().__init__(SdksOwnWork(sdk, "sdk", None))


class CamelCase:
    """An agent in the SDK's older names, with the request itself as `params`."""

    def __init__(self) -> None:
        self._inner = Agent()

    def on_connect(self, conn: Any) -> None:
        self._inner.on_connect(conn)

    async def initialize(self, params: acp.InitializeRequest) -> acp.InitializeResponse:
        return await self._inner.initialize(params.protocol_version)

    async def newSession(self, params: acp.NewSessionRequest) -> acp.NewSessionResponse:  # noqa: N802
        return await self._inner.new_session(params.cwd)

    async def prompt(self, params: acp.PromptRequest) -> Any:
        return await self._inner.prompt(params.session_id, params.prompt)


class Unstable(Agent):
    """Has a method of the protocol's unstable part."""

    async def fork_session(self, cwd: str, session_id: str, **_: Any) -> Any:
        if cwd.startswith("/fail "):
            self.work.fail(cwd.removeprefix("/fail "))
        return {"sessionId": f"{session_id}-fork"}


def _observe(event: Any) -> None:
    if event.message.get("method") == "session/prompt":
        print("observed:", event.direction.value, file=sys.stderr, flush=True)


class Factory:
    """Makes an agent for a connection, as the SDK also takes it."""

    def __call__(self, connection: Any) -> Agent:
        print("made for", type(connection).__name__, file=sys.stderr, flush=True)
        return Agent()


async def main(kind: str) -> None:
    """Run an agent of this kind."""
    if kind in {"own_streams", "held"}:
        reader, writer = await acp.stdio_streams()
        if kind == "own_streams":
            await lastword.run_agent(Agent(), writer, reader)
        else:
            await acp.AgentSideConnection(
                lastword.guard(Agent()), writer, reader, listening=False
            ).listen()
        return
    agents: dict[str, Callable[[], Any]] = {
        "factory": Factory,
        "class": lambda: lambda _: Agent(),
        "camel_case": CamelCase,
        "guarded": lambda: lastword.guard(Agent()),
        "unstable": Unstable,
        "stable": Unstable,
    }
    options: dict[str, dict[str, Any]] = {
        "unstable": {"use_unstable_protocol": True},
        "observed": {"observers": [_observe]},
        "timeout": {"receive_timeout": 5.0},
    }
    await lastword.run_agent(agents.get(kind, Agent)(), **options.get(kind, {}))


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="[%(name)s] %(levelname)s %(message)s")
    asyncio.run(main(sys.argv[1]))
