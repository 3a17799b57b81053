"""Frames to and from a fresh agent, with a provider and a home of its own.

Owns the agent's life in one act, sending, and waiting for answers. Does not own what the frames
mean (`stage`), nor bytes and processes (`link`).
"""

from __future__ import annotations

import json
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lastword.conformance.link import Event, Link, leftovers
from lastword.conformance.presets import API_KEY, Target
from lastword.conformance.provider.server import Provider
from lastword.conformance.transcript import Limits, Transcript, UnreachedError, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.conformance.hooks import Hooks

QUIET_SECONDS = 0.3
"""How long what follows an answer is waited for."""


class Exchange:
    """One agent's life in one act; a context manager that leaves nothing behind."""

    def __init__(
        self, name: str, command: Sequence[str], hooks: Hooks, limits: Limits, *, deaf: bool = False
    ) -> None:
        self.transcript = Transcript(name)
        self.limits = limits
        self.hooks = hooks
        self.provider = Provider(echo_key=True)
        self._command = command
        self._deaf = deaf
        self._next_id = 0
        self._folder = tempfile.TemporaryDirectory(
            prefix="lastword-check-", ignore_cleanup_errors=True
        )

    def __enter__(self) -> Self:
        """Start the provider and the agent.

        Raises:
            UnreachedError: The agent cannot be started.
        """
        self.provider.__enter__()
        root = Path(self._folder.name)
        home, self.cwd = root / "home", root / "work"
        home.mkdir()
        self.cwd.mkdir()
        target = Target(self.provider.url, self.provider.openai_url, API_KEY)
        env = self.hooks.environment(target, home, uuid.uuid4().hex)
        try:
            self.link = Link(self._command, env, reads_stderr=not self._deaf)
        except OSError as error:
            self.provider.__exit__()
            self._folder.cleanup()
            msg = f"the agent cannot be started: {(error.strerror or 'failed').lower()}"
            raise UnreachedError(msg) from error
        return self

    def __exit__(self, *_: object) -> None:
        link, transcript = self.link, self.transcript
        if transcript.exit_code is None:
            transcript.exit_code = link.exit_code  # its own, before we end it
        link.close()
        transcript.events = list(link.record.events)
        transcript.stderr_bytes, transcript.stderr_tail = link.stderr_bytes, link.stderr_tail
        self.provider.__exit__()
        self._folder.cleanup()

    def send(self, **members: object) -> None:
        """Send a message."""
        self.link.send(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def request(self, method: str, params: object, request_id: object = None) -> object:
        """Send a request and give its id."""
        if request_id is None:
            request_id, self._next_id = self._next_id, self._next_id + 1
        self.send(id=request_id, method=method, params=params)
        return request_id

    def answer_to(self, request_id: object, seconds: float | None = None) -> Event | None:
        """The answer with this very id, `None` when none comes in time."""
        return self.find(lambda e: e.is_answer and same(e.frame or {}, request_id), seconds)

    def find(self, fits: Callable[[Event], bool], seconds: float | None) -> Event | None:
        """The first event that fits, `None` when none comes in time."""
        found: list[Event] = []
        seen = 0

        def look() -> bool:
            nonlocal seen
            events = self.link.record.events
            while seen < len(events):
                event = events[seen]
                seen += 1
                if fits(event):
                    found.append(event)
                    return True
            return False

        self.link.record.wait(self.limits.answer_seconds if seconds is None else seconds, look)
        return found[0] if found else None

    def leave(self) -> None:
        """Close the agent's stdin, and see it go."""
        since = self.link.record.now
        self.link.close_stdin()
        if self.link.wait_for_exit(self.limits.exit_seconds):
            self.transcript.exit_seconds = self.link.record.now - since
            self.transcript.exit_code = self.link.exit_code
            self.transcript.leftovers = leftovers(self.link.mark)

    def why(self) -> str:
        """What is known of an agent that is no more."""
        self.link.wait_for_exit(QUIET_SECONDS)
        code = self.link.exit_code
        return "" if code is None else f"; it exited with status {code}"
