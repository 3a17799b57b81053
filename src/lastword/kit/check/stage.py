"""A conversation with a new agent process that has its own provider and home directory.

Owns the agent's life in one act, its sessions and turns, and the waits. A conversation that
cannot reach its point raises `UnreachedError`. It does not own bytes and processes (`kit.peer`),
or what an act does (`probes`).
"""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lastword.core.protocol import acp
from lastword.kit.check.sdk import built_on
from lastword.kit.check.transcript import (
    NotApplicableError,
    ObservedTurn,
    Transcript,
    UnreachedError,
    WaitLimits,
)
from lastword.kit.peer import StrictClient, leftovers
from lastword.kit.provider.server import Provider, ProviderScenario
from lastword.kit.provider.target import API_KEY, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.check.hooks import Hooks
    from lastword.kit.peer import Frame, PeerEvent

INFO = {"name": "lastword-check", "version": "1"}
FUTURE_VERSION = 99
"""A protocol version that no agent speaks."""

ECHOED = "the agent repeats any requested protocol version; it speaks version 1"
OTHER_VERSION = {
    1: "the agent only speaks protocol version 2; check it with --protocol 2",
    2: "the agent speaks protocol version 1; check it without --protocol 2",
}
"""What is said of an agent that does not speak the version that is checked."""

