"""A fuse around the core: a bug in it must not take a session down.

Owns the fallback to a plain pipe: once the fuse has blown, every frame passes unchanged and nothing
is added. Also owns the moment at which the layer that handles restarts is put around the
connection: when the first agent that another will follow is gone, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lastword.core.link.effects import FORWARD, Effect, Kill, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lastword.core.classify import Verdict
    from lastword.core.link.agent_side import HandlerReport
    from lastword.core.link.connection import Connection
    from lastword.core.link.costs import Spent
    from lastword.core.link.effects import PastLine, PastRestarts
    from lastword.core.link.evidence import Hint, SilentTurn
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Envelope, Frame, Malformed
    from lastword.core.restart.layer import RestartLayer

_Result = TypeVar("_Result")


class FailOpen:
    """The core's interface; acts as a plain pipe once the core has raised.

    Its methods are those of `Connection`, and of `RestartLayer` once there is one.
    """

    __slots__ = ("_innermost", "_layer", "_report", "blown", "connection")

    def __init__(self, connection: Connection, report: Callable[[Exception], None]) -> None:
        self._innermost = connection
        self._layer: RestartLayer | None = None
        """What is around it, once there have been restarts."""
        self.connection: Connection | RestartLayer = connection
        """The outer of the two: it is called wherever restarts matter."""
        self._report = report
        self.blown: bool = False

    def _try(self, call: Callable[[], _Result], otherwise: _Result) -> _Result:
        if self.blown:
            return otherwise
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (whatever it is, the session continues)
            self._blow(error)
            return otherwise

    def _effects(self, call: Callable[[], list[Effect]]) -> list[Effect]:
        """Return the effects of a call or, if it fails, the frames held back until then."""
        if self.blown:
            return []
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (as above)
            return self._blow(error)

    def _blow(self, error: Exception) -> list[Effect]:
        self.blown = True
        self._report(error)
        try:
            return self.connection.withheld_frames()
        except Exception:  # noqa: BLE001  (what is broken may be broken here too)
            return []

    def receive(self, side: Side, message: Frame | Malformed, now: float) -> list[Effect]:
        if self.blown:
            return [FORWARD]
        try:
            return self.connection.receive(side, message, now)
        except Exception as error:  # noqa: BLE001  (as above; written out for its speed)
            return [FORWARD, *self._blow(error)]

    def observe(self, messages: list[Envelope], start: int, now: float) -> int:
        if self.blown:
            return len(messages) - start
        try:
            return self.connection.observe(messages, start, now)
        except Exception as error:  # noqa: BLE001  (as above; written out for its speed)
            self._blow(error)
            return len(messages) - start

    def receive_oversized(self, side: Side, ends: bytes, now: float) -> list[Effect]:
        return self._effects(lambda: self.connection.receive_oversized(side, ends, now))

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        return self._effects(lambda: self.connection.receive_stderr(data, now))

    def receive_hint(self, hint: Hint, now: float) -> list[Effect]:
        return self._effects(lambda: self.connection.receive_hint(hint, now))

    def receive_silence(self, cause: SilenceCause | None, now: float) -> None:
        self._try(lambda: self._innermost.receive_silence(cause, now), None)

    def receive_spending(self, spent: Spent, now: float) -> list[Effect]:
        return self._effects(lambda: self.connection.receive_spending(spent, now))

    def expects_hints(self, *, present: bool) -> None:
        self._try(lambda: self._innermost.expects_hints(present=present), None)

    def silent_turns(self, now: float, seconds: float) -> list[SilentTurn]:
        none: list[SilentTurn] = []
        return self._try(lambda: self.connection.silent_turns(now, seconds), none)

    def looked(self, now: float) -> list[Effect]:
        return self._effects(lambda: self.connection.looked(now))

    def receive_report(self, request_id: bytes, word: HandlerReport, now: float) -> list[Effect]:
        return self._effects(lambda: self._innermost.receive_report(request_id, word, now))

    def agent_started(self, now: float) -> list[Effect]:
        layer = self._layer
        return [] if layer is None else self._effects(lambda: layer.agent_started(now))

    def _survive(self) -> RestartLayer:
        # Imported with the first: 1.1 ms that a session without a crash does not pay.
        from lastword.core.restart.layer import RestartLayer  # noqa: PLC0415

        self._layer = self.connection = RestartLayer(self._innermost)
        return self._layer

    def receive_eof(
        self, side: Side, cause: Callable[[], Verdict | None] | None, now: float
    ) -> list[Effect]:
        """As `Connection.receive_eof`; the cause is a callable, since computing it may fail too."""
        if self.blown:
            return []
        try:
            verdict = cause() if cause else None
            first = self._layer is None and side is Side.AGENT
            if first and self._innermost.another_follows(verdict):
                self._survive()
            return self.connection.receive_eof(side, verdict, now)
        except Exception as error:  # noqa: BLE001  (as above)
            return self._blow(error)

    def client_detached(self, now: float) -> list[Effect]:
        return self._effects(lambda: self._innermost.client_detached(now))

    def client_attached(self, now: float) -> list[Effect]:
        return self._effects(lambda: self._innermost.client_attached(now))

    def next_timeout(self) -> float | None:
        if self.blown:
            return None
        try:
            return self.connection.next_timeout()
        except Exception as error:  # noqa: BLE001  (as above; written out for its speed)
            self._blow(error)
            return None

    def handle_timeout(self, now: float) -> list[Effect]:
        if self.blown:
            return []
        try:
            effects = self.connection.handle_timeout(now)
            killed = any(isinstance(effect, Kill) for effect in effects)
            if killed and self._layer is None and self._innermost.another_follows(None):
                effects = self._survive().replaced(effects)
        except Exception as error:  # noqa: BLE001  (as above)
            return self._blow(error)
        return effects

    def stored_wait(self, session_id: str) -> StoredWait | None:
        none: StoredWait | None = None
        return self._try(lambda: self._innermost.stored_wait(session_id), none)

    def resume_wait(self, prompt: Frame, stored: StoredWait, now: float) -> list[Effect]:
        return self._effects(lambda: self._innermost.resume_wait(prompt, stored, now))

    @property
    def can_be_handed_over(self) -> bool:
        """As `Connection.can_be_handed_over`; not if the agent knows a session by another id."""
        layer = self._layer
        if self.blown or (layer is not None and not layer.state.can_be_handed_over):
            return False
        return self._try(lambda: self._innermost.can_be_handed_over, otherwise=False)

    @property
    def past_restarts(self) -> PastRestarts | None:
        """What another process must know about the agent's restarts; `None` if there were none."""
        return None if self._layer is None else self._layer.state.past

    def replay(
        self, past: Iterable[PastLine], turns: int, restarts: PastRestarts | None
    ) -> list[Effect]:
        """As `Connection.replay`, and take up the agent's restarts."""
        if restarts is not None:
            self._survive().state.restore(restarts)
        return self._effects(lambda: self._innermost.replay(past, turns))

    def stand_still(self, seconds: float) -> None:
        """As `Connection.stand_still`."""
        self._try(lambda: self.connection.stand_still(seconds), None)

    @property
    def idle(self) -> bool:
        return self._try(lambda: self.connection.idle, otherwise=True)

    @property
    def agent_name(self) -> str | None:
        unknown: str | None = ""
        return self._try(lambda: self._innermost.agent_name, unknown)

    def stderr_tail(self) -> str:
        return self._try(self._innermost.stderr_tail, "")
