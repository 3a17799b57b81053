"""An agent on the official SDK and the providers' real packages, with lastword around it.

Each prompt's text is a plan in JSON: which package asks, and how it is retried (`max_retries` is
how often the package itself tries again). Runs in the environment that has the packages.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import acp
import anthropic
import openai

import lastword

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

URL = os.environ["PROVIDER_URL"]
KEY = "sk-loopback"
QUESTION: Any = [{"role": "user", "content": "What is the answer?"}]


async def ask_openai(options: dict[str, Any]) -> AsyncIterator[str]:
    async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, **options) as client:
        stream = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        async for chunk in lastword.current_turn().watch(stream):
            for choice in chunk.choices:
                if choice.delta.content:
                    yield choice.delta.content


async def ask_anthropic(options: dict[str, Any]) -> AsyncIterator[str]:
    async with anthropic.AsyncAnthropic(base_url=URL, api_key=KEY, **options) as client:
        stream = await client.messages.create(
            model="m", messages=QUESTION, max_tokens=99, stream=True
        )
        async for event in lastword.current_turn().watch(stream):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text


ASK = {"openai": ask_openai, "anthropic": ask_anthropic}


class GuardedAgent:
    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        plan = json.loads(prompt[0].text)
        own = {} if plan["max_retries"] is None else {"max_retries": plan["max_retries"]}
        async for attempt in lastword.current_turn().attempts(lastword.Retry(**plan["retry"])):
            with attempt:
                async for text in ASK[plan["package"]](own):
                    update = acp.update_agent_message_text(text)
                    await self.client.session_update(session_id, update)
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    agent: Any = GuardedAgent()
    asyncio.run(lastword.run_agent(agent))
