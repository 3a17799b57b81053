"""The sources beside the pipes: an agent's journals and events, and when to look at them.

Owns the schedule: each second while an open turn has been silent for a second or more, and before
one of the core's timers takes effect. An event stream does not report the past, so it is
requested once the agent is ready. No source is loaded earlier, and the session continues without
one that fails.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.link.failopen import FailOpen
    from lastword.core.link.retries.hints import Hint, SilentTurn
    from lastword.quirks.journals import JournalRow
    from lastword.sidecar.agent_start import AgentStart
    from lastword.sidecar.console import Console
    from lastword.sidecar.event_stream import EventStream
    from lastword.sidecar.journals import Journals
    from lastword.sidecar.loop import PollLoop
    from lastword.sidecar.own_logs import OwnLogs
    from lastword.sidecar.silence import SilenceLooks

SILENT_SECONDS = 1.0
"""How long a turn is silent before its sources are looked at, and the time between looks."""

PENDING_SECONDS = 0.2
"""How long a turn has been silent whose vague end the core delays (0.25 s), and whose sources are
looked at before the end is reported."""

MAX_CONNECTIONS = 3
"""How often an agent's stream is requested: one that ends each time is not an event stream."""

_BEGINNINGS = frozenset({Kind.AGENT_READY, Kind.PROMPT})


class Sources:
    """The sources of evidence about a silent agent."""

    __slots__ = (
        "_agent",
        "_connection",
        "_connections",
        "_console",
        "_events",
        "_journals",
        "_loop",
        "_own_journals",
        "_silences",
        "_start",
        "due",
    )

    def __init__(  # noqa: PLR0913 - what a run has
        self,
        connection: FailOpen,
        loop: PollLoop,
        start: AgentStart,
        console: Console,
        *,
        enabled: bool,
        own_journals: Sequence[JournalRow] = (),
    ) -> None:
        self._own_journals = own_journals
        self._connection = connection
        self._loop = loop
        self._console = console
        self._start: AgentStart | None = start if enabled else None
        self._journals: Journals | OwnLogs | None = None
        self._agent: str | None = None
        """The name of the agent that the journals belong to."""
        self._events: EventStream | None = None
        self._silences: SilenceLooks | None = None
        self._connections: dict[int, int] = {}
        """How often each agent's stream was requested, by its port."""
        self.due: float | None = None
        """When to look; `None` while no turn is open."""
        connection.expects_hints(present=enabled)

    def note(self, kind: Kind, now: float) -> None:
        """Note that an agent with events is ready, or that a turn begins."""
        if self._start is None or kind not in _BEGINNINGS:
            return
        if self._start.port is not None and self.fd < 0:
            # As soon as the current frame has been passed on.
            self.due = now
        elif kind is Kind.PROMPT and self.due is None:
            self.due = now + SILENT_SECONDS

    def is_due(self, now: float) -> bool:
        """Return whether it is time to look."""
        return self.due is not None and self.due <= now

    def look(self, now: float, *, for_clock: bool = False) -> None:
        """Look for news about turns that are silent, or that a timer may end."""
        if self._start is None:
            return
        try:
            self._look(now, PENDING_SECONDS if for_clock else SILENT_SECONDS)
        except Exception as error:  # noqa: BLE001 - without evidence a session goes on
            self._without(error)

    def _look(self, now: float, seconds: float) -> None:
        if self._start is not None and self._start.given_file is not None:
            self._start.given_file.trim()
        self._look_at_events(now)
        turns = self._connection.silent_turns(now, 0.0)
        if not turns:
            self.due = None
            return
        first = min(turn.silent_since for turn in turns) + SILENT_SECONDS
        self.due = first if first > now else now + SILENT_SECONDS
        silent = [turn for turn in turns if turn.silent_since + seconds <= now]
        if silent:
            self._apply(self._current_journals().look(silent, now), now)
            self._look_at_processes(silent, now)

    def _look_at_processes(self, silent: Sequence[SilentTurn], now: float) -> None:
        if self._silences is None:
            # Loaded at the first silence, as the journals are.
            from lastword.sidecar.silence import SilenceLooks  # noqa: PLC0415

            self._silences = SilenceLooks()
        start = self._start
        if start is not None and start.group and self._silences.is_due(now):
            cause = self._silences.look(start.group, silent, now, port=start.port)
            self._connection.receive_silence(cause, now)

    def _apply(self, hints: Sequence[Hint], now: float) -> None:
        for hint in hints:
            self._loop.relay.apply(self._connection.receive_hint(hint, now))

    # --- the stream of events

    @property
    def fd(self) -> int:
        """Return the descriptor of the agent's stream, -1 if there is none."""
        return -1 if self._events is None else self._events.fd

    @property
    def poll_events(self) -> int:
        """Return the events to poll for."""
        return 0 if self._events is None else self._events.poll_events

    def ready(self, now: float) -> None:
        """Read what the stream has."""
        try:
            if self._events is not None:
                self._apply(self._events.ready(now), now)
        except Exception as error:  # noqa: BLE001 - as in `look`
            self._without(error)

    def close(self) -> None:
        """Close the stream: an agent may wait for its end before it exits."""
        if self._events is not None:
            self._events.close()

    def _look_at_events(self, now: float) -> None:
        if self._events is not None:
            self._events.look(now)
        port = None if self._start is None else self._start.port
        if port is None or self._start is None or self.fd >= 0:
            return
        count = self._connections.get(port, 0)
        if count >= MAX_CONNECTIONS:
            return
        self._connections = {port: count + 1}
        # Loaded for an agent that serves events.
        from lastword.posix.listeners import listens  # noqa: PLC0415
        from lastword.sidecar.event_stream import EventStream  # noqa: PLC0415

        if not listens(port, self._start.group):
            return
        try:
            self._events = EventStream(port, now)
        except OSError:
            return

    # --- the journals

    def _current_journals(self) -> Journals | OwnLogs:
        name = self._connection.agent_name
        if self._journals is None or name != self._agent:
            # Loaded at the first silence: neither a start nor a busy turn needs it.
            from lastword.sidecar.journals import Journals  # noqa: PLC0415

            given = self._start.given_file if self._start is not None else None
            self._agent, self._journals = (
                name,
                Journals(name, os.environ, given, self._own_journals),
            )
            if not self._journals:
                # Loaded for an agent without a row.
                from lastword.sidecar.own_logs import OwnLogs  # noqa: PLC0415

                self._journals = OwnLogs(name, os.environ)
            present = bool(self._journals) or self.fd >= 0
            self._connection.expects_hints(present=present)
        return self._journals

    def _without(self, error: Exception) -> None:
        self._start = self.due = None
        self.close()
        self._connection.expects_hints(present=False)
        self._console.say(f"the agent's logs are no longer read ({type(error).__name__})")
