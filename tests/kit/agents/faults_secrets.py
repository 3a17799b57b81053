"""Agents that write the key which they were given where others read it."""

from __future__ import annotations

import os

from lastword.kit.agent.plain import write_all
from tests.kit.agents.modes import at_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent


@at_prompt
def leaks_the_key(agent: Agent, prompt: object) -> None:
    """Answers with an error that holds the key it was given, in message and data."""
    key = os.environ["FOO_API_KEY"]
    data = {"request": {"headers": {"x-test": key}}, "text": f"key={key}"}
    agent.answer(prompt, error={"code": -32603, "message": f"Bad key {key}.", "data": data})


@at_prompt
def leaks_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr, and dies."""
    write_all(2, f"Error: provider refused {os.environ['FOO_API_KEY']}\n".encode())
    os._exit(1)


@at_prompt
def floods_with_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr some thousand times, and dies."""
    for _ in range(500):
        write_all(2, f"{os.environ['FOO_API_KEY']}\n".encode() * 10)
    os._exit(1)


@at_prompt
def leaks_the_key_and_says_nothing(agent: Agent, prompt: object) -> None:
    """Writes the key that it was given to stderr, and says end_turn with nothing shown."""
    write_all(2, f"401 Unauthorized: {os.environ['FOO_API_KEY']}\n".encode())
    agent.end_turn(prompt)
