"""The holder's own requests to its agent, which belong to no viewer's session.

Owns `initialize` and other requests on behalf of the gateway itself, with their answers. It also
numbers the requests to the agent, for all its sessions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway.viewing.request_ids import number_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.protocol.jsonrpc import Frame


class RequestFailedError(Exception):
    """The agent answered with an error; `error` is the error object."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message", "the agent refused the request")))
        self.error = error


class OwnRequests:
    """The holder's own requests."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._last = 0
        self._turns = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    def next_number(self) -> int:
        """Return the next id towards the agent."""
        self._last += 1
        return self._last

    def next_turn(self) -> int:
        """Return the number of the next turn: `lastword run` counts the same prompts."""
        self._turns += 1
        return self._turns

    def begin_after(self, number: int) -> None:
        """Skip the numbers that an earlier holder of a session used."""
        self._last = max(self._last, number)

    @property
    def counts(self) -> tuple[int, int]:
        """Return the last number towards the agent, and how many turns there have been."""
        return self._last, self._turns

    def count_on(self, numbers: int, turns: int) -> None:
        """Go on from the counts of the process that this one has replaced."""
        self._last, self._turns = numbers, turns

    @property
    def are_waiting(self) -> bool:
        """Return whether an answer is missing."""
        return bool(self._waiting)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and wait for the answer.

        Raises:
            RequestFailedError: The answer is an error, or the agent has exited.
        """
        number = self.next_number()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._send(jsonrpc.request(b"%d" % number, method, params))
        return object_of(await future)

    def resolve(self, frame: Frame) -> bool:
        """Take an answer; return whether it is to a request of the holder."""
        raw = frame.message.request_id
        number = number_of(raw) if frame.message.method is None else 0
        future = self._waiting.pop(number, None)
        if future is None:
            return False
        if not future.done():
            error = jsonrpc.loads(frame.message.error)
            if isinstance(error, dict):
                future.set_exception(RequestFailedError(error))
            else:
                future.set_result(jsonrpc.loads(frame.message.result))
        return True

    def lost(self, error: dict[str, Any]) -> None:
        """Fail all requests: no more answers will come."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(RequestFailedError(error))
        self._waiting.clear()
