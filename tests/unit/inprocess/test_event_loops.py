"""One handler's turn on asyncio and on trio: cancellation, attempts, child tasks, threads."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest
import trio
import trio.testing

import lastword
from lastword import Retry, current_turn
from lastword.inprocess.request import CURRENT
from tests.kit.in_process import CANCEL, Json, Shell
from tests.unit.inprocess.conftest import TYPED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.unit.inprocess.conftest import ShellFor

pytestmark = pytest.mark.anyio

AT_ONCE = Retry(first_wait_seconds=0)


class LimitedError(Exception):
    """As a provider's package has it."""

    def __init__(self) -> None:
        self.status_code = 429
        self.headers = {"retry-after": "200"}


def kinds(frames: list[Json]) -> list[str]:
    return [frame["params"]["update"]["sessionUpdate"] for frame in frames if "method" in frame]


def error_of(frames: list[Json]) -> Json:
    error: Json = frames[-1]["error"]["data"]["agent_error"]
    return error


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancel_that_the_loop_reads_after_its_handler_has_blocked_it_ends_the_turn(
    shell_for: ShellFor, *, fails: bool
) -> None:
    async def handler(shell: Shell) -> None:
        shell.say("Here.")
        shell.unread.append(CANCEL)
        if fails:
            raise LimitedError

    shell = shell_for(handler)
    await shell.whole_turn()
    assert shell.frames[-1]["result"] == {"stopReason": "cancelled"}
    assert kinds(shell.frames) == ["agent_message_chunk"]


async def cleans_up(shell: Shell, seen: list[str]) -> None:
    shell.at_work.set()
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()
            seen.append("cleaned up")


async def waits_for_its_task(shell: Shell, _: list[str]) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        shell.at_work.set()


async def is_in_an_attempt(shell: Shell, seen: list[str]) -> None:
    async for attempt in current_turn().attempts(AT_ONCE):
        try:
            with attempt:
                shell.at_work.set()
                await anyio.sleep_forever()
        finally:
            seen.append("left at the `with` itself")


async def fails_as_it_is_cancelled(shell: Shell, seen: list[str]) -> None:
    async for attempt in current_turn().attempts(AT_ONCE):
        with attempt:
            seen.append(f"attempt {attempt.number}")
            shell.at_work.set()
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                raise ConnectionResetError("while it was cleaned up") from None


