"""Agents in this process on structured concurrency: `scoped.py DOOR` with a strict client.

The doors: `sdk` (`lastword.run_agent`), `asyncio` and `trio` (`lastword.serve`). A prompt's first
word names one of the `do_…` below, the rest is its argument. What they do is what an author does
without a thought: scopes that run out, task groups whose children raise, generators that are left
half way, threads, and a client that is asked from all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

import lastword

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

DOOR = sys.argv[1]

if DOOR == "sdk":
    import acp
    from acp.schema import PermissionOption, ToolCallUpdate
elif DOOR == "trio":
    import trio

KEY = os.environ.get("PROVIDER_API_KEY", "")


class ThrottledError(Exception):
    """As a provider's package has it."""

    status_code = 429


class Turn:
    """What a turn's work has at hand."""

    def __init__(self, client: Any, session_id: str) -> None:
        self.client = client
        self.session_id = session_id

    async def say(self, text: str) -> None:
        await self.client.say(self.session_id, text)

    async def ask(self) -> str:
        option = {"kind": "allow_once", "name": "Allow", "optionId": "yes"}
        call = {"toolCallId": "t1", "title": "Write"}
        params = {"sessionId": self.session_id, "toolCall": call, "options": [option]}
        answer = await self.client.request("session/request_permission", params)
        return str(answer["outcome"]["outcome"])


class SdkTurn(Turn):
    """The same by the official SDK's connection."""

    async def say(self, text: str) -> None:
        update = acp.update_agent_message_text(text)
        await self.client.session_update(session_id=self.session_id, update=update)

    async def ask(self) -> str:
        option = PermissionOption(kind="allow_once", name="Allow", option_id="yes")
        call = ToolCallUpdate(tool_call_id="t1", title="Write")
        answer = await self.client.request_permission(
            session_id=self.session_id, tool_call=call, options=[option]
        )
        return str(answer.outcome.outcome)


async def fail_with(error: BaseException) -> None:
    raise error


async def left_half_way() -> AsyncIterator[int]:
    try:
        yield 1
        yield 2
    finally:
        with contextlib.suppress(Exception):
            await anyio.lowlevel.checkpoint()


async def scope_over_a_yield() -> AsyncIterator[int]:
    """What both event loops warn of: a scope that is left where it was not entered."""
    with anyio.CancelScope():
        yield 1
        yield 2


async def group_over_a_yield() -> AsyncIterator[int]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)
        yield 1
        yield 2


