"""Replicas in memory keep what every store of replicas keeps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.kit.fleet.replica_in_memory import MemoryReplicaStore
from tests.kit.fleet.replica_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.gateway.fleet.streams import Streams


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_replicas_in_memory_keep_the_rule(rule: Callable[[Streams, str], Awaitable[None]]) -> None:
    async def play() -> None:
        await rule(MemoryReplicaStore(), "session")

    asyncio.run(play())
