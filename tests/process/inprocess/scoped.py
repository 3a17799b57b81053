"""Agents in this process on structured concurrency: ``scoped sdk|asyncio|trio``.

A prompt's first word names one of the `do_…` below, the rest is its argument. What they do is what
an author does without a thought: scopes that run out, task groups whose children raise, generators
that are left half way, threads, and a client that is asked from all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import sys
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from lastword.record import thread
from tests.kit.doors.work import RateLimitError, Work
from tests.kit.patience import patient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.kit.doors.serve import Turn

DOOR = sys.argv[1]

if DOOR == "trio":
    import trio


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


class ScopedWork(Work):
    """What a prompt does."""

    def __init__(self, module: Any) -> None:
        super().__init__(module, DOOR, None)
        self.kept: list[Any] = []
        self._sessions = itertools.count(1)

    async def open_session(self, *_: Any) -> str:
        return f"s{next(self._sessions)}"

    # --- that end well

    async def do_say(self, turn: Turn, words: str) -> None:
        await turn.say(words or "Here.")

    async def do_nap(self, turn: Turn, words: str) -> None:
        await turn.say("Working.")
        await anyio.sleep(float(words))

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

    # --- that fail

    async def do_too_slow(self, *_: Any) -> None:
        with trio.fail_after(0.05):
            await trio.sleep(3600)

    async def do_group(self, *_: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_with, RateLimitError("429 Too Many Requests"))
            tasks.start_soon(anyio.sleep_forever)

    async def do_stop_iteration(self, *_: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_with, StopAsyncIteration(1))

    async def do_generator_exit(self, *_: Any) -> None:
        raise GeneratorExit

    async def do_return_coroutine(self, *_: Any) -> Any:
        forgotten = anyio.lowlevel.checkpoint()
        self.kept.append(forgotten)
        return [forgotten]

    async def do_scope_over_a_yield(self, *_: Any) -> None:
        async for _number in scope_over_a_yield():
            raise RateLimitError("429 Too Many Requests")

    async def do_keep_scope(self, *_: Any) -> None:
        """Leaves the task with a scope entered: the event loop's own books are wrong then."""
        generator = scope_over_a_yield()
        self.kept.append(generator)
        await anext(generator)
        raise RateLimitError("429 Too Many Requests")

    # --- that end more than their turn

    async def do_exit_and_error(self, *_: Any) -> None:
        raise BaseExceptionGroup("both", [RateLimitError("429"), SystemExit(7)])

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


def main() -> None:
    """Be the agent; its last entries have as long as the machine is busy."""
    thread.EXIT_SECONDS = patient(thread.EXIT_SECONDS)
    # Only the door's own library is loaded.
    module = importlib.import_module(f"tests.kit.doors.{'sdk' if DOOR == 'sdk' else 'serve'}")
    module.run(ScopedWork(module), None)


if __name__ == "__main__":
    main()
