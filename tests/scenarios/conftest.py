"""Fixtures of the tests of the scripted agent: each scenario is played once in each way."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The modules beside this file, and the raw client of the tests of `serve`.
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "server"))

from scenario_play import Played, play

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def _once(name: str, version: int, bare: bool) -> Played:
    return play(name, version=version, bare=bare)


@pytest.fixture(scope="session")
def played() -> Callable[..., Played]:
    """A function that plays a scenario, or gives what came of it when it was played before."""
    return lambda name, version=1, bare=False: _once(name, version, bare)
