"""The SDK's own client before a guarded agent, over the pipes that it makes itself."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import acp
import pytest
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tests.kit.doors import CANARY
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT
from tests.process.inprocess.sdk.conftest import AGENTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine


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


@asynccontextmanager
async def session(kind: str = "plain") -> AsyncIterator[tuple[Client, Any]]:
    client = Client()
    # Its stderr to ours: the SDK's client does not read a pipe that it makes for it.
    # It ends an agent that takes longer to leave, which is for a busy machine to say.
    transport = {"stderr": None, "shutdown_timeout": FUSE_SECONDS}
    async with acp.spawn_agent_process(
        client, *AGENTS, kind, cwd=ROOT, transport_kwargs=transport
    ) as (connection, process):
        await connection.initialize(protocol_version=1)
        await connection.new_session(cwd="/s1")
        yield client, connection
    assert process.returncode == 0


def run(work: Coroutine[Any, Any, None]) -> None:
    async def under_a_fuse() -> None:
        await asyncio.wait_for(work, FUSE_SECONDS)

    asyncio.run(under_a_fuse())


def prompt(connection: Any, text: str) -> Any:
    return connection.prompt(session_id="s1", prompt=[acp.text_block(text)])


def test_a_healthy_turn_reaches_it_as_it_was() -> None:
    async def work() -> None:
        async with session() as (client, connection):
            assert (await prompt(connection, "say")).stop_reason == "end_turn"
            assert client.texts == ["Hello."]

    run(work())


def test_a_question_of_the_agents_is_answered() -> None:
    async def work() -> None:
        async with session() as (client, connection):
            assert (await prompt(connection, "ask")).stop_reason == "end_turn"
            assert client.texts == ["selected"]

    run(work())


@pytest.mark.parametrize(
    ("how", "error_type"), [("value_error", "auth"), ("base", "unknown"), ("exit", "agent_crash")]
)
def test_a_failing_turn_reaches_it_as_an_error_with_its_type(how: str, error_type: str) -> None:
    async def work() -> None:
        async with acp.spawn_agent_process(
            Client(), *AGENTS, "plain", cwd=ROOT, transport_kwargs={"stderr": None}
        ) as (connection, _):
            await connection.initialize(protocol_version=1)
            await connection.new_session(cwd="/s1")
            with pytest.raises(acp.RequestError) as caught:
                await prompt(connection, f"fail {how}")
            assert caught.value.data["agent_error"]["type"] == error_type
            assert caught.value.data["details"]
            assert CANARY not in f"{caught.value} {caught.value.data}"

    run(work())


def test_a_cancelled_turn_reaches_it_as_cancelled() -> None:
    async def work() -> None:
        async with session() as (client, connection):
            turn = asyncio.ensure_future(prompt(connection, "wait"))
            await client.shown.wait()
            await connection.cancel(session_id="s1")
            assert (await turn).stop_reason == "cancelled"
            assert (await prompt(connection, "say")).stop_reason == "end_turn"

    run(work())
