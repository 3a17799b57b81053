"""What comes of a handler: its result or its exception, as the core is told of it.

Owns the place where an author's exceptions end. What a failure means is the core's.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Raw

from lastword.core import acp, jsonrpc
from lastword.errors import TurnFailed
from lastword.inprocess import mistakes
from lastword.inprocess.calls import process_ending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from lastword.inprocess.calls import Call
    from lastword.inprocess.link import Link

logger = logging.getLogger("lastword")


async def of_request(
    link: Link,
    call: Call,
    work: Callable[[], Awaitable[Any]],
    sent_error: Callable[[BaseException], dict[str, Any] | None],
) -> BaseException | None:
    """Run a request's handler, and answer.

    Args:
        link: The way to the client.
        call: The request.
        work: The handler with its arguments.
        sent_error: The JSON-RPC error object that an exception stands for, if its author meant one.

    Returns:
        The exception by which the handler ends the process, if it does.
    """
    try:
        result = await call.run(work)
    except BaseException as error:
        if _is_for_us(error):
            raise
        call.failure = call.failure or error
        ending = process_ending(error)
        if ending is None:
            _raised(link, call, error, sent_error(error))
        elif isinstance(ending, SystemExit):
            mistakes.raised(call, error)
        return ending
    if call.failure is not None:  # `turn.fail()`, and somebody caught it
        _failed(link, call, call.failure, None)
    else:
        _returned(link, call, result)
    return None


async def of_notification(work: Callable[[], Awaitable[Any]]) -> BaseException | None:
    """Run a notification's handler, whose failure is its author's alone to know; as above."""
    try:
        await work()
    except BaseException as error:
        if _is_for_us(error):
            raise
        logger.exception("The handler of a notification failed.")
        return process_ending(error)
    return None


def _is_for_us(error: BaseException) -> bool:
    """Is it `serve` that cancels its handlers, because it comes to its end?"""
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # on trio nobody but a cancel scope can raise it
        return True
    return task is not None and task.cancelling() > 0


def _returned(link: Link, call: Call, result: object) -> None:
    if result is None and call.method != acp.PROMPT:
        result = {}
    try:
        answer = {"jsonrpc": "2.0", "id": Raw(call.request_id), "result": result}
        line = jsonrpc.dumps(answer)
    except (TypeError, ValueError, RecursionError) as error:
        mistakes.unusable(call, error)
        _failed(link, call, error, None)
    else:
        link.from_handler(line, call)


def _raised(link: Link, call: Call, error: BaseException, sent: dict[str, Any] | None) -> None:
    if not isinstance(error, Exception):
        # Of a cancellation of its own the author is told when the core names it.
        if not isinstance(error, asyncio.CancelledError):
            mistakes.raised(call, error)
    elif sent is None and not isinstance(error, TurnFailed):
        # The client is told what it means; what it was belongs in the author's own log.
        logger.error(
            "The handler of %s raised %s.",
            call.method,
            type(error).__name__,
            exc_info=(type(error), error, _own_frames(error)),
        )
    if sent is not None and call.method != acp.PROMPT:
        try:
            line = jsonrpc.error(call.request_id, sent)
        except (TypeError, ValueError, RecursionError) as unusable:
            mistakes.unusable(call, unusable)
        else:  # the author's own answer to a request that is no prompt stays
            link.from_handler(line, call)
            return
    _failed(link, call, error, sent)


def _own_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the author's own code on."""
    frames = error.__traceback__
    while frames and str(frames.tb_frame.f_globals.get("__name__")).startswith("lastword."):
        frames = frames.tb_next
    return frames or error.__traceback__


def _failed(link: Link, call: Call, error: BaseException, sent: dict[str, Any] | None) -> None:
    # Loaded when a handler raises: no part of a healthy turn.
    from lastword.inprocess.failing import word_for  # noqa: PLC0415

    if not link.failed(call, word_for(call, error, sent)):
        # The core is out of order: a plain answer, without the exception's text.
        plain = {"code": acp.INTERNAL_ERROR, "message": "Internal error"}
        link.from_handler(jsonrpc.error(call.request_id, sent or plain), call)
