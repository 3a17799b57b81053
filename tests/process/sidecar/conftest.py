"""Fixtures of the sidecar's tests: real processes, started by a call, looked after at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.desk import SCRIPTED
from tests.kit.sidecar import SidecarClient, agent_command, hurried

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class Start:
    """Starts sidecars; all of them are gone when the test is over.

    Settings are those of `SidecarClient`: `options` of the sidecar, a command to start it `under`,
    `environment`.
    """

    def __init__(self) -> None:
        self.started: list[SidecarClient] = []

    def __call__(self, mode: str, *arguments: object, **settings: Any) -> SidecarClient:
        """In front of a misbehaving agent (`tests.kit.agents` has their names).

        With a `memory` it brings its session back.
        """
        memory = settings.pop("memory", None)
        return self.command(agent_command(mode, *arguments, memory=memory), **settings)

    def command(self, command: Sequence[str], **settings: Any) -> SidecarClient:
        """In front of any command; `limits` are those of `hurried.py`."""
        if limits := settings.pop("limits", None):
            settings["under"] = hurried(limits)
        client = SidecarClient(command, **settings)
        self.started.append(client)
        return client

    def script(self, folder: Path, *turns: object, **settings: Any) -> SidecarClient:
        """In front of the scripted agent whose turns go like this; `members` are its other ones."""
        members = settings.pop("members", {})
        file = folder / f"script{len(self.started)}.json"
        file.write_text(json.dumps({"turns": turns} | members))
        return self.command([*SCRIPTED, "--file", str(file)], **settings)

    def program(self, command: Sequence[str], **settings: Any) -> SidecarClient:
        """In front of what is no agent: its stdout may be anything."""
        client = self.command(command, **settings)
        client.peer.takes_noise = client.cut_allowed = True
        return client


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts a sidecar."""
    start = Start()
    yield start
    problems = []
    for client in start.started:
        try:
            client.finish()
        except AssertionError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]
