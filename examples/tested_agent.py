"""An agent and its test: what its turn did is read from the timeline, not from its log.

Run it: `python examples/tested_agent.py`. It needs the extra `acp`, no key and no network.
"""

import asyncio
import contextlib
import socket

import acp

import lastword
from lastword.testing import Kind, capture_timeline


class LimitError(Exception):
    status_code = 429


class Agent:
    async def initialize(self, **_):
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_):
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, **_):
        twice = lastword.Retry(attempts=2, first_wait_seconds=1)
        async for attempt in lastword.current_turn().attempts(twice):
            with attempt:
                raise LimitError("Too many requests")


class Client:
    async def session_update(self, **_): ...


async def take_turn(agent):
    ends = [await asyncio.open_connection(sock=end) for end in socket.socketpair()]
    (agent_reads, agent_writes), (client_reads, client_writes) = ends
    served = asyncio.create_task(lastword.run_agent(agent, agent_writes, agent_reads))
    client = acp.connect_to_agent(Client(), client_writes, client_reads)
    await client.initialize(protocol_version=acp.PROTOCOL_VERSION)
    session = (await client.new_session(cwd="/", mcp_servers=[])).session_id
    with contextlib.suppress(acp.RequestError):
        await client.prompt(session_id=session, prompt=[acp.text_block("Hello?")])
    client_writes.close()
    await served


def test_a_limit_is_tried_twice_and_then_told():
    with capture_timeline() as timeline:
        asyncio.run(take_turn(Agent()))
    assert timeline.turns[0].error_type == "rate_limit"
    assert len(timeline.turns[0].all(Kind.RETRY)) == 1
    print(timeline.summary().text)


test_a_limit_is_tried_twice_and_then_told()
