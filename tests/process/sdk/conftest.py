"""Fixtures of the SDK's tests: agents in processes of their own, looked after at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.agent_process import AgentProcess

if TYPE_CHECKING:
    from collections.abc import Iterator


class Start:
    """Starts agents (`agents.py`); all of them are gone when the test is over."""

    def __init__(self) -> None:
        self.started: list[AgentProcess] = []

    def __call__(self, kind: str = "plain", **environment: str) -> AgentProcess:
        """An agent of this kind, with these variables of the environment."""
        agent = AgentProcess(kind, **environment)
        self.started.append(agent)
        return agent


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts an agent."""
    start = Start()
    yield start
    for agent in start.started:
        agent.kill()
