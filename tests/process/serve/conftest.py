"""Fixtures of the tests of `serve`: an agent's process on either backend, gone when the test is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.serve_client import ServeClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AGENT = Path(__file__).resolve().parent / "served_agent.py"


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    """The event loop that the agent runs on."""
    name: str = request.param
    return name


@pytest.fixture
def run() -> Iterator[Callable[..., ServeClient]]:
    """A function that starts a client with any agent's command."""
    started: list[ServeClient] = []

    def run(command: Sequence[str], **settings: Any) -> ServeClient:
        started.append(ServeClient(command, **settings))
        return started[-1]

    yield run
    for client in started:
        client.kill()


@pytest.fixture
def start(run: Callable[..., ServeClient], backend: str) -> Callable[..., ServeClient]:
    """A function that starts a client with the agent in `served_agent.py`."""

    def start(*, arguments: Sequence[str] = (), **settings: Any) -> ServeClient:
        return run([sys.executable, str(AGENT), backend, *arguments], **settings)

    return start
