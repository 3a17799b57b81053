"""The official SDK's client with failures typed, in front of agents that fail on purpose."""

from __future__ import annotations

import asyncio
from typing import Any

import acp

from lastword import errors
from lastword.client.reading import CLASS_FOR
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType
from lastword.kit.agent.scenarios import SCENARIOS
from tests.process.client.sdk_clients import (
    LASTWORD,
    Client,
    Turn,
    prompt,
    with_process,
)

FAILING = [SCENARIOS[word.value] for word in ErrorType if word is not ErrorType.CANCELLED]


def command(scenario: str) -> list[str]:
    return [*LASTWORD, "agent", scenario]


def test_every_failure_reaches_the_client_before_the_prompt_raises_it() -> None:
    async def talk(connection: Any, client: Client) -> None:
        await connection.initialize(protocol_version=1)
        session = (await connection.new_session(cwd="/", mcp_servers=[])).session_id

        async def play(scenario: str) -> Turn:
            client.told.clear()
            return await prompt(connection, client, session, f"/scenario {scenario}")

        for scenario in FAILING:
            turn = await play(scenario.name)
            assert turn.failed is not None, turn
            assert type(turn.failed) is CLASS_FOR[scenario.error_type]
            assert turn.failed.error.type is scenario.error_type
            assert turn.failed.error.retryable is DEFAULTS[scenario.error_type].retryable
            assert turn.failed.error.retry_safety is not None
            assert isinstance(turn.failed.__cause__, acp.RequestError)
            assert client.told[-1] == ("agent_error", turn.failed.error)
        # A turn that goes well is the SDK's own.
        turn = await play("healthy_tool")
        assert turn.answer.stop_reason == "end_turn"
        assert set(client.kinds) <= {"agent_message_chunk", "tool_call", "tool_call_update"}
        # Retries reach the client while the turn goes on.
        turn = await play("retried")
        assert turn.answer.stop_reason == "end_turn"
        retries = [told for kind, told in client.told if kind == "agent_retry"]
        assert [retry.attempt for retry in retries] == [2, 3]
        assert all(retry.error and retry.message for retry in retries)
        assert client.kinds[-1] == "agent_message_chunk"
        # A cancelled turn is no failure.
        client.shown.clear()
        asked = asyncio.ensure_future(play("cancelled"))
        await client.shown.wait()
        await connection.cancel(session_id=session)
        assert (await asked).answer.stop_reason == "cancelled"

    with_process(command("healthy"), Client(), talk)


def test_a_bare_agents_death_is_a_lost_agent() -> None:
    turn = with_process([*LASTWORD, "agent", "--bare", "agent_crash"], Client())
    assert isinstance(turn.failed, errors.AgentLostError)
    assert isinstance(turn.failed.__cause__, ConnectionError)
