"""Fixtures of the in-process doors' tests: an agent's process behind each, and its record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.doors import DOORS, DoorClient, command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


class Start:
    """Starts agents behind one door; all of them are gone when the test is over."""

    def __init__(self, door: str, folder: Path) -> None:
        self.started: list[DoorClient] = []
        self._door = door
        self._state = str(folder / "state")

    def __call__(self, *arguments: str, reads: bool = True, **environment: str) -> DoorClient:
        """An agent with these arguments, and these variables of the environment."""
        return self.run(*command(self._door, *arguments), reads=reads, **environment)

    def run(self, *command: str, reads: bool = True, **environment: str) -> DoorClient:
        """Any command, with a client."""
        kept = {"LASTWORD_STATE_DIR": self._state} | environment
        self.started.append(DoorClient(*command, reads=reads, **kept))
        return self.started[-1]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """The record of the agents that `start` starts."""
    return Record(tmp_path / "state")


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    """Every door; a folder for one of them has its own."""
    name: str = request.param
    return name


@pytest.fixture
def start(door: str, tmp_path: Path) -> Iterator[Start]:
    """A function that starts an agent behind the door."""
    start = Start(door, tmp_path)
    yield start
    for client in start.started:
        client.kill()
