"""The sources beside the pipes: an agent's journals and events, and when they are looked at.

Owns the clock of looks: while a turn is open and has been silent for a second, each second, and
before a clock of the core's is carried out. Nothing of them is loaded sooner, and a source that
breaks is one that says nothing: the session goes on without.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.link.failopen import FailOpen
    from lastword.core.link.hints import SilentTurn
    from lastword.sidecar.console import Console
    from lastword.sidecar.journals import Journals
    from lastword.sidecar.loop import PollLoop
    from lastword.sidecar.starting import AgentStart

SILENT_SECONDS = 1.0
"""How long a turn has shown nothing when its sources are looked at, and from look to look."""


class Sources:
    """What can be known of an agent's silence."""

    __slots__ = ("_agent", "_connection", "_console", "_journals", "_loop", "_start", "due")

    def __init__(
        self,
        connection: FailOpen,
        loop: PollLoop,
        start: AgentStart,
        console: Console,
        *,
        wanted: bool,
    ) -> None:
        self._connection = connection
        self._loop = loop
        self._console = console
        self._start: AgentStart | None = start if wanted else None
        self._journals: Journals | None = None
        self._agent: str | None = None
        """Whose journals they are."""
        self.due: float | None = None
        """When there is a look to be taken; `None` while no turn is open."""
        connection.expects_hints(present=wanted)

    def prompted(self, now: float) -> None:
        """A turn begins."""
        if self._start is not None and self.due is None:
            self.due = now + SILENT_SECONDS

    def is_due(self, now: float) -> bool:
        """Is there a look to be taken?"""
        return self.due is not None and self.due <= now

    def look(self, now: float, *, all_turns: bool = False) -> None:
        """Look at what is there about the turns that are silent, or about all that are open."""
        if self._start is None:
            return
        turns = self._connection.silent_turns(now, 0.0)
        if not turns:
            self.due = None
            return
        silent = [turn for turn in turns if turn.silent_since + SILENT_SECONDS <= now]
        first = min(turn.silent_since for turn in turns) + SILENT_SECONDS
        self.due = now + SILENT_SECONDS if silent else first
        if silent or all_turns:
            try:
                self._look_at(turns if all_turns else silent, now)
            except Exception as error:  # noqa: BLE001 - without evidence a session goes on
                self._without(error)

    def _look_at(self, turns: Sequence[SilentTurn], now: float) -> None:
        for hint in self._known_journals().look(turns, now):
            self._loop.relay.apply(self._connection.receive_hint(hint, now))

    def _known_journals(self) -> Journals:
        name = self._connection.agent_name
        if self._journals is None or name != self._agent:
            # Loaded at the first silence: no part of a start, nor of a turn without one.
            from lastword.sidecar.journals import Journals  # noqa: PLC0415

            given = self._start.given_file if self._start is not None else None
            self._agent, self._journals = name, Journals(name, os.environ, given)
            self._connection.expects_hints(present=bool(self._journals))
        return self._journals

    def _without(self, error: Exception) -> None:
        self._start = self.due = None
        self._connection.expects_hints(present=False)
        self._console.say(f"no more is looked for beside the agent ({type(error).__name__})")
