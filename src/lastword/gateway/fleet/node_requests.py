"""Requests between the fronts of two nodes: one control line, answered by one of the same word.

Owns both ends. What the words mean is their handlers' matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from lastword.gateway import wire

if TYPE_CHECKING:
    from lastword.gateway.fleet.node_link import NodeDialer
    from lastword.gateway.fleet.records import NodeAddress

Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Returns the facts of the answer to those of a request."""


class NodeRequests:
    """Answers the requests of other nodes' fronts."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        """Answer these words; any other is answered by `wire.UNKNOWN`."""
        self._handlers = handlers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after another, until it ends."""
        try:
            while line := await reader.readline():
                word, facts = wire.read_control(line.rstrip(b"\n"))
                handler = self._handlers.get(word)
                answer = await handler(facts) if handler is not None else {wire.UNKNOWN: True}
                writer.write(wire.control(word, **answer) + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            pass


async def send_request(
    dialer: NodeDialer, address: NodeAddress, word: str, facts: dict[str, Any], seconds: float
) -> dict[str, Any] | None:
    """Return the answer of another node's front to a request.

    Args:
        dialer: Connects to it.
        address: Where it listens.
        word: The request's word.
        facts: The request's facts.
        seconds: How long the answer may take, after the connection is made.

    Returns:
        The answer's facts; `None` if none came, or that front does not know the word.
    """
    try:
        reader, writer = await dialer.connect(address)
    except OSError:
        return None
    return await answer_to(reader, writer, word, facts, seconds)


async def answer_to(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    word: str,
    facts: dict[str, Any],
    seconds: float,
) -> dict[str, Any] | None:
    """Return the answer over a new connection, as `send_request` does, and close it."""
    try:
        async with asyncio.timeout(seconds):
            writer.write(wire.control(word, **facts) + b"\n")
            answered, answer = wire.read_control((await reader.readline()).rstrip(b"\n"))
    except (OSError, ValueError):
        return None
    finally:
        writer.close()
    return answer if answered == word and wire.UNKNOWN not in answer else None
