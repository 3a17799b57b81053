"""Fixtures of what holds for `serve` alone, on either event loop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Start

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
