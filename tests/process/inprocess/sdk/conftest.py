"""Fixtures of what holds at the SDK's door alone: agents of other kinds than a plain one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kit.doors import DoorClient
    from tests.process.inprocess.conftest import Shared, Start

AGENTS = (sys.executable, "-m", "tests.process.inprocess.sdk.agents")


@pytest.fixture
def door() -> str:
    """This one."""
    return "sdk"


@pytest.fixture
def start_kind(start: Start) -> Callable[..., DoorClient]:
    """A function that starts an agent of a kind (`agents.py`), with variables."""
    return lambda kind="plain", **environment: start.run(*AGENTS, kind, **environment)


@pytest.fixture
def plain(shared: Shared, request: pytest.FixtureRequest) -> Iterator[DoorClient]:
    """A client of one plain agent that the tests of a file share."""
    with shared.agent(request, *AGENTS, "plain") as client:
        yield client
