"""Fixtures of what holds at the SDK's door alone: agents of other kinds than a plain one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Shared, Start

AGENTS = (sys.executable, "-m", "tests.process.inprocess.sdk.agents")


@pytest.fixture
def door() -> str:
    """This one."""
    return "sdk"


class StartKind(Protocol):
    """Starts an agent of a kind (`agents.py`), with variables of the environment."""

    def __call__(self, kind: str = "plain", **environment: str) -> DoorClient: ...


@pytest.fixture
def start_kind(start: Start) -> StartKind:
    """A function that starts an agent of a kind."""

    def start_kind(kind: str = "plain", **environment: str) -> DoorClient:
        return start.run(*AGENTS, kind, **environment)

    return start_kind


@pytest.fixture
def plain(shared: Shared, request: pytest.FixtureRequest) -> Iterator[DoorClient]:
    """A client of one plain agent that the tests of a file share."""
    with shared.agent(request, *AGENTS, "plain") as client:
        yield client
