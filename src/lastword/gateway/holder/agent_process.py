"""A holder's agent: what a holder needs of it, its requests to it, and the names it may not use.

The holder's own requests to its agent, which belong to no viewer's session. Owns `initialize` and
other requests on behalf of the gateway itself, with their answers. It also numbers the requests to
the agent, for all its sessions.

The gateway's own names, which no agent's frame may have. Owns finding and removing them: methods
below `_lastword/`, and `lastword` in a `_meta`. Viewers trust both as the gateway's own account of
a session's log.
"""

from __future__ import annotations

import asyncio
import re
import signal
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway.viewing.frames import number_of
from lastword.gateway.viewing.render import META

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.core.link.effects import PastLine
    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.recording import HolderRecord

    LimitWaits: TypeAlias = Callable[[str, StoredWait | None], None]
    """Takes a session's id towards the agent, and its wait for the end of a limit as it begins, or
    `None` before the prompt with which its turn continues."""

    StartAgent: TypeAlias = Callable[
        [Callable[[bytes], None], Callable[[int], None], LimitWaits, HolderRecord], "HeldAgent"
    ]


class HandedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that runs on while this process replaces itself.

    Attributes:
        state: what its link needs to continue, as JSON that only the link reads.
        descriptors: the open files that it needs.
        speaks_typed: it sends `agent_error` itself.
    """

    state: bytes
    descriptors: list[int]
    speaks_typed: bool


class HeldAgent(Protocol):
    """An agent behind lastword's link, wherever that is."""

    @property
    def pid(self) -> int:
        """Return its process id; 0 for none."""
        ...

    async def start(self) -> None:
        """Start it."""
        ...

    def send(self, line: bytes) -> None:
        """Send it a line."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Pause reading its output, or continue."""
        ...

    @property
    def waits_for_limits(self) -> bool:
        """Whether its turns wait for the ends of limits (`--continue-at-reset`)."""
        ...

    def resume_wait(self, line: bytes, stored: StoredWait) -> None:
        """Continue such a wait, for the prompt in this line, which began in another process."""
        ...

    @property
    def can_be_handed_over(self) -> bool:
        """Whether it can run on at this moment while this process replaces itself."""
        ...

    @property
    def can_only_end(self) -> bool:
        """Whether it cannot be handed over at a later moment either, unless it is used again."""
        ...

    def hand_over(self) -> HandedAgent:
        """Hand it to the program that replaces this one."""
        ...

    def adopt(self, state: bytes, past: Sequence[PastLine], turns: int) -> None:
        """Continue with a running agent, instead of starting one.

        Args:
            state: That of `HandedAgent`.
            past: The earlier messages that still matter, in order.
            turns: How many turns there have been.
        """
        ...

    async def stop(self) -> None:
        """End it."""
        ...

    def kill(self) -> None:
        """End it and its group at once."""
        ...


def wall_ahead() -> float:
    """Return how far the wall clock is ahead of the monotonic one."""
    return time.time() - time.monotonic()


def monotonic_at(at_ms: int, ahead: float) -> float:
    """Return a moment of the wall clock on the monotonic one, where none is later than now.

    Args:
        at_ms: The moment, in milliseconds since 1970 UTC.
        ahead: How far the wall clock was ahead then.
    """
    return min(at_ms / 1000 - ahead, time.monotonic())


def exit_facts(status: int) -> dict[str, Any]:
    """Return how a process ended, as the record has it."""
    if status >= 0:
        return {"exit_code": status}
    try:
        return {"exit_signal": signal.Signals(-status).name}
    except ValueError:
        return {"exit_signal": f"signal {-status}"}


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
        """Continue the counts of the process that this one has replaced."""
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


METHODS = "_lastword/"

_PLACES = ((), ("params",), ("params", "update"), ("result",), ("error",))
"""The objects whose `_meta` clients read."""

_NAME = META.encode()
_ESCAPED_LETTER = re.compile(rb"\\u00[67]")
"""JSON allows a letter to be escaped, which no encoder does."""


def may_be_in(block: bytes) -> bool:
    """Return whether an agent's output may contain a reserved name; it rarely does."""
    return _NAME in block or (b"\\u00" in block and _ESCAPED_LETTER.search(block) is not None)


class Cleaned(NamedTuple):
    """An agent's frame without reserved names.

    Attributes:
        frame: the frame; `None` if it is to be dropped.
        used: the kind of name that it had, `method` or `meta`; empty for none.
    """

    frame: jsonrpc.Frame | None
    used: str = ""


def cleaned(frame: jsonrpc.Frame) -> Cleaned:
    """Return an agent's frame without reserved names."""
    if (frame.message.method or "").startswith(METHODS):
        return Cleaned(None, "method")
    if not may_be_in(frame.line):
        return Cleaned(frame)
    value = object_of(jsonrpc.loads(frame.readable))
    has_removed = False
    for place in _PLACES:
        inner = value
        for name in place:
            inner = object_of(inner.get(name))
        meta = object_of(inner.get("_meta"))
        if META in meta:
            del meta[META]
            has_removed = True
    if not has_removed:
        return Cleaned(frame)
    clean = jsonrpc.decode(jsonrpc.dumps(value))
    return Cleaned(clean if isinstance(clean, jsonrpc.Frame) else None, "meta")
