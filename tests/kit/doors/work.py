"""What an agent behind any in-process door does: each `do_…` is one way to take a turn.

A prompt's first word names it, and the rest is its argument. A turn that waits goes on at the
notification `_agent/go`. What a door's library does in its own way is the door's module's.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import multiprocessing
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic import BaseModel, field_validator

import lastword
from tests.kit.doors import CANARY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

END_TURN = {"stopReason": "end_turn"}
OTHERS = ("echo", "fail", "return", "wait", "agent/go", "note", "mark")
"""The agent's own methods, without the underscore that they begin with."""


class Stopped(BaseException):
    """What no handler should raise."""


class RateLimitError(Exception):
    status_code = 429


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class WordlessError(Exception):
    def __str__(self) -> str:
        text: Any = None
        return text


class RecursiveError(Exception):
    def __str__(self) -> str:
        return f"see {self}"

    __repr__ = __str__


RAISED_BY_METHODS: dict[str, Callable[[], BaseException]] = {
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "cancel": asyncio.CancelledError,
    "base": Stopped,
    "recursion": RecursionError,
}


def hostile(method: str, raises: str) -> Exception:
    """An exception of which a method raises."""

    def refuse(self: BaseException, *_: object) -> Any:
        if raises == "recursion":
            return refuse(self)
        made = RAISED_BY_METHODS[raises]()
        raise made

    if method == "__notes__":
        return type("HostileError", (Exception,), {method: property(refuse)})("hostile")
    return type("HostileError", (Exception,), {method: refuse})("hostile")


def hostile_failure(method: str, raises: str, place: str) -> BaseException:
    """Such an exception, alone or where another one has it."""
    error = hostile(method, raises)
    outer = ValueError("outer")
    if place == "cause":
        outer.__cause__ = error
    elif place == "context":
        outer.__context__ = error
    elif place == "note":
        outer.__notes__ = [error]  # type: ignore[attr-defined]
    elif place == "group":
        return ExceptionGroup("both", [outer, error])
    elif place == "nested":
        for _ in range(2000):
            error = ExceptionGroup("one", [error])
        return error
    else:
        return error
    return outer


PRINTED = "printed by the handler"


class Strict(BaseModel):
    """A model whose errors hold an exception, which is no JSON."""

    token: str

    @field_validator("token")
    @classmethod
    def _never(cls, value: str) -> str:
        raise ValueError(f"no such token: {value}")


def fail(how: str, authors_error: Any) -> NoReturn:
    raised: dict[str, Callable[[], BaseException]] = {
        "value_error": lambda: ValueError(f"401 for api_key={CANARY}"),
        "json_text": lambda: ValueError(json.dumps({"key": CANARY})),
        "of_environment": lambda: ValueError(f"the key {os.environ['TEST_API_KEY']} is wrong"),
        "throttled": lambda: RateLimitError("429 Too Many Requests"),
        "authors_error": lambda: authors_error(-32603, f"401 for {CANARY}", {"key": CANARY}),
        "without_data": lambda: authors_error(-32603, "The model is busy."),
        "not_json_data": lambda: authors_error(-32603, "The model is busy.", {"at": object()}),
        "base": Stopped,
        "exit": lambda: SystemExit(3),
        "interrupt": KeyboardInterrupt,
        "group": lambda: ExceptionGroup("both", [ValueError("one"), TimeoutError("two")]),
        "nested_group": lambda: ExceptionGroup(
            "one", [ExceptionGroup("two", [RateLimitError("429"), RateLimitError("429 too")])]
        ),
        "base_group": lambda: BaseExceptionGroup("both", [Stopped(), ValueError("one")]),
        "own_cancel": asyncio.CancelledError,
        "unspeakable": UnspeakableError,
        "wordless": WordlessError,
        "recursive": RecursiveError,
    }
    if how.startswith("hostile "):
        raise hostile_failure(*how.split()[1:])
    if how == "validation":
        Strict(token=CANARY)
    if how == "unspeakable_cause":
        raise ValueError("bad value") from UnspeakableError()
    error = raised[how]()
    raise error


def returned(what: str) -> Any:
    return {
        "nothing": None,
        "text": "end_turn",
        "no_stop_reason": {"answer": 42},
        "unknown_stop_reason": {"stopReason": "finished"},
        "object": object(),
        "object_within": {"stopReason": object()},
        "bytes": {"stopReason": "end_turn", "_meta": {"raw": b"\xff"}},
        "not_a_number": {"stopReason": "end_turn", "_meta": {"rate": float("nan")}},
    }[what]