QUIET_SECONDS = 0.3
"""How long to wait for what follows an answer."""


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
        self.transcript: Transcript = Transcript(name)
        self.limits = limits
        self.hooks = hooks
        self.provider: Provider = Provider(echo_key=True)
        self._command = command
        self._deaf = deaf
        self._watcher: Callable[[StrictClient], None] = lambda _peer: None
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
        home = root / "home"
        self.cwd: Path = root / "work"
        home.mkdir()
        self.cwd.mkdir()
        target = Target(self.provider.url, self.provider.openai_url, API_KEY)
        self._environment = self.hooks.environment(target, home, uuid.uuid4().hex)
        try:
            self.peer: StrictClient = self._started()
        except UnreachedError:
            self.provider.__exit__()
            self._folder.cleanup()
            raise
        return self

    def _started(self) -> StrictClient:
        try:
            peer = StrictClient(self._command, self._environment)
        except OSError as error:
            msg = f"the agent cannot be started: {(error.strerror or 'failed').lower()}"
            raise UnreachedError(msg) from error
        peer.stderr.reading = not self._deaf
        return peer

    def __exit__(self, *_: object) -> None:
        peer, transcript = self.peer, self.transcript
        if transcript.exit_code is None:
            transcript.exit_code = peer.exit_code  # its own, before we end it
        peer.close()
        transcript.events = list(peer.events)
        transcript.stderr_bytes, transcript.stderr_tail = peer.stderr.count, bytes(peer.stderr.data)
        transcript.stderr_times = list(peer.stderr_times)
        self.provider.__exit__()
        self._folder.cleanup()

    def watch(self, started: Callable[[StrictClient], None]) -> None:
        """Have this called with the agent's peer, now and whenever the agent is started again."""
        self._watcher = started
        started(self.peer)

    def restart(self) -> None:
        """Close the agent's stdin, see it go, and start it again in the same home.

        Raises:
            UnreachedError: It cannot be started again.
        """
        before = self.peer
        before.close_stdin()
        before.wait_for_exit(self.limits.exit_seconds)
        before.close()
        peer = self._started()
        peer.go_on_from(before)
        self.peer = peer
        self._watcher(peer)

    # --- waiting

    def answer_to(self, request_id: object, seconds: float | None = None) -> PeerEvent | None:
        """Return the answer with this very id, `None` when none comes in time."""
        limit = self.limits.answer_seconds if seconds is None else seconds
        return self.peer.answer_to(request_id, limit)

    def wait(self, seconds: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Wait until something holds, the agent's output ends, or the time has passed."""
        return self.peer.wait(done, seconds)

    def was_called(self, seconds: float) -> bool:
        """Return whether the agent calls the provider within a time."""
        return self.wait(seconds, lambda: bool(self.provider.calls))

    def why(self) -> str:
        """Return the exit of an agent that has exited, as the end of a sentence."""
        self.peer.wait_for_exit(QUIET_SECONDS)
        code = self.peer.exit_code
        return "" if code is None else f"; it exited with status {code}"

    # --- what a client says and hears

    @property
    def dialect(self) -> acp.Dialect:
        """The words of the protocol version that is checked."""
        return acp.dialect(self.hooks.protocol)

    def initialize(self, capabilities: Frame | None = None, version: int | None = None) -> Frame:
        """Greet the agent; return its result.

        Args:
            capabilities: The client's.
            version: The protocol version to ask for, where it is not the one that is checked.

        Raises:
            UnreachedError: It does not answer well.
            NotApplicableError: It does not speak the version that is checked.
        """
        requested = self.hooks.protocol if version is None else version
        request_id = self.peer.initialize(
            capabilities, version=requested, info=INFO, dialect=self.dialect
        )
        answer = self.answer_to(request_id)
        self.transcript.notes |= {"requested_version": requested, "initialized": answer}
        result = (answer.frame or {}).get("result") if answer else None
        if not isinstance(result, dict):
            if answer is not None and self._speaks_another():
                raise NotApplicableError(OTHER_VERSION[self.hooks.protocol])
            raise UnreachedError(f"initialize got no usable answer{self.why()}")
        self.transcript.notes["initialize"] = result
        self.transcript.sdk = built_on(self.peer.mark)
        if version is None and result.get("protocolVersion") == _other(self.hooks.protocol):
            raise NotApplicableError(OTHER_VERSION[self.hooks.protocol])
        if version is None and self.dialect is acp.V2 and not _has_version_2(result):
            self._refuse_echo()
        return result

    def _refuse_echo(self) -> None:
        """Refuse an agent that repeats any requested version.

        Raises:
            NotApplicableError: It is one.
        """
        self.restart()
        request_id = self.peer.initialize(version=FUTURE_VERSION, info=INFO, dialect=self.dialect)
        answer = self.answer_to(request_id)
        result = (answer.frame or {}).get("result") if answer else None
        if isinstance(result, dict) and result.get("protocolVersion") == FUTURE_VERSION:
            raise NotApplicableError(ECHOED)
        self.restart()
        self.answer_to(self.peer.initialize(version=self.hooks.protocol, info=INFO))

    def _speaks_another(self) -> bool:
        """Return whether the agent refuses version 1 because it only speaks version 2."""
        if self.dialect is not acp.V1:
            return False  # who speaks 1 alone answers 2 with 1
        self.restart()
        answer = self.answer_to(self.peer.initialize(version=acp.V2.version, info=INFO))
        result = (answer.frame or {}).get("result") if answer else None
        return (
            isinstance(result, dict)
            and result.get("protocolVersion") == acp.V2.version
            and _has_version_2(result)
        )

    def new_session(self) -> str:
        """Open a session; return its id.

        Raises:
            UnreachedError: The agent opens none.
        """
        answer = self.answer_to(self.request_session())
        self.transcript.notes["session_answer"] = answer
        frame = (answer.frame or {}) if answer else {}
        result = frame.get("result")
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            return str(result["sessionId"])
        error = frame.get("error")
        if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
            raise UnreachedError(
                "the agent requires a login before it opens a session; provide one by --preset, "
                "--provider-env or --keep-home"
            )
        raise UnreachedError(f"the agent opened no session{self.why()}")

    def request_session(self) -> object:
        """Ask for a session, and return the request's id."""
        return self.peer.new_session(str(self.cwd))

    def prompt(
        self, session: str, scenario: ProviderScenario, text: str | None = None
    ) -> ObservedTurn:
        """Begin a turn, by the scenario's prompt unless another `text` is given."""
        self.provider.scenario = scenario
        begin = len(self.peer.events)
        request_id = self.peer.prompt(session, text or self.hooks.prompt_for(scenario))
        turn = ObservedTurn(scenario, session, request_id, begin)
        self.transcript.turns.append(turn)
        return turn

    def cancel(self, turn: ObservedTurn) -> None:
        """Cancel a turn.

        Raises:
            UnreachedError: It has ended by itself.
        """
        self.peer.pump(0.0)
        if self.has_ended(turn):
            raise UnreachedError("the turn ended by itself before it could be cancelled")
        turn.cancelled = True
        self.peer.cancel(turn.session)

    def finish(self, turn: ObservedTurn, seconds: float | None = None) -> PeerEvent | None:
        """Wait for a turn's answer, and for what follows it at once."""
        since = self.peer.now
        limit = self.limits.answer_seconds if seconds is None else seconds
        turn.answer = self.peer.find(self._ends(turn), limit, since=turn.begin)
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
        """Run a healthy turn.

        Raises:
            UnreachedError: It failed, and nothing was said of a model for the agent to call.
        """
        turn = self.prompt(session, ProviderScenario.HEALTHY)
        self.finish(turn)
        if turn.failed and not self.hooks.can_play(turn.scenario):
            raise UnreachedError(
                "the agent's turn failed, as one without a model does; point it to the kit's "
                "provider (--preset, --provider-env)"
            )
        return turn

    def wait_for_update(self, turn: ObservedTurn, seconds: float) -> bool:
        """Return whether the turn shows something while it is open."""
        ends = self._ends(turn)
        event = self.peer.find(
            lambda e: (e.session == turn.session and e.kind in acp.SHOWN_KINDS) or ends(e),
            seconds,
            since=turn.begin,
        )
        return event is not None and event.kind in acp.SHOWN_KINDS

    def wait_for_question(self, turn: ObservedTurn, seconds: float) -> bool:
        """Return whether the agent asks for a permission while the turn is open."""
        ends = self._ends(turn)
        event = self.peer.find(
            lambda e: e.requests_permission_in(turn.session) or ends(e), seconds, since=turn.begin
        )
        return event is not None and event.requests_permission_in(turn.session)

    def has_ended(self, turn: ObservedTurn) -> bool:
        """Return whether the agent has already ended a turn."""
        return any(map(self._ends(turn), self.peer.events[turn.begin :]))

    def _ends(self, turn: ObservedTurn) -> Callable[[PeerEvent], bool]:
        """Return a predicate for a turn's end, to be called with its events in order."""
        if not self.dialect.turn_ends_by_state:
            return lambda event: event.answers(turn.request_id)
        state = {"accepted": False, "running": False}

        def ends(event: PeerEvent) -> bool:
            if event.answers(turn.request_id):
                state["accepted"] = True
                return "error" in (event.frame or {})
            if event.kind != acp.STATE_UPDATE or event.session != turn.session:
                return False
            if event.update.get("state") != acp.IDLE:
                state["running"] = True
                return False
            # An idle state without a turn of its own may come at any time.
            return state["running"] or (state["accepted"] and "stopReason" in event.update)

        return ends

    def leave(self) -> None:
        """Close the agent's stdin, and see it go."""
        since = self.peer.now
        self.transcript.notes["left"] = True
        self.peer.close_stdin()
        if self.peer.wait_for_exit(self.limits.exit_seconds):
            self.transcript.exit_seconds = self.peer.now - since
            self.transcript.exit_code = self.peer.exit_code
            self.transcript.leftovers = list(leftovers(self.peer.mark).values())


def _has_version_2(welcome: Frame) -> bool:
    """Return whether the answer to `initialize` has what version 2 requires and version 1 lacks."""
    return isinstance(welcome.get(acp.V2.agent_info), dict)


def _other(version: int) -> int:
    return acp.V1.version if version == acp.V2.version else acp.V2.version
