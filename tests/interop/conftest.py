"""Fixtures of the interop tests."""

from __future__ import annotations

import pytest

from tests.interop import real_agents
from tests.interop.selection import in_ci


@pytest.fixture(params=in_ci(real_agents.AGENTS, lambda name: name == "opencode"))
def agent_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
