"""The pages' examples of retries, as they stand there, against a provider that limits."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from lastword.kit.provider.dialects import ENCODERS
from lastword.kit.provider.server import ProviderScenario
from tests.kit.client import RETRY, Client, Turn
from tests.kit.doc_blocks import Block, blocks, calls_a_model
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.interop.providers.conftest import ScriptedProvider

LIMITED = ProviderScenario.RATE_LIMITED
SHOWN = [block for block in blocks("python") if calls_a_model(block)]

AROUND = """
import asyncio
import acp
import lastword
import openai

async def model(question: str) -> str:
    async with openai.AsyncOpenAI(max_retries=0) as llm:
        asked = [{"role": "user", "content": question}]
        whole = await llm.chat.completions.create(model="m", messages=asked)
        return whole.choices[0].message.content

async def ask_model(question: str):
    async with openai.AsyncOpenAI(max_retries=0) as llm:
        asked = [{"role": "user", "content": question}]
        stream = await llm.chat.completions.create(model="m", messages=asked, stream=True)
        async for chunk in lastword.current_turn().watch(stream):
            for choice in chunk.choices:
                yield choice.delta.content or ""

%s

class MyAgent:
    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
%s
        return acp.PromptResponse(stop_reason="end_turn")

asyncio.run(lastword.run_agent(MyAgent()))
"""

CALLS = {
    "async def answer(": 'await answer(self.client, session_id, "What is the answer?")',
    "async def call_model(": """
        text = acp.update_agent_message_text(await call_model("What is the answer?"))
        await self.client.session_update(session_id, text)
        """,
}
"""How a handler calls what an example defines."""


def program(block: Block) -> str:
    (call,) = [lines for name, lines in CALLS.items() if name in block.text]
    lines = textwrap.indent(textwrap.dedent(call).strip(), " " * 8)
    return AROUND % (block.text, lines)


@pytest.fixture
def play(
    packages_python: Path, environment: dict[str, str], provider: ScriptedProvider, tmp_path: Path
) -> Iterator[Callable[[str], tuple[Client, int]]]:
    """Start a program as an agent that asks the provider, and send it a prompt."""
    clients = []

    def play(source: str) -> tuple[Client, int]:
        file = tmp_path / "shown.py"
        file.write_text(source)
        there = {"OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "sk-loopback"}
        client = Client([str(packages_python), str(file)], environment=environment | there)
        clients.append(client)
        client.open(**RETRY)
        return client, client.prompt("Hi")

    yield play
    for client in clients:
        client.kill()


def end_of(client: Client, prompt: int) -> Turn:
    return client.end_of(prompt, 0, fuse=2 * FUSE_SECONDS)


def test_the_agents_page_has_two_examples() -> None:
    assert {block.page for block in SHOWN} == {"docs/agent.md"}
    assert len(SHOWN) == 2


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.name)
def test_a_limited_call_is_made_again_and_its_answer_is_shown(
    block: Block, provider: ScriptedProvider, play: Callable[[str], tuple[Client, int]]
) -> None:
    provider.script(LIMITED, ProviderScenario.HEALTHY)
    client, prompt = play(program(block))
    turn = end_of(client, prompt)
    assert turn.answer["result"]["stopReason"] == "end_turn", client.said
    (choice,) = ENCODERS[provider.calls[-1].dialect].whole("m")["choices"]
    assert turn.text == choice["message"]["content"]
    assert len(provider.asked_at) == 2
    (retry,) = turn.of_kind("agent_retry")
    assert (retry["attempt"], retry["error"]["type"]) == (2, "rate_limit")


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.name)
def test_a_persistent_limit_ends_the_turn_after_three_calls(
    block: Block, provider: ScriptedProvider, play: Callable[[str], tuple[Client, int]]
) -> None:
    provider.script(LIMITED)
    turn = end_of(*play(program(block)))
    assert len(provider.asked_at) == 3
    assert (turn.error["type"], turn.error["attempts"]) == ("rate_limit", 3)
    assert turn.error["http_status"] == 429