class Work:
    """What a prompt does."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    async def take(self, turn: Turn, text: str) -> Any:
        name, _, words = text.partition(" ")
        return await getattr(self, f"do_{name}")(turn, words)

    # --- that end well

    async def do_say(self, turn: Turn, words: str) -> None:
        await turn.say(words or "Here.")

    async def do_nap(self, turn: Turn, words: str) -> None:
        await turn.say("Working.")
        await anyio.sleep(float(words))

    async def do_ask(self, turn: Turn, _: str) -> None:
        await turn.say(await turn.ask())

    async def do_ask_thrice(self, turn: Turn, _: str) -> None:
        said: list[str] = []

        async def ask() -> None:
            said.append(await turn.ask())

        async with anyio.create_task_group() as tasks:
            for _number in range(3):
                tasks.start_soon(ask)
        await turn.say(",".join(said))

    async def do_ask_in_a_hurry(self, turn: Turn, _: str) -> None:
        with anyio.move_on_after(0.05):
            await turn.ask()
        await turn.say("Never mind.")

    async def do_cancel_own_scope(self, turn: Turn, _: str) -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep(3600)
        await turn.say("Here.")

    async def do_cancel_group(self, turn: Turn, _: str) -> None:
        async with anyio.create_task_group() as tasks:
            for _number in range(20):
                tasks.start_soon(anyio.sleep_forever)
            tasks.cancel_scope.cancel()
        await turn.say("Here.")

    async def do_leave_generator(self, turn: Turn, _: str) -> None:
        async for _number in left_half_way():
            break
        await turn.say("Here.")

    async def do_keep_generator(self, turn: Turn, _: str) -> None:
        generator = left_half_way()
        self.kept.append(generator)
        await anext(generator)
        await turn.say("Here.")

    async def do_thread(self, turn: Turn, _: str) -> None:
        def work() -> None:
            for _number in range(3):
                anyio.from_thread.run(turn.say, "Here.")

        await anyio.to_thread.run_sync(work)

    async def do_children_speak(self, turn: Turn, _: str) -> None:
        async with anyio.create_task_group() as tasks:
            for _number in range(20):
                tasks.start_soon(turn.say, "Here.")

    # --- that fail

    async def do_time_out(self, *_: Any) -> None:
        with anyio.fail_after(0.05):
            await anyio.sleep(3600)

    async def do_too_slow(self, *_: Any) -> None:
        with trio.fail_after(0.05):
            await trio.sleep(3600)

    async def do_group(self, *_: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_with, ThrottledError(f"429 Too Many Requests for {KEY}"))
            tasks.start_soon(anyio.sleep_forever)

    async def do_group_of_two(self, *_: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_with, ThrottledError("429 Too Many Requests"))
            tasks.start_soon(fail_with, ValueError(f"bad key {KEY}"))

    async def do_group_deep(self, *_: Any) -> None:
        async def deeper(depth: int) -> None:
            async with anyio.create_task_group() as tasks:
                if depth:
                    tasks.start_soon(deeper, depth - 1)
                else:
                    tasks.start_soon(fail_with, ThrottledError("429 Too Many Requests"))

        await deeper(30)

    async def do_group_of_many(self, *_: Any) -> None:
        raise ExceptionGroup("many", [ThrottledError(f"429 number {n}") for n in range(5000)])

    async def do_group_of_itself(self, *_: Any) -> None:
        one = ValueError("one")
        two = ValueError("two")
        one.__cause__, two.__cause__ = two, one
        raise ExceptionGroup("loop", [one, two])

    async def do_group_of_base(self, *_: Any) -> None:
        class Odd(BaseException):
            pass

        raise BaseExceptionGroup("odd", [Odd("odd"), GeneratorExit()])

    async def do_stop_iteration(self, *_: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_with, StopAsyncIteration(1))

    async def do_generator_exit(self, *_: Any) -> None:
        raise GeneratorExit

    async def do_return_generator(self, *_: Any) -> Any:
        return left_half_way()

    async def do_return_coroutine(self, *_: Any) -> Any:
        forgotten = anyio.lowlevel.checkpoint()
        self.kept.append(forgotten)
        return forgotten

    async def do_scope_over_a_yield(self, *_: Any) -> None:
        async for _number in scope_over_a_yield():
            raise ThrottledError("429 Too Many Requests")

    async def do_group_over_a_yield(self, *_: Any) -> None:
        async for _number in group_over_a_yield():
            raise ThrottledError("429 Too Many Requests")

    async def do_keep_scope(self, *_: Any) -> None:
        """Leaves the task with a scope entered: the event loop's own books are wrong then."""
        generator = scope_over_a_yield()
        self.kept.append(generator)
        await anext(generator)
        raise ThrottledError("429 Too Many Requests")

    async def do_thread_fails(self, *_: Any) -> None:
        def work() -> None:
            raise ThrottledError("429 Too Many Requests")

        await anyio.to_thread.run_sync(work)

    # --- that are cancelled by the user

    async def do_hang(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        await anyio.sleep_forever()

    async def do_shielded(self, turn: Turn, _: str) -> None:
        """For a while: no door ends before the handler that it may not cancel."""
        await turn.say("Working.")
        with anyio.CancelScope(shield=True):
            await anyio.sleep(1.5)

    async def do_raise_when_cancelled(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError(f"cleaning up failed for {KEY}")

    async def do_group_raises_when_cancelled(self, turn: Turn, _: str) -> None:
        async def child() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise ThrottledError("429 Too Many Requests")

        await turn.say("Working.")
        async with anyio.create_task_group() as tasks:
            for _number in range(3):
                tasks.start_soon(child)

    async def do_swallow(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        with contextlib.suppress(BaseException):
            await anyio.sleep_forever()
        with contextlib.suppress(BaseException), anyio.CancelScope(shield=True):
            await turn.say("As if nothing had been.")

    async def do_ask_in_a_child(self, turn: Turn, _: str) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.ask)
            await turn.say("Working.")
            await anyio.sleep_forever()

    async def do_in_thread(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        await anyio.to_thread.run_sync(threading.Event().wait, 1.0, abandon_on_cancel=True)
        await anyio.sleep_forever()

    # --- that end more than their turn

    async def do_interrupt(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        raise KeyboardInterrupt

    async def do_interrupt_in_group(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            tasks.start_soon(fail_with, KeyboardInterrupt())

    async def do_exit_in_group(self, *_: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            tasks.start_soon(fail_with, SystemExit(7))

    async def do_exit_and_error(self, *_: Any) -> None:
        raise BaseExceptionGroup("both", [ThrottledError("429"), SystemExit(7)])

    async def do_signal_itself(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()

    async def do_cancel_the_door(self, turn: Turn, _: str) -> None:
        """Cancels what it was started in, which is nobody's to cancel."""
        await turn.say("Working.")
        if DOOR == "trio":
            nursery = trio.lowlevel.current_task().parent_nursery
            assert nursery is not None
            nursery.cancel_scope.cancel()
        else:
            for task in asyncio.all_tasks():
                task.cancel()
        await anyio.sleep_forever()

    async def do_system_task(self, turn: Turn, _: str) -> None:
        await turn.say("Working.")
        trio.lowlevel.spawn_system_task(fail_with, ValueError("not awaited by anybody"))
        await anyio.sleep_forever()


WORK = Work()


class SdkAgent:
    """The same behind the official SDK."""

    def on_connect(self, conn: Any) -> None:
        self._conn = conn
        self._sessions = 0

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> Any:
        self._sessions += 1
        return acp.NewSessionResponse(session_id=f"s{self._sessions}")

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> Any:
        result = await WORK.take(SdkTurn(self._conn, session_id), prompt[0].text)
        return acp.PromptResponse(stop_reason="end_turn") if result is None else result


COUNT = iter(range(1, 10**6))


async def new_session(_client: Any) -> Any:
    return {"sessionId": f"s{next(COUNT)}"}


async def prompt(client: Any, session_id: str, prompt: Any) -> Any:
    result = await WORK.take(Turn(client, session_id), prompt[0]["text"])
    return {"stopReason": "end_turn"} if result is None else result


async def generator_prompt(client: Any, session_id: str, prompt: Any) -> Any:
    await client.say(session_id, prompt[0]["text"])
    yield {"stopReason": "end_turn"}


METHODS: dict[str, Any] = {"session/new": new_session, "session/prompt": prompt}
if "generator" in sys.argv:
    METHODS["session/prompt"] = generator_prompt

if DOOR == "sdk":
    asyncio.run(lastword.run_agent(SdkAgent()))
elif DOOR == "trio":
    trio.run(lastword.serve, METHODS)
else:
    asyncio.run(lastword.serve(METHODS))
