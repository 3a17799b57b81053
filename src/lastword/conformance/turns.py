"""Turns that go well, and turns that fail in the agent's own code, as a handler takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from lastword.conformance import providers
from lastword.inprocess.turn import current_turn
from lastword.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.serving.peer import Client

END_TURN = {"stopReason": "end_turn"}

SLOW_WORDS = ("Every", "half", "second", "a", "word", "comes.")
SLOW_SECONDS = 0.5

RETRY = Retry(attempts=4, first_wait_seconds=0.3)
"""Waits that a person can see and a test can wait for."""


async def healthy(client: Client, session_id: str) -> dict[str, Any]:
    """Text, and the end."""
    await client.say(session_id, "The parser reads past the end of its input. ")
    await client.say(session_id, "One check is missing.")
    return END_TURN


async def healthy_tool(client: Client, session_id: str) -> dict[str, Any]:
    """A tool that reads, text, and the end."""
    await tool(client, session_id, kind="read", title="Read parser.py", status="completed")
    await client.say(session_id, "One check is missing in parser.py.")
    return END_TURN


async def slow(client: Client, session_id: str) -> dict[str, Any]:
    """Words with waits between them."""
    for word in SLOW_WORDS:
        await client.say(session_id, f"{word} ")
        await anyio.sleep(SLOW_SECONDS)
    return END_TURN


async def retried(client: Client, session_id: str) -> dict[str, Any]:
    """A model call that succeeds when it is made for the third time."""
    async for attempt in current_turn().attempts(RETRY):
        with attempt:
            if attempt.number == 1:
                raise providers.overloaded()
            if attempt.number == 2:  # noqa: PLR2004  (the second fails too)
                raise providers.timed_out()
            await client.say(session_id, f"It took {attempt.number} attempts.")
    return END_TURN


def raising(make: Callable[[], Exception]) -> Callable[[Client, str], Awaitable[Any]]:
    """A turn whose model call fails with this, before anything came."""

    async def play(_client: Client, _session_id: str) -> Any:
        await anyio.lowlevel.checkpoint()
        raise make()

    return play


async def after_text(client: Client, session_id: str) -> Any:
    """A model call that fails once it has shown something."""
    await client.say(session_id, "Let me look at the parser first. ")
    raise providers.throttled(20)


async def after_tool(client: Client, session_id: str) -> Any:
    """A model call that fails once a file was changed."""
    await tool(client, session_id, kind="edit", title="Edit parser.py", status="completed")
    raise providers.overloaded()


async def bug(_client: Client, _session_id: str) -> Any:
    """What every program has one of."""
    session: dict[str, Any] = {"model": None}
    return session["model"].complete("...")


async def no_stop_reason(client: Client, session_id: str) -> Any:
    """A handler that forgets what it has to return."""
    await client.say(session_id, "Done, but this handler returns nothing.")


async def silent_success(_client: Client, _session_id: str) -> dict[str, Any]:
    """A handler that swallowed its error, as real ones do."""
    return END_TURN


async def wait_for_cancel(client: Client, session_id: str) -> Any:
    """A turn that only the user ends."""
    await client.say(session_id, "This turn goes on until you cancel it.")
    turn = current_turn()
    while True:
        await anyio.sleep(SLOW_SECONDS)
        turn.progress()


async def stall(client: Client, session_id: str) -> Any:
    """A turn that goes on, and says nothing more."""
    await client.say(session_id, "From here on nothing comes.")
    await anyio.sleep_forever()


async def tool(client: Client, session_id: str, *, kind: str, title: str, status: str) -> None:
    """A tool call, up to a status."""
    await client.update(
        session_id,
        session_update="tool_call",
        tool_call_id="call_1",
        kind=kind,
        title=title,
        status="in_progress",
    )
    if status != "in_progress":
        await client.update(
            session_id, session_update="tool_call_update", tool_call_id="call_1", status=status
        )
