"""The sidecar's loop: descriptors that are ready, the core between them, timers.

Owns poll, the order in which things are looked at, and how a session between two processes comes
to its end. What a frame means is the core's to say.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING

from lastword.core import jsonrpc
from lastword.core.connection import Connection, Side
from lastword.core.effects import Answer, Drop, Effect, Forward, Record, Send
from lastword.lines import READ_BYTES, LineReader, Outlet, StderrOutlet
from lastword.shutdown import Shutdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.classify import Verdict
    from lastword.core.timeline import Entry
    from lastword.process import Agent, Exit

DRAIN_SECONDS = 0.25
"""After the agent's exit, how long its stdout is still read where another process holds it open."""

FIRST_WORD_SECONDS = 2.0
"""How long an agent's early end waits for the client's first message before it ends us too."""

MAX_NOISE_BYTES = 64 * 1024
STOOD_STILL_SECONDS = 5.0
FLUSH_SECONDS = 5.0
"""How long a client that does not read may hold up our end."""


class Pump:
    """Moves frames between a client on our standard streams and an agent."""

    def __init__(
        self,
        connection: Connection,
        agent: Agent | None,
        *,
        line_limit_bytes: int,
        explain_exit: Callable[[Exit, str, bool], Verdict],
        recorder: Callable[[Entry], None],
    ) -> None:
        self._connection = connection
        self._agent = agent
        self._explain_exit = explain_exit
        self._record = recorder
        self._limit = line_limit_bytes
        self._from_client = LineReader(line_limit_bytes)
        self._from_agent = LineReader(line_limit_bytes)
        self._to_client = Outlet(1)
        self._to_agent = Outlet(agent.stdin) if agent else None
        self._stderr = StderrOutlet(2)
        self._shutdown = Shutdown(agent)
        self._poll = select.poll()
        self._interests: dict[int, int] = {}
        self._client_open = True
        self._client_spoke = False
        self._agent_open = agent is not None
        self._drain_until: float | None = None
        self._ended_at: float | None = None
        self._noise = bytearray()
        self._blocked_since: float | None = None
