"""Fixtures of the in-process doors' tests: an agent's process behind each, and its record."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from lastword.record import intake
from tests.kit.client import TYPED
from tests.kit.doors import DoorClient, command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Record:
    """A store, as a test reads it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "record.db"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        with closing(intake.opened(str(self.path))) as connection:
            return [tuple(row) for row in connection.execute(query)]

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


SECRET = "s3cr3t-0123456789-abcdef"


class Shared:
    """Agents that serve the tests of a file one after the other, each in a new session."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self._running: dict[object, DoorClient] = {}
        self._sessions = 0

    @contextmanager
    def agent(
        self, request: pytest.FixtureRequest, *command: str, **capabilities: object
    ) -> Iterator[DoorClient]:
        """The agent of this command, to which the client has said what it can do."""
        failed = request.session.testsfailed
        key = (command, str(capabilities))
        client = self._running.pop(key, None)
        if client is None:
            client = DoorClient(
                *command, LASTWORD_STATE_DIR=str(self.state), TEST_API_KEY=SECRET
            ).opened(**capabilities)
        self._sessions += 1
        client.session = f"t{self._sessions}"
        client.open_session(client.session)
        client.peer.forget()
        yield client
        if request.session.testsfailed > failed:
            client.kill()  # nobody knows what is still going on in it
            return
        self._running[key] = client
        client.settled()

    def end(self) -> None:
        """Let all of them end well."""
        try:
            assert [client.end() for client in self._running.values()] == [0] * len(self._running)
        finally:
            for client in self._running.values():
                client.kill()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """The agents of this file's tests."""
    shared = Shared(tmp_path_factory.mktemp("shared"))
    yield shared
    shared.end()


@pytest.fixture
def client(door: str, shared: Shared, request: pytest.FixtureRequest) -> Iterator[DoorClient]:
    """A client of the door's shared agent, in a session of its own."""
    with shared.agent(request, *command(door)) as client:
        yield client


@pytest.fixture
def typed(door: str, shared: Shared, request: pytest.FixtureRequest) -> Iterator[DoorClient]:
    """One that has negotiated."""
    with shared.agent(request, *command(door), **TYPED) as client:
        yield client


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """The record of the agents that `start` starts."""
    return Record(tmp_path / "state")


@pytest.fixture(params=["sdk", pytest.param("asyncio", marks=pytest.mark.matrix), "trio"])
def door(request: pytest.FixtureRequest) -> str:
    """Every door; a folder for one of them has its own.

    What `serve` does on trio it does on asyncio by the same code, and the SDK's door is on asyncio.
    """
    name: str = request.param
    return name


@pytest.fixture
def start(door: str, tmp_path: Path) -> Iterator[Start]:
    """A function that starts an agent behind the door."""
    start = Start(door, tmp_path)
    yield start
    for client in start.started:
        client.kill()
