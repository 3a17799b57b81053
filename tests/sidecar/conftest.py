"""Fixtures of the sidecar's tests: real processes, started by a call, looked after at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# The modules beside this file and the agents', whichever import mode pytest runs in.
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "agents"))

from piped import Piped, agent_command, hurried
from raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Start:
    """Starts sidecars; all of them are gone when the test is over.

    Settings are those of `Piped`: `options` of the sidecar, a command to start it `under`,
    `environment`, `directory`.
    """

    def __init__(self) -> None:
        self.started: list[Piped] = []

    def __call__(self, mode: str, *arguments: object, **settings: Any) -> RawClient:
        """In front of a misbehaving agent (`agents/agent.py --list` names the modes).

        With a `memory` it brings its session back.
        """
        memory = settings.pop("memory", None)
        return self.command(agent_command(mode, *arguments, memory=memory), **settings)

    def command(self, command: Sequence[str], **settings: Any) -> RawClient:
        """In front of any command; `limits` are those of `hurried.py`."""
        if limits := settings.pop("limits", None):
            settings["under"] = hurried(limits)
        client = RawClient(command, **settings)
        self.started.append(client)
        return client

    def program(self, command: Sequence[str], **settings: Any) -> Piped:
        """In front of what is no agent: its stdout may be anything."""
        piped = Piped(command, **settings)
        self.started.append(piped)
        return piped


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts a sidecar."""
    start = Start()
    yield start
    problems = []
    for piped in start.started:
        try:
            piped.finish()
        except AssertionError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]
