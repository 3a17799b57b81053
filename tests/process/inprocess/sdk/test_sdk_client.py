"""The SDK's own client before a guarded agent, over the pipes that it makes itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import acp
import pytest
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tests.kit.doors import CANARY
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT
from tests.process.inprocess.sdk.conftest import AGENTS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Client(acp.Client):
    """Remembers the texts that it was sent, and allows everything."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.shown = asyncio.Event()

    async def session_update(self, update: Any, **_: Any) -> None:
        self.texts += [update.content.text] if hasattr(update, "content") else []
        self.shown.set()

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        outcome = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=outcome)


def prompt(connection: Any, text: str) -> Any:
    return connection.prompt(session_id="s1", prompt=[acp.text_block(text)])


def with_agent(talk: Callable[[Client, Any], Awaitable[None]], status: int) -> None:
    """A conversation with an agent that ends with this status."""

    async def run() -> None:
        client = Client()
        # Its stderr to ours: the SDK's client does not read a pipe that it makes for it.
        # It ends an agent that takes longer to leave, which is for a busy machine to say.
        transport = {"stderr": None, "shutdown_timeout": FUSE_SECONDS}
        async with (
            asyncio.timeout(FUSE_SECONDS),
            acp.spawn_agent_process(
                client, *AGENTS, "plain", cwd=ROOT, transport_kwargs=transport
            ) as (connection, process),
        ):
            await connection.initialize(protocol_version=1)
            await connection.new_session(cwd="/s1")
            await talk(client, connection)
        assert process.returncode == status

    asyncio.run(run())


async def fails(connection: Any, how: str, error_type: str) -> None:
    with pytest.raises(acp.RequestError) as caught:
        await prompt(connection, f"fail {how}")
    assert caught.value.data["agent_error"]["type"] == error_type
    assert caught.value.data["details"]
    assert CANARY not in f"{caught.value} {caught.value.data}"


def test_turns_questions_failures_and_cancels_reach_the_client_unchanged() -> None:
    async def talk(client: Client, connection: Any) -> None:
        for text in ("say", "ask"):
            assert (await prompt(connection, text)).stop_reason == "end_turn"
        assert client.texts == ["Hello.", "selected"]
        await fails(connection, "value_error", "auth")
        await fails(connection, "base", "unknown")
        client.shown.clear()
        turn = asyncio.ensure_future(prompt(connection, "wait"))
        await client.shown.wait()
        await connection.cancel(session_id="s1")
        assert (await turn).stop_reason == "cancelled"
        assert (await prompt(connection, "say")).stop_reason == "end_turn"

    with_agent(talk, 0)


def test_an_agent_that_exits_in_its_turn_gives_the_client_a_typed_error() -> None:
    async def talk(_: Client, connection: Any) -> None:
        await fails(connection, "exit", "agent_crash")

    with_agent(talk, 3)
