"""An agent on pydantic-ai: what its model's provider refuses reaches the client typed.

Run it behind a client: `python examples/typed_client.py -- python examples/pydantic_ai_agent.py`.
It needs no key and no network: a function stands for the model, and its account is empty. Put a
name such as "openai:gpt-5" in its place, and the rest stays as it is.
"""

import asyncio

import acp
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.function import FunctionModel

import lastword


async def refuse(_messages, _info):
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota."}
    raise ModelHTTPError(status_code=429, model_name="gpt-5", body=error)
    yield  # a stream of text, if there were any


assistant = Agent(FunctionModel(stream_function=refuse), instructions="Be brief.")


class PydanticAgent:
    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, prompt: list, **_: object) -> acp.PromptResponse:
        async for attempt in lastword.current_turn().attempts():
            with attempt:
                async with assistant.run_stream(prompt[0].text) as run:
                    async for text in run.stream_text(delta=True):
                        update = acp.update_agent_message_text(text)
                        await self.client.session_update(session_id, update)
        return acp.PromptResponse(stop_reason="end_turn")


asyncio.run(lastword.run_agent(PydanticAgent()))
