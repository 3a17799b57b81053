"""Agents written with the official SDK, each under `lastword.run_agent` in a process of its own.

Run as ``python -m tests.process.sdk.agents KIND``. What a turn does is named by the prompt's
text, what another request does by its `cwd` or its method; a word after the name is an argument. A
turn that waits goes on at the notification `_go`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

import acp
from acp.schema import AvailableCommandsUpdate, PermissionOption, ToolCallUpdate
from pydantic import BaseModel, field_validator

import lastword
from lastword.record.thread import recorder_thread
from tests.kit.agent_process import CANARY

if TYPE_CHECKING:
    from collections.abc import Callable

DONE = acp.PromptResponse(stop_reason="end_turn")


class Stopped(BaseException):
    """What no handler should raise."""


class Strict(BaseModel):
    """A model whose errors hold an exception, which is no JSON."""

    token: str

    @field_validator("token")
    @classmethod
    def _never(cls, value: str) -> str:
        raise ValueError(f"no such token: {value}")


def fail(how: str) -> NoReturn:
    """Raise in the way that is named."""
    raised: dict[str, Callable[[], BaseException]] = {
        "value_error": lambda: ValueError(f"401 for api_key={CANARY}"),
        "json_text": lambda: ValueError(json.dumps({"key": CANARY})),
        "request_error": lambda: acp.RequestError(-32603, f"401 for {CANARY}", {"key": CANARY}),
        "without_data": lambda: acp.RequestError(-32603, "The model is busy."),
        "not_json_data": lambda: acp.RequestError(-32603, "The model is busy.", {"at": object()}),
        "base": Stopped,
        "exit": lambda: SystemExit(3),
        "interrupt": KeyboardInterrupt,
        "group": lambda: ExceptionGroup("both", [ValueError("one"), TimeoutError("two")]),
        "base_group": lambda: BaseExceptionGroup("both", [Stopped(), ValueError("one")]),
        "own_cancel": asyncio.CancelledError,
    }
    if how == "validation":
        Strict(token=CANARY)
    error = raised[how]()
    raise error


def returned(what: str) -> Any:
    """What a handler should not return."""
    return {
        "nothing": None,
        "text": "end_turn",
        "no_stop_reason": {"answer": 42},
        "unknown_stop_reason": {"stopReason": "finished"},
        "object": object(),
        "bytes": {"stopReason": "end_turn", "_meta": {"raw": b"\xff"}},
        "not_a_number": {"stopReason": "end_turn", "_meta": {"rate": float("nan")}},
    }[what]


class Agent(acp.Agent):
    """Does in a turn what the prompt's text names."""

    def __init__(self) -> None:
        self._client: Any = None
        self._go = asyncio.Event()
        self._late: list[asyncio.Task[None]] = []
        self._work: asyncio.Queue[Any] | None = None

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        if cwd == "/commands":
            self._late.append(asyncio.create_task(self._tell_commands(cwd.strip("/"))))
        if cwd.startswith("/fail "):
            fail(cwd.removeprefix("/fail "))
        return acp.NewSessionResponse(session_id=cwd.strip("/") or "s1")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        name, _, argument = prompt[0].text.partition(" ")
        return await getattr(self, f"turn_{name}")(session_id, argument)

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        name, _, argument = method.partition("/")
        if name == "fail":
            fail(argument)
        if name == "tasks":
            while not recorder_thread().idle:  # noqa: ASYNC110 - what is not written yet is no growth
                await asyncio.sleep(0.01)
            gc.collect()
            return {"tasks": len(asyncio.all_tasks()), "objects": len(gc.get_objects())}
        return {"echo": params}

    async def ext_notification(self, method: str, _: dict[str, Any]) -> None:
        if method == "go":
            self._go.set()

    async def say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, acp.update_agent_message_text(text))

    async def _tell_commands(self, session_id: str) -> None:
        await asyncio.sleep(0)  # only once the client knows of the session
        update = AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=[]
        )
        await self._client.session_update(session_id, update)

    async def wait_for_go(self) -> None:
        await self._go.wait()
        self._go.clear()

    async def turn_hello(self, session_id: str, argument: str) -> Any:
        await self.say(session_id, argument or "hello")
        return DONE

    async def turn_silent(self, *_: str) -> Any:
        return DONE

    async def turn_return(self, session_id: str, argument: str) -> Any:
        await self.say(session_id, "said")
        return returned(argument)

    async def turn_fail(self, _: str, argument: str) -> Any:
        fail(argument)

    async def turn_twice(self, session_id: str, argument: str) -> Any:
        await self.say(session_id, "said")
        answer = {"jsonrpc": "2.0", "id": int(argument), "result": {"stopReason": "max_tokens"}}
        await self._client._conn._transport.send(answer)  # past the SDK's own bookkeeping
        return DONE

    async def turn_late(self, session_id: str, argument: str) -> Any:
        async def later() -> None:
            await self.wait_for_go()
            await self.say(session_id, "late")

        await self.say(session_id, "said")
        self._late.append(asyncio.create_task(later()))
        if argument:
            fail(argument)
        return DONE

    async def turn_asks_late(self, session_id: str, argument: str) -> Any:
        async def later() -> None:
            await self.wait_for_go()
            try:
                await self.ask(session_id)
            except acp.RequestError as error:
                print("refused:", error.code, error, file=sys.stderr, flush=True)

        self._late.append(asyncio.create_task(later()))
        fail(argument)

    async def turn_wait(self, session_id: str, _: str) -> Any:
        await self.say(session_id, "waiting")
        await self.wait_for_go()
        return DONE

    async def turn_queue(self, session_id: str, argument: str) -> Any:
        """Has the work done by a task that the first such turn started."""
        if self._work is None:
            self._work = asyncio.Queue()
            self._late.append(asyncio.create_task(self._work_on(self._work)))
        done = asyncio.get_running_loop().create_future()
        await self._work.put((session_id, argument, done))
        await done
        return DONE

    async def _work_on(self, work: asyncio.Queue[Any]) -> None:
        while True:
            session_id, argument, done = await work.get()
            try:
                await self.say(session_id, f"{argument} in {session_id}")
                if argument == "ask":
                    await self.say(session_id, (await self.ask(session_id)).outcome.outcome)
                elif argument:
                    fail(argument)
            except Exception as error:  # noqa: BLE001  (the turn that waits for it raises it)
                done.set_exception(error)
            else:
                done.set_result(None)

    async def turn_swallow(self, session_id: str, _: str) -> Any:
        await self.say(session_id, "waiting")
        while not self._go.is_set():
            try:
                await self._go.wait()
            except asyncio.CancelledError:
                print("swallowed", file=sys.stderr, flush=True)
        self._go.clear()
        await self.say(session_id, "late")
        return DONE

    async def turn_block(self, session_id: str, argument: str) -> Any:
        for number in range(int(argument)):
            time.sleep(0.01)  # noqa: ASYNC251  (a provider's package that is not async)
            await self.say(session_id, f"word {number} ")
        return DONE

    async def turn_unknown_kind(self, session_id: str, argument: str) -> Any:
        update = {"sessionUpdate": argument, "_meta": {}}
        await self._client.session_update(session_id, update)
        return DONE

    async def ask(self, session_id: str) -> Any:
        option = PermissionOption(kind="allow_once", name="Allow", option_id="yes")
        call = ToolCallUpdate(tool_call_id="t1", title="Write")
        return await self._client.request_permission(
            session_id=session_id, tool_call=call, options=[option]
        )

    async def turn_ask(self, session_id: str, _: str) -> Any:
        answer = await self.ask(session_id)
        await self.say(session_id, answer.outcome.outcome)
        return DONE

    async def turn_many(self, session_id: str, argument: str) -> Any:
        for _ in range(int(argument)):
            await self.say(session_id, "word ")
        return DONE


class WithCancel(Agent):
    """Ends its turn in its own `cancel`, with an answer of its own."""

    async def cancel(self, **_: Any) -> None:
        self._go.set()

    async def turn_wait(self, session_id: str, argument: str) -> Any:
        await super().turn_wait(session_id, argument)
        return acp.PromptResponse(stop_reason="cancelled", field_meta={"by": "agent"})


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
            fail(cwd.removeprefix("/fail "))
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
    agents: dict[str, Callable[[], Any]] = {
        "factory": Factory,
        "class": lambda: lambda _: Agent(),
        "camel_case": CamelCase,
        "guarded": lambda: lastword.guard(Agent()),
        "with_cancel": WithCancel,
        "unstable": Unstable,
        "stable": Unstable,
    }
    options: dict[str, dict[str, Any]] = {
        "unstable": {"use_unstable_protocol": True},
        "observed": {"observers": [_observe]},
        "timeout": {"receive_timeout": 0.3},
    }
    await lastword.run_agent(agents.get(kind, Agent)(), **options.get(kind, {}))


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="[%(name)s] %(levelname)s %(message)s")
    asyncio.run(main(sys.argv[1]))
