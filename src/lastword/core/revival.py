"""An agent that crashed and is started again: what is remembered for it, and when it may start.

Owns the state of a restart and the rules of its timing: backoff, crash loop, half-open attempts.
What is sent when is `core.restart`'s, the sessions are `core.restoring`'s. Made at the first
crash: a session without one pays nothing for it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.jsonrpc import Frame

MAX_QUEUED = 1000
MAX_QUEUED_BYTES = 16 * 1024 * 1024
"""What waits for an agent that is being started; more is answered at once."""

FIRST_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 30.0
HEALTHY_SECONDS = 300.0
"""An agent that lived so long starts with a clean record."""

MAX_CRASHES = 16
"""Crashes that are remembered: more than any rule looks at."""

LOOP_WINDOW_SECONDS = 180.0
LOOP_CRASHES = 5
SHORT_LIFE_SECONDS = 5.0
LOOP_SHORT_LIVES = 3
HALF_OPEN_SECONDS = 30.0
"""In a crash loop one new attempt is made at most so often, when a request asks for it."""


class Stage(Enum):
    """Where the restart stands."""

    DOWN = auto()
    """There is no agent; one is started when it is needed and may be."""
    STARTING = auto()
    """The shell was asked to start it."""
    GREETING = auto()
    """It runs, and has not answered the replayed `initialize`."""
    UP = auto()
    """It serves."""


class Purpose(Enum):
    """What a request of ours to the agent is for."""

    GREET = auto()
    BRING_BACK = auto()
    SET_AGAIN = auto()


class Own(msgspec.Struct, frozen=True):
    """A request of ours that the agent has not answered.

    Attributes:
        purpose: what for.
        due: when it is given up.
        session_id: the session that it is about.
    """

    purpose: Purpose
    due: float
    session_id: str = ""


class Restoring(msgspec.Struct):
    """A session on its way back.

    Attributes:
        waiting: the client's frames for it, in order.
        settings: requests by which it gets its mode, model and options again.
        reopened: the client opens it itself meanwhile: should our way fail, there is that one.
    """

    waiting: list[Frame]
    settings: list[tuple[str, dict[str, Any]]]
    reopened: bool = False


class Revival:
    """Everything about restarts of one link's agent."""

    __slots__ = (
        "_crashes",
        "_short_lives",
        "generation",
        "killed_by_us",
        "looping",
        "lost",
        "not_before",
        "origin_of",
        "own",
        "queue",
        "queued_bytes",
        "renamed",
        "requests",
        "restoring",
        "stage",
        "stale",
        "started_at",
    )

    def __init__(self, started_at: float) -> None:
        self.stage = Stage.UP
        self.generation = 0
        """How many agents there have been before this one."""
        self.started_at = started_at
        self.queue: list[Frame] = []
        self.queued_bytes = 0
        self.not_before = 0.0
        self.looping = False
        self.killed_by_us = False
        """The agent that ends next was told to, and has not crashed."""
        self.own: dict[bytes, Own] = {}
        self.requests = 0
        self.origin_of: dict[bytes, bytes] = {}
        """The agent's own id of each of its requests that the client knows by another."""
        self.renamed: dict[bytes, bytes] = {}
        self.stale: set[str] = set()
        """Sessions of an earlier agent that nobody has asked for yet."""
        self.restoring: dict[str, Restoring] = {}
        self.lost: set[str] = set()
        self._crashes: list[float] = []
        self._short_lives = 0

    def crashed(self, now: float) -> None:
        """The agent is gone: when may the next one start?"""
        # One that could not even be started has not lived since its predecessor was started.
        lived = 0.0 if self.stage is Stage.STARTING else now - self.started_at
        self._down()
        if self.killed_by_us:
            self.killed_by_us = False
            self.not_before = now
            return
        if lived >= HEALTHY_SECONDS:
            self._crashes.clear()
        self._short_lives = self._short_lives + 1 if lived < SHORT_LIFE_SECONDS else 0
        self._crashes = [*self._crashes[1 - MAX_CRASHES :], now]
        recent = [at for at in self._crashes if now - at <= LOOP_WINDOW_SECONDS]
        self.looping = len(recent) >= LOOP_CRASHES or self._short_lives >= LOOP_SHORT_LIVES
        doubled = FIRST_BACKOFF_SECONDS * 2 ** min(len(self._crashes) - 1, 10)
        wait = HALF_OPEN_SECONDS if self.looping else min(doubled, MAX_BACKOFF_SECONDS)
        self.not_before = now + wait

    def _down(self) -> None:
        self.stage = Stage.DOWN
        self.own.clear()
        self.origin_of.clear()
        self.renamed.clear()

    def not_started(self, now: float) -> None:
        """No process came of a start: who waited is told, and the next request tries again."""
        self._down()
        self.killed_by_us = False
        self.not_before = now + (HALF_OPEN_SECONDS if self.looping else FIRST_BACKOFF_SECONDS)

    def enqueue(self, frame: Frame) -> bool:
        """Let a request wait for the agent; `False` where there is no more room."""
        size = len(frame.line)
        if len(self.queue) >= MAX_QUEUED or self.queued_bytes + size > MAX_QUEUED_BYTES:
            return False
        self.queue.append(frame)
        self.queued_bytes += size
        return True

    def take_queue(self) -> list[Frame]:
        """Everything that waits; afterwards nothing does."""
        queue, self.queue, self.queued_bytes = self.queue, [], 0
        return queue

    def take_all(self) -> list[Frame]:
        """Everything that waits for the agent or for a session; afterwards nothing does."""
        waiting = self.take_queue()
        for session in self.restoring.values():
            waiting += session.waiting
            session.waiting = []
        return waiting

    def opened(self, session_id: str) -> None:
        """The agent that serves now has a session of this id: no other needs to come back."""
        self.stale.discard(session_id)
        self.lost.discard(session_id)

    def stand_still(self, seconds: float) -> None:
        """Let the clocks of our own requests have stood for so long."""
        for request_id, own in self.own.items():
            self.own[request_id] = msgspec.structs.replace(own, due=own.due + seconds)

    def next_own_id(self) -> bytes:
        """An id for a request of ours to the agent, as JSON text."""
        self.requests += 1
        return f'"lastword:{self.generation}:{self.requests}"'.encode()

    def rename(self, origin: bytes) -> bytes:
        """The id by which the client knows a request of this agent's.

        Every SDK numbers its requests from 0 in each process: under its own id, a late answer to
        the dead agent's dialog would answer another one of this agent's.
        """
        new = self.next_own_id()
        self.origin_of[new], self.renamed[origin] = origin, new
        return new

    def origin(self, renamed: bytes) -> bytes | None:
        """The agent's own id of a request that is answered now."""
        origin = self.origin_of.pop(renamed, None)
        if origin is not None:
            self.renamed.pop(origin, None)
        return origin

    def dues(self) -> Iterator[float]:
        """When `core.restart` has something to do."""
        for own in self.own.values():
            yield own.due
        if self.queue and self.stage is Stage.DOWN:
            yield self.not_before

    def awaited(self) -> bool:
        """Does a request of the client's wait for the agent?"""
        return bool(self.queue) or any(session.waiting for session in self.restoring.values())


def with_id(line: bytes, request_id: bytes) -> bytes:
    """The line with another id."""
    frame = jsonrpc.decode(line)
    return jsonrpc.with_id(frame, request_id) if isinstance(frame, jsonrpc.Frame) else line