@pytest.mark.parametrize(
    ("work", "left"),
    [
        (cleans_up, ["cleaned up"]),
        (waits_for_its_task, []),
        (is_in_an_attempt, ["left at the `with` itself"]),
        (fails_as_it_is_cancelled, ["attempt 1"]),
    ],
)
async def test_a_users_cancel_ends_the_turn_as_cancelled_whatever_its_handler_does_then(
    work: Callable[[Shell, list[str]], Awaitable[None]], left: list[str], shell_for: ShellFor
) -> None:
    seen: list[str] = []
    shell = shell_for(lambda shell: work(shell, seen))
    async with shell.turn():
        shell.client(CANCEL)
    assert seen == left
    assert shell.frames == [{"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "cancelled"}}]


async def test_a_handler_that_was_cancelled_before_its_start_is_not_started(
    shell_for: ShellFor,
) -> None:
    async def handler(shell: Shell) -> None:
        pytest.fail("it was begun")

    shell = shell_for(handler)
    shell.at_work.set()
    async with shell.turn():
        shell.client(CANCEL)
    assert shell.frames[-1]["result"] == {"stopReason": "cancelled"}


async def test_a_loop_may_be_left_by_a_return_from_within_the_attempt(shell_for: ShellFor) -> None:
    async def answer() -> str:
        async for attempt in current_turn().attempts(AT_ONCE):
            with attempt as entered:
                if entered.number == 1:
                    raise ConnectionResetError
                return "the answer"
        raise AssertionError

    async def handler(shell: Shell) -> None:
        shell.say(await answer())

    assert kinds(await shell_for(handler).whole_turn()) == ["agent_retry", "agent_message_chunk"]


@pytest.mark.parametrize(
    ("message", "begun"),
    [
        ({"id": "m", "method": "mcp/message", "params": {"connectionId": "c"}}, 1),
        ({"id": "r", "method": "fs/read_text_file", "params": {"sessionId": "s1"}}, 3),
        ({"method": "_acme/file_written", "params": {"sessionId": "another"}}, 3),
    ],
)
async def test_an_attempt_that_sent_anything_not_known_to_be_harmless_is_not_retried(
    shell_for: ShellFor, message: Json, begun: int
) -> None:
    numbers: list[int] = []

    async def handler(shell: Shell) -> None:
        async for attempt in current_turn().attempts(Retry(attempts=3, first_wait_seconds=0)):
            with attempt:
                numbers.append(attempt.number)
                shell.link.from_handler(json.dumps(message).encode(), CURRENT.get())
                raise ConnectionResetError

    await shell_for(handler).whole_turn()
    assert len(numbers) == begun


async def test_a_loop_within_a_loop_does_not_multiply_the_attempts(shell_for: ShellFor) -> None:
    begun: list[int] = []

    @lastword.retry(Retry(attempts=3, first_wait_seconds=0))
    async def ask() -> None:
        begun.append(1)
        raise ConnectionResetError

    async def handler(_: Shell) -> None:
        async for attempt in current_turn().attempts(Retry(attempts=6, first_wait_seconds=0)):
            with attempt:
                await ask()

    error = error_of(await shell_for(handler).whole_turn())
    assert len(begun) == 6
    assert (error["attempts"], len(error["detail"]["attempts"])) == (6, 6)


async def test_the_same_exception_object_raised_each_time_is_counted_each_time(
    shell_for: ShellFor,
) -> None:
    lost = ConnectionResetError()

    async def handler(_: Shell) -> None:
        async for attempt in current_turn().attempts(Retry(attempts=5, first_wait_seconds=0)):
            with attempt:
                raise lost

    error = error_of(await shell_for(handler).whole_turn())
    assert (error["attempts"], len(error["detail"]["attempts"])) == (5, 5)


async def test_calls_at_once_answer_for_their_own_output_alone(shell_for: ShellFor) -> None:
    ready, shown, failed = anyio.Event(), anyio.Event(), anyio.Event()
    begun: list[str] = []

    async def call(shell: Shell, name: str) -> None:
        async for attempt in current_turn().attempts(AT_ONCE):
            with attempt:
                begun.append(name)
                if name == "talks":
                    await ready.wait()
                    shell.say("text")
                    shown.set()
                    await failed.wait()
                elif attempt.number == 1:
                    ready.set()
                    await shown.wait()
                    failed.set()
                    raise ConnectionResetError

    async def handler(shell: Shell) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call, shell, "talks")
            group.start_soon(call, shell, "fails")

    frames = await shell_for(handler).whole_turn()
    assert frames[-1]["result"] == {"stopReason": "end_turn"}
    assert sorted(begun) == ["fails", "fails", "talks"]


async def test_output_outside_of_any_attempt_counts_for_those_in_progress(
    shell_for: ShellFor,
) -> None:
    texts, texts_of = anyio.create_memory_object_stream[str](1)
    shown = anyio.Event()

    async def show_all(shell: Shell) -> None:
        async with texts_of:
            async for text in texts_of:
                shell.say(text)
                shown.set()

    async def handler(shell: Shell) -> None:
        async with anyio.create_task_group() as group, texts:
            group.start_soon(show_all, shell)
            async for attempt in current_turn().attempts(AT_ONCE):
                with attempt:
                    assert attempt.number == 1
                    await texts.send("text")
                    await shown.wait()
                    raise ConnectionResetError

    error = error_of(await shell_for(handler).whole_turn())
    assert (error["type"], error["retry_safety"]) == ("network", "offer_continue")
    assert error["attempts"] == 1


async def test_the_turn_is_found_in_child_tasks_and_threads(
    shell_for: ShellFor, anyio_backend: str
) -> None:
    sessions: list[str | None] = []

    def look() -> None:
        sessions.append(current_turn().session_id)

    async def child() -> None:
        look()

    def in_thread() -> None:
        look()
        current_turn().tool_started("write", side_effects=True)
        current_turn().tool_finished("write")
        raise ConnectionResetError

    async def handler(_: Shell) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(child)
        if anyio_backend == "asyncio":
            await asyncio.to_thread(look)
        await anyio.to_thread.run_sync(in_thread)

    error = error_of(await shell_for(handler).whole_turn())
    assert set(sessions) == {"s1"}
    assert (error["type"], error["phase"], error["retry_safety"]) == (
        "network",
        "after_tool",
        "ask",
    )


async def test_a_decorated_generator_is_closed_with_its_reader(shell_for: ShellFor) -> None:
    closed: list[str] = []

    @lastword.retry(AT_ONCE)
    async def answer() -> AsyncIterator[str]:
        try:
            yield "one"
            yield "two"
        finally:
            closed.append("here")

    async def handler(shell: Shell) -> None:
        stream: Any = answer()
        async with aclosing(stream):
            async for text in stream:
                shell.say(text)
                break
        assert closed == ["here"]

    frames = await shell_for(handler).whole_turn()
    assert frames[-1]["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("retry", [Retry(attempts=3), Retry(budget_seconds=450)])
def test_waits_under_trio_use_trios_clock_and_overrun_no_budget(
    retry: Retry, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def handler(_: Shell) -> None:
        begun = trio.current_time()
        async for attempt in current_turn().attempts(retry):
            with attempt:
                waited.append(trio.current_time() - begun)
                begun = trio.current_time()
                raise LimitedError

    async def main() -> list[Json]:
        return await Shell(handler, TYPED, monkeypatch).whole_turn()

    monkeypatch.setattr("tests.kit.in_process.FUSE_SECONDS", 1000.0)
    frames = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    first, *later = waited
    assert first == 0
    assert [200 <= wait <= 201 for wait in later] == [True, True]
    assert kinds(frames) == ["agent_retry", "agent_retry", "agent_error"]
    error = error_of(frames)
    assert (error["type"], error["attempts"]) == ("rate_limit", 3)
    assert error["retry_after_seconds"] == 200
    told = [attempt.get("waited_seconds") for attempt in error["detail"]["attempts"]]
    assert told == [*(pytest.approx(wait, abs=0.01) for wait in later), None]


@pytest.mark.parametrize("begun_in_a_turn", [True, False])
async def test_a_task_that_belongs_to_no_turn_retries_until_it_has_shown_something(
    shell_for: ShellFor, *, begun_in_a_turn: bool
) -> None:
    async def nothing(shell: Shell) -> None:
        shell.say("hello")

    shell = shell_for(nothing)
    await shell.whole_turn()
    tries: list[str] = []

    @lastword.retry(AT_ONCE)
    async def ask(shown: str) -> None:
        tries.append(shown)
        if shown:
            shell.say(shown)
        if len(tries) < 3:
            raise ConnectionResetError("Connection reset by peer")

    entered = CURRENT.set(shell.request if begun_in_a_turn else None)
    try:
        await ask("")
        assert len(tries) == 3
        tries.clear()
        with pytest.raises(ConnectionResetError):
            await ask("half an answer")
    finally:
        CURRENT.reset(entered)
    assert len(tries) == 1