class Work:
    """The turns, and what they share.

    Attributes:
        on_cancel: What a handler of `session/cancel` does, if there is one.
    """

    def __init__(self, module: Any, door: str, on_cancel: str | None) -> None:
        self.door = door
        self.on_cancel = on_cancel
        self._module = module
        self._go = anyio.Event()
        self._spawned: list[object] = []
        self._queue: Any = None
        self._ended_by_own_cancel = False

    async def take(self, turn: Any, text: str) -> Any:
        name, _, words = text.partition(" ")
        result = await getattr(self, f"do_{name}")(turn, words)
        return END_TURN if result is None else result[0]

    async def open_session(self, cwd: str, turn_in: Callable[[str], Any]) -> str:
        try:
            lastword.current_turn()
        except lastword.errors.NotInTurnError:
            session_id = cwd.strip("/") or "s1"
        if cwd.startswith("/fail "):
            self.fail(cwd.removeprefix("/fail "))
        if cwd == "/commands":
            commands = {"sessionUpdate": "available_commands_update", "availableCommands": []}

            async def tell() -> None:
                await anyio.lowlevel.checkpoint()  # only once the client knows of the session
                await turn_in(session_id).show(commands)

            self.spawn(tell)
        return session_id

    async def other(self, name: str, params: dict[str, Any]) -> Any:
        if name == "agent/go":
            self.go()
        elif name == "fail":
            self.fail(params["how"])
        elif name == "return":
            return returned(params["what"])
        elif name == "wait":
            await self.wait_for_go()
        elif name == "mark":
            print(params["word"], file=sys.stderr, flush=True)
        elif name == "note":
            raise ValueError("the note's own failure")
        return {"echo": params}

    async def own_cancel(self) -> None:
        print("own cancel", file=sys.stderr, flush=True)
        if self.on_cancel == "never":
            await anyio.sleep_forever()
        self._ended_by_own_cancel = True
        self.go()

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        if self.door == "trio":
            import trio  # noqa: PLC0415 - one of two event loops

            trio.lowlevel.spawn_system_task(work, context=contextvars.copy_context())
        else:
            self._spawned.append(asyncio.ensure_future(work()))

    def go(self) -> None:
        self._go.set()
        self._go = anyio.Event()

    async def wait_for_go(self) -> None:
        await self._go.wait()

    def fail(self, how: str) -> NoReturn:
        fail(how, self._module.authors_error)

    # --- turns that end well

    async def do_say(self, turn: Any, words: str) -> None:
        await turn.say(words or "Hello.")

    async def do_many(self, turn: Any, words: str) -> None:
        for number in range(int(words)):
            await turn.say(f"{number:06}" + "x" * 1018)

    async def do_silent(self, *_: Any) -> None:
        """Shows nothing."""

    async def do_wait(self, turn: Any, _: str) -> Any:
        self._waiting = anyio.get_current_task().id
        await turn.say("waiting")
        try:
            await self.wait_for_go()
        finally:
            print("wait is over", file=sys.stderr, flush=True)
        if self._ended_by_own_cancel:
            return [{"stopReason": "cancelled", "_meta": {"by": "agent"}}]
        return None

    async def do_ask(self, turn: Any, _: str) -> None:
        await turn.say(await turn.ask())

    async def do_block(self, turn: Any, words: str) -> None:
        for number in range(int(words)):
            time.sleep(0.01)  # noqa: ASYNC251  (a provider's package that is not async)
            await turn.say(f"word {number} ")

    async def do_block_for(self, turn: Any, words: str) -> None:
        seconds, times, *until = words.split()
        await turn.say("before" * int(times))
        while True:
            time.sleep(float(seconds))  # noqa: ASYNC251  (the mistake that is to be seen)
            if all(map(os.path.exists, until)):
                break
        await turn.say("after")

    async def do_queue(self, turn: Any, words: str) -> None:
        """Has the work done by a task that the first such turn started."""
        if self._queue is None:
            self._queue, receiver = anyio.create_memory_object_stream[Any](10)
            self.spawn(lambda: self._work_on(receiver))
        done: list[BaseException | None] = []
        over = anyio.Event()
        await self._queue.send((turn, words, done, over))
        await over.wait()
        if done[0] is not None:
            raise done[0]

    async def _work_on(self, receiver: Any) -> None:
        async for turn, words, done, over in receiver:
            failure = None
            try:
                await turn.say(f"{words} in {turn.session_id}")
                if words == "ask":
                    await turn.say(await turn.ask())
                elif words:
                    self.fail(words)
            except Exception as error:  # noqa: BLE001  (the turn that waits for it raises it)
                failure = error
            done.append(failure)
            over.set()

    # --- turns that end badly

    async def do_fail(self, _: Any, words: str) -> None:
        self.fail(words)

    async def do_return(self, turn: Any, words: str) -> Any:
        await turn.say("said")
        return [returned(words)]

    async def do_exit_and_cancel_the_waiting_first(self, turn: Any, words: str) -> None:
        every_task = asyncio.runners.tasks.all_tasks

        def waiting_first(loop: Any) -> list[Any]:
            return sorted(every_task(loop), key=lambda task: id(task) != self._waiting)

        asyncio.runners.tasks.all_tasks = waiting_first  # type: ignore[attr-defined]
        await self.do_exit_deep_down(turn, words)

    async def do_exit_deep_down(self, *_: Any) -> None:
        async def leave() -> None:
            sys.exit(3)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)

    async def do_swallow(self, turn: Any, _: str) -> None:
        await turn.say("waiting")
        try:
            await anyio.sleep_forever()
        except BaseException:  # noqa: BLE001  (what it is about)
            with anyio.CancelScope(shield=True):
                await self.wait_for_go()
                await turn.say("late")

    async def do_late(self, turn: Any, words: str) -> None:
        async def later() -> None:
            await self.wait_for_go()
            await turn.say("late")

        await turn.say("said")
        self.spawn(later)
        if words:
            self.fail(words)

    async def do_ask_late(self, turn: Any, words: str) -> None:
        async def later() -> None:
            await self.wait_for_go()
            try:
                await turn.ask()
            except Exception as error:  # noqa: BLE001  (each door has its own)
                print("refused:", getattr(error, "code", None), file=sys.stderr, flush=True)

        self.spawn(later)
        self.fail(words)

    # --- turns that its author cancels

    async def do_hang(self, turn: Any, _: str) -> None:
        await turn.say("Working.")
        await anyio.sleep_forever()

    async def do_move_on_after(self, turn: Any, _: str) -> None:
        with anyio.move_on_after(0.05):
            await anyio.sleep_forever()
        await turn.say("Here.")

    async def do_fail_after(self, *_: Any) -> None:
        with anyio.fail_after(0.05):
            await anyio.sleep_forever()

    # --- turns that print

    async def do_print(self, turn: Any, _: str) -> None:
        print(PRINTED, flush=True)
        await turn.say("Here.")

    # --- turns that serve on the same stdin and stdout

    async def do_serve_too(self, turn: Any, _: str) -> None:
        try:
            await self._module.second_door(self)
        except ValueError as error:
            await turn.say(str(error))

    # --- turns that are recorded

    async def do_throttle(self, _: Any, words: str) -> None:
        raise RuntimeError(f"429 Too Many Requests: {words}")

    async def do_tool(self, turn: Any, words: str) -> None:
        raw = {"command": words, "env": {"API_KEY": words}}
        call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "execute"}
        await turn.show({**call, "title": words, "rawInput": raw})
        content = [{"type": "content", "content": {"type": "text", "text": words}}]
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed"}
        await turn.show({**ended, "content": content, "rawOutput": {"said": words}})
        await turn.say(f"done {words}")

    async def do_own(self, _: Any, words: str) -> None:
        lastword.current_turn().fail("budget", words[:400], reason="own", detail=words)

    async def do_fork(self, turn: Any, words: str) -> None:
        if words == "by_multiprocessing":
            child = multiprocessing.get_context("fork").Process(target=os.getpid)
            child.start()
            child.join()
        else:
            number = os.fork()
            if not number and words == "and_exit":
                sys.exit(3)
            if not number and words == "and_fail":
                raise ValueError("in the child")
            if not number and words == "and_return":
                return
            if not number and words == "and_say":
                await turn.say("I am the child.")
            if not number:
                os._exit(0)
            _, status = os.waitpid(number, 0)  # noqa: ASYNC222  (it is over at once)
            await turn.say(f"{os.waitstatus_to_exitcode(status)}: ")
        await turn.say("Here.")
