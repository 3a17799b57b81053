"""A session's events as a stream: everything from a cursor on, then new events as they come.

Owns the stream's format (`text/event-stream`) and pace. It pulls as a viewer does: the next part
of the log is read when the client has taken the previous one, so a slow client costs the memory
of one part.

    event: open   the log's epoch and head, and the beginning; again when the epoch changes
    event: gap    entries that are no longer kept; its id is the cursor after them
    (no name)     an event; its id is its cursor
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import jsonrpc
from lastword.errors import StoreError
from lastword.gateway.front.session_source import NoSessionError
from lastword.gateway.viewing.reader import CursorError
from lastword.gateway.viewing.slow_viewers import COMMENT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from lastword.gateway.api.scan import EventQuery
    from lastword.gateway.front.session_source import SessionSource

COMMENT = b": still here\n\n"
_OF_OPEN = ("version", "session_id", "epoch", "head", "from", "reset")


async def stream_of(
    source: SessionSource,
    session_id: str,
    query: EventQuery,
    first: dict[str, Any],
    closing: asyncio.Event,
) -> AsyncIterator[bytes]:
    """Return the stream, from its first page until the front closes or the session is gone."""
    page, epoch = first, ""
    while True:
        if page["epoch"] != epoch or page.get("reset"):
            epoch = page["epoch"]
            yield _part(f"{epoch}:{page['from'] - 1}", _only(page, _OF_OPEN), "open")
        if "gap" in page:
            yield _part(f"{epoch}:{page['gap']['to']}", page["gap"], "gap")
        if page["events"]:
            parts = [_part(f"{epoch}:{event['seq']}", event) for event in page["events"]]
            yield b"".join(parts)
        elif "gap" not in page:
            yield COMMENT
        seq = int(page["next"].rpartition(":")[2])
        query = msgspec.structs.replace(query, epoch=epoch, seq=seq)
        page_or_none = await _until(closing, _next(source, session_id, query))
        if page_or_none is None:
            return
        page = page_or_none


async def _next(source: SessionSource, session_id: str, query: EventQuery) -> dict[str, Any] | None:
    """Return the next part; `None` at the end."""
    try:
        return await source.page(session_id, query, COMMENT_SECONDS)
    except CursorError:
        # The log begins anew: its head is behind what was sent.
        return await source.page(session_id, msgspec.structs.replace(query, epoch="", seq=0))
    except (NoSessionError, StoreError):
        return None


async def _until(
    closing: asyncio.Event, work: Coroutine[Any, Any, dict[str, Any] | None]
) -> dict[str, Any] | None:
    """Return the result of the work; `None` if the front closes first."""
    task = asyncio.create_task(work)
    closed = asyncio.create_task(closing.wait())
    try:
        await asyncio.wait((task, closed), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for each in (task, closed):
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await each


def _part(cursor: str, data: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}id: {cursor}\ndata: ".encode() + jsonrpc.dumps(data) + b"\n\n"


def _only(page: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: page[name] for name in names if name in page}
