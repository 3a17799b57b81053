"""Fixtures of the tests of what both doors in process share: an agent's process, and its record."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.serve_client import ServeClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent


class Record:
    """A store, as a test reads it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "record.db"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        with closing(sqlite3.connect(self.path, timeout=20)) as connection:
            return connection.execute(query).fetchall()

    @property
    def kinds(self) -> list[str]:
        """The kinds of all entries, in order."""
        return [row[0] for row in self.rows("SELECT kind FROM entries ORDER BY id")]

    @property
    def outcomes(self) -> list[tuple[Any, ...]]:
        """How each turn ended, and of what it failed."""
        return self.rows("SELECT outcome, type FROM turns ORDER BY id")


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """The record of the agents that `start` starts."""
    return Record(tmp_path / "state")


@pytest.fixture(params=["guard", "serve"])
def door(request: pytest.FixtureRequest) -> str:
    """Both doors."""
    name: str = request.param
    return name


@pytest.fixture
def start(door: str, tmp_path: Path) -> Iterator[Callable[..., ServeClient]]:
    """A function that starts `recorded_agent.py`, with a session open."""
    started: list[ServeClient] = []

    def start(*arguments: str, **environment: str) -> ServeClient:
        command = [sys.executable, str(HERE / "recorded_agent.py"), door, *arguments]
        kept = {"LASTWORD_STATE_DIR": str(tmp_path / "state")} | environment
        started.append(ServeClient(command, environment=kept))
        started[-1].open()
        return started[-1]

    yield start
    for client in started:
        client.kill()
