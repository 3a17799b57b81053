"""Fixtures of the tests of the scripted agent: each scenario is played once in each way."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.process.scenarios.scenario_play import Played, play

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def _once(name: str, version: int, bare: bool) -> Played:
    return play(name, version=version, bare=bare)


@pytest.fixture(scope="session")
def played() -> Callable[..., Played]:
    """A function that plays a scenario, or gives what came of it when it was played before."""
    return lambda name, version=1, bare=False: _once(name, version, bare)
