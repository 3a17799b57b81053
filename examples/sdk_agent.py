"""An agent on the official SDK under lastword: one call differs, and no turn ends in silence.

Run it behind a client: `python examples/typed_client.py -- python examples/sdk_agent.py`. It needs
no key and no network. Its model goes away in mid-answer; nothing here catches that.
"""

import asyncio

import acp

import lastword


class Agent:
    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        async for text in model():
            await self.client.session_update(session_id, acp.update_agent_message_text(text))
        return acp.PromptResponse(stop_reason="end_turn")


async def model():
    yield "The parser fails "
    yield "because "
    raise ConnectionResetError("Connection reset by peer")


asyncio.run(lastword.run_agent(Agent()))
