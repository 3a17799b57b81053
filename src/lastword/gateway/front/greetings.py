"""Greetings: the answer to `initialize` for a viewer that may open no session.

Owns what the agent said of itself when it was last asked. An observer needs no agent of its own to
be greeted: it gets what a running agent has said, and where none runs, the gateway's own words.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from lastword._version import __version__
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from lastword.gateway.front.directory import Directory

LOOK_SECONDS = 2.0
"""How long a running agent is waited for, which may not have answered `initialize` yet."""


class Greetings:
    """What the agent says of itself, by the version of ACP."""

    def __init__(self, directory: Directory) -> None:
        """Ask the agents of a directory's holders."""
        self._directory = directory
        self._by_version: dict[int, dict[str, Any]] = {}

    def note(self, result: dict[str, Any]) -> None:
        """Note an agent's answer to `initialize`."""
        self._by_version[acp.dialect(result.get("protocolVersion")).version] = result

    async def of(self, version: object) -> dict[str, Any]:
        """Return the answer to a viewer that speaks this version, without starting an agent."""
        dialect = acp.dialect(version)
        if dialect.version not in self._by_version:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._request_from_agents(dialect.version)
        own = {"name": "lastword gateway", "version": __version__}
        return self._by_version.get(dialect.version) or {
            "protocolVersion": dialect.version,
            dialect.agent_info: own,
        }

    async def _request_from_agents(self, version: int) -> None:
        """Ask the running agents, of which any may hang, until one speaks this version."""
        requests = [asyncio.create_task(self._request(each)) for each in self._directory.places()]
        try:
            for answered in asyncio.as_completed(requests):
                await answered
                if version in self._by_version:
                    return
        finally:
            for task in requests:
                task.cancel()

    async def _request(self, place: str) -> None:
        result = await self._directory.greeting(place)
        if result:
            self.note(result)
