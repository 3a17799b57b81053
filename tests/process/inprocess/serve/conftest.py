"""Fixtures of what holds for `serve` alone, on either event loop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Shared, Start

Serve: TypeAlias = "Callable[[], DoorClient]"

AGENT = (sys.executable, "-m", "tests.process.inprocess.serve.served_agent")


@pytest.fixture(params=["asyncio", "trio"])
def door(request: pytest.FixtureRequest) -> str:
    """The event loop that the agent runs on."""
    name: str = request.param
    return name


@pytest.fixture
def serve(start: Start, door: str) -> Serve:
    """A function that starts an agent whose methods take more than ACP's (`served_agent.py`)."""
    return lambda: start.run(*AGENT, door)


@pytest.fixture
def served(door: str, shared: Shared, request: pytest.FixtureRequest) -> Iterator[DoorClient]:
    """A client of one such agent that the tests of a file share."""
    with shared.agent(request, *AGENT, door, fs={"readTextFile": True}) as client:
        # Its sessions have the name of their folder and of their servers.
        client.session = f"/{client.session}[]"
        yield client
