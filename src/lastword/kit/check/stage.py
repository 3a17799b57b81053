"""A conversation with a fresh agent, which has a provider and a home of its own.

Owns the agent's life in one act, its sessions and turns, and what is waited for. A conversation
that cannot come to its point says so (`UnreachedError`). Does not own bytes and processes
(`kit.peer`), or what an act does (`probes`).
"""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lastword.core.protocol import acp
from lastword.kit.check.transcript import ObservedTurn, Transcript, UnreachedError, WaitLimits
from lastword.kit.peer import StrictClient, leftovers
from lastword.kit.provider.server import Provider, ProviderScenario
from lastword.kit.provider.target import API_KEY, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.check.pointing import Hooks
    from lastword.kit.peer import Frame, PeerEvent

INFO = {"name": "lastword-check", "version": "1"}
QUIET_SECONDS = 0.3
"""How long what follows an answer is waited for."""


class Conversation:
    """One agent's life in one act; a context manager that leaves nothing behind."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        hooks: Hooks,
        limits: WaitLimits,
        *,
        deaf: bool = False,
    ) -> None:
        self.transcript = Transcript(name)
        self.limits = limits
        self.hooks = hooks
        self.provider = Provider(echo_key=True)
        self._command = command
        self._deaf = deaf
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
            self.peer = StrictClient(self._command, env)
        except OSError as error:
            self.provider.__exit__()
            self._folder.cleanup()
            msg = f"the agent cannot be started: {(error.strerror or 'failed').lower()}"
            raise UnreachedError(msg) from error
        self.peer.stderr.reading = not self._deaf
        return self

    def __exit__(self, *_: object) -> None:
        peer, transcript = self.peer, self.transcript
        if transcript.exit_code is None:
            transcript.exit_code = peer.exit_code  # its own, before we end it
        peer.close()
        transcript.events = list(peer.events)
        transcript.stderr_bytes, transcript.stderr_tail = peer.stderr.count, bytes(peer.stderr.data)
        self.provider.__exit__()
        self._folder.cleanup()

    # --- waiting

    def answer_to(self, request_id: object, seconds: float | None = None) -> PeerEvent | None:
        """Return the answer with this very id, `None` when none comes in time."""
        limit = self.limits.answer_seconds if seconds is None else seconds
        return self.peer.answer_to(request_id, limit)

    def wait(self, seconds: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Wait until something holds, the agent's output ends, or the time has passed."""
        return self.peer.wait(done, seconds)

    def was_asked(self, seconds: float) -> bool:
        """Return whether the agent calls the provider within a time."""
        return self.wait(seconds, lambda: bool(self.provider.calls))

    def why(self) -> str:
        """Return what is known of an agent that is no more."""
        self.peer.wait_for_exit(QUIET_SECONDS)
        code = self.peer.exit_code
        return "" if code is None else f"; it exited with status {code}"

    # --- what a client says and hears

    def initialize(self, capabilities: Frame | None = None, version: int = 1) -> Frame:
        """Greet the agent; return its result.

        Raises:
            UnreachedError: It does not answer well.
        """
        asked = self.peer.initialize(capabilities, version=version, info=INFO)
        answer = self.answer_to(asked)
        self.transcript.notes["initialized"] = answer
        result = (answer.frame or {}).get("result") if answer else None
        if not isinstance(result, dict):
            raise UnreachedError(f"the agent did not answer initialize well{self.why()}")
        self.transcript.notes["initialize"] = result
        return result

    def new_session(self) -> str:
        """Open a session; return its id.

        Raises:
            UnreachedError: The agent opens none.
        """
        answer = self.answer_to(self.ask_for_session())
        frame = (answer.frame or {}) if answer else {}
        result = frame.get("result")
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            return str(result["sessionId"])
        error = frame.get("error")
        if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
            raise UnreachedError(
                "the agent wants a login before it opens a session; give it one by --preset, "
                "--provider-env or --keep-home"
            )
        raise UnreachedError(f"the agent opened no session{self.why()}")

    def ask_for_session(self) -> object:
        """Ask for a session, and return the request's id."""
        return self.peer.new_session(str(self.cwd))

    def prompt(self, session: str, scenario: ProviderScenario) -> ObservedTurn:
        """Begin a turn."""
        self.provider.scenario = scenario
        begin = len(self.peer.events)
        request_id = self.peer.prompt(session, self.hooks.prompt_for(scenario))
        turn = ObservedTurn(scenario, session, request_id, begin)
        self.transcript.turns.append(turn)
        return turn

    def finish(self, turn: ObservedTurn, seconds: float | None = None) -> PeerEvent | None:
        """Wait for a turn's answer, and for what follows it at once."""
        since = self.peer.now
        turn.answer = self.answer_to(turn.request_id, seconds)
        turn.seconds = (turn.answer.at if turn.answer else self.peer.now) - since
        if turn.answer is not None:
            # What a faulty agent sends too late, or again, is on its answer's heels.
            self.wait(QUIET_SECONDS)
        calls = self.provider.calls
        turn.called = not self.hooks.calls_provider or any(
            c.scenario is turn.scenario for c in calls
        )
        return turn.answer

    def healthy_turn(self, session: str) -> ObservedTurn:
        """Take a turn as it should be.

        Raises:
            UnreachedError: It failed, and nothing was said of a model for the agent to call.
        """
        turn = self.prompt(session, ProviderScenario.HEALTHY)
        answer = self.finish(turn)
        failed = answer is not None and "error" in (answer.frame or {})
        if failed and not self.hooks.can_play(turn.scenario):
            raise UnreachedError(
                "the agent's turn failed, as one without a model does; point it to the kit's "
                "provider (--preset, --provider-env)"
            )
        return turn

    def wait_for_update(self, turn: ObservedTurn, seconds: float) -> bool:
        """Whether the turn shows something, or is heard of at the provider, while it is open."""
        found = self.peer.find(
            lambda e: (
                (e.session == turn.session and e.kind in acp.SHOWN_KINDS)
                or e.answers(turn.request_id)
            ),
            seconds,
        )
        return found is not None and not found.is_answer

    def leave(self) -> None:
        """Close the agent's stdin, and see it go."""
        since = self.peer.now
        self.peer.close_stdin()
        if self.peer.wait_for_exit(self.limits.exit_seconds):
            self.transcript.exit_seconds = self.peer.now - since
            self.transcript.exit_code = self.peer.exit_code
            self.transcript.leftovers = list(leftovers(self.peer.mark).values())
