"""A handler's task that its author cancels: the cancellation is the handler's, and goes no further.

On asyncio alone: on trio a task is cancelled by its scopes only.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lastword.inprocess import handling
from tests.kit.in_process import CANCEL, Shell
from tests.unit.inprocess.conftest import TYPED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.anyio


CANCELLED = {"stopReason": "cancelled"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def cancel_and_wait(_: Shell) -> None:
    this_task().cancel()
    await anyio.sleep_forever()


async def cancel_twice(_: Shell) -> None:
    this_task().cancel()
    try:
        await anyio.sleep_forever()
    finally:
        this_task().cancel()


async def cancel_and_return(shell: Shell) -> None:
    shell.say("Here.")
    this_task().cancel()


async def cancel_and_raise(_: Shell) -> None:
    this_task().cancel()
    raise TimeoutError


async def cancel_and_go_on(shell: Shell) -> None:
    shell.say("Here.")
    this_task().cancel()
    try:
        await anyio.sleep_forever()
    except asyncio.CancelledError:
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (cancel_and_wait, "agent_cancelled"),
        (cancel_twice, "agent_cancelled"),
        (cancel_and_return, None),
        (cancel_and_raise, "transport"),
        (cancel_and_go_on, None),
    ],
)
async def test_the_turn_ends_at_once_with_what_its_handler_raised(
    work: Callable[[Shell], Awaitable[None]], reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(work, TYPED, monkeypatch)
    # It is the shell's task group that would be ended by what goes further.
    answer = (await shell.whole_turn())[-1]
    if reason is None:
        assert answer["result"] == {"stopReason": "end_turn"}
    else:
        assert answer["error"]["data"]["agent_error"]["reason"] == reason


@pytest.mark.parametrize("authors_first", [True, False])
async def test_a_users_cancel_that_crosses_the_authors_ends_the_turn_cancelled(
    monkeypatch: pytest.MonkeyPatch, *, authors_first: bool
) -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def handler(shell: Shell) -> None:
        tasks.append(this_task())
        shell.at_work.set()
        await anyio.sleep_forever()

    shell = Shell(handler, TYPED, monkeypatch)
    async with shell.turn():
        if authors_first:
            tasks[0].cancel()
        shell.client(CANCEL)
        tasks[0].cancel()
    assert shell.frames == [{"jsonrpc": "2.0", "id": 2, "result": CANCELLED}]


async def test_a_door_without_a_cancel_scope_reports_that_it_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = Shell(cancel_and_wait, TYPED, monkeypatch)
    for message in ("initialize", "session/prompt"):
        shell.client({"jsonrpc": "2.0", "id": 2, "method": message, "params": {"sessionId": "s1"}})
    shell.link.handler_left()
    request = shell.request
    with pytest.raises(asyncio.CancelledError):
        await handling.run(request, lambda: cancel_and_wait(shell), lambda _: None)
    assert this_task().cancelling() == 1
    this_task().uncancel()


async def test_a_notifications_cancelled_handler_is_only_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shell = Shell(cancel_and_wait, TYPED, monkeypatch)
    await handling.run_notification(shell.link, lambda: cancel_and_wait(shell))
    assert this_task().cancelling() == 0
    assert "The handler of a notification failed." in caplog.text
