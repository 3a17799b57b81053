"""An agent on the official SDK and the providers' real packages, with lastword around it.

Each prompt's text is a plan in JSON: which package asks which models, and how it is retried. Runs
in the environment that has the packages. With `own-cancel` on its command line the agent has a
`cancel` of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import acp
import anthropic
import msgspec
import openai

import lastword

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

URL = os.environ["PROVIDER_URL"]
KEY = "sk-loopback"
QUESTION: Any = [{"role": "user", "content": "What is the answer?"}]


class Plan(msgspec.Struct, kw_only=True):
    """What a turn does.

    Attributes:
        package: Whose package asks.
        models: Asked at once, each with its own attempts.
        retry: `Retry`'s arguments.
        max_retries: How often the package itself tries again; its default without it.
    """

    package: str
    models: list[str]
    retry: dict[str, Any] = {}
    max_retries: int | None = None


async def ask_openai(model: str, options: dict[str, Any]) -> AsyncIterator[str]:
    async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, **options) as client:
        stream = await client.chat.completions.create(model=model, messages=QUESTION, stream=True)
        async for chunk in lastword.current_turn().watch(stream):
            for choice in chunk.choices:
                if choice.delta.content:
                    yield choice.delta.content


async def ask_anthropic(model: str, options: dict[str, Any]) -> AsyncIterator[str]:
    async with anthropic.AsyncAnthropic(base_url=URL, api_key=KEY, **options) as client:
        stream = await client.messages.create(
            model=model, messages=QUESTION, max_tokens=99, stream=True
        )
        async for event in lastword.current_turn().watch(stream):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text


ASK = {"openai": ask_openai, "anthropic": ask_anthropic}


class GuardedAgent:
    """The agent. The SDK asks for no base class, and its own would bring a `cancel`."""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        plan = msgspec.convert(json.loads(prompt[0].text), Plan)
        answer = self.by_attempts
        if len(plan.models) == 1:
            await answer(session_id, plan, plan.models[0])
        else:
            async with asyncio.TaskGroup() as group:
                for model in plan.models:
                    group.create_task(answer(session_id, plan, model))
        return acp.PromptResponse(stop_reason="end_turn")

    async def by_attempts(self, session_id: str, plan: Plan, model: str) -> None:
        async for attempt in lastword.current_turn().attempts(lastword.Retry(**plan.retry)):
            with attempt:
                async for text in self.texts(plan, model):
                    await self.show(session_id, text)

    async def texts(self, plan: Plan, model: str) -> AsyncIterator[str]:
        options = {} if plan.max_retries is None else {"max_retries": plan.max_retries}
        async for text in ASK[plan.package](model, options):
            yield text

    async def show(self, session_id: str, text: str) -> None:
        await self.client.session_update(session_id, acp.update_agent_message_text(text))


class CancellingAgent(GuardedAgent):
    """One that is told of a cancel, and takes note of it."""

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled = session_id


AGENTS = {"own-cancel": CancellingAgent, "plain": GuardedAgent}

if __name__ == "__main__":
    agent: Any = AGENTS[sys.argv[1]]()
    asyncio.run(lastword.run_agent(agent))
