"""The layer around a connection that lets a link outlive its agent.

Owns `Connection`'s interface for a series of agents: the requests made in between, the greeting of
the next agent, and the mapping of ids. The link inside knows one agent, and takes each for that
one. Imported at the first crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.link import failures
from lastword.core.link.effects import Effect, Kill, Send, Side, forwarded_as
from lastword.core.protocol import jsonrpc
from lastword.core.restart import replay, sessions
from lastword.core.restart.state import RestartState

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.agent_side import HandlerReport
    from lastword.core.link.connection import Connection
    from lastword.core.link.costs import Spent
    from lastword.core.link.evidence import Hint, SilentTurn
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.state import Link


class RestartLayer:
    """A connection whose agent is restarted when it is gone and needed.

    Must be in place before the connection learns of the crash.
    """

    __slots__ = ("_connection", "state")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.state: RestartState = RestartState(connection.link.started_at)

    @property
    def link(self) -> Link:
        """As `Connection.link`."""
        return self._connection.link

    def receive(
        self, side: Side, message: jsonrpc.Frame | jsonrpc.Malformed, now: float
    ) -> list[Effect]:
        """As `Connection.receive`."""
        if isinstance(message, jsonrpc.Malformed):
            effects = self._connection.receive(side, message, now)
            if side is Side.CLIENT:
                return self._to_the_client(effects)
            effects += replay.broken(self._connection, self.state, message)
            return self._for_agent(effects)
        self._connection.at(now)
        if side is Side.AGENT:
            return self._from_the_agent(message)
        effects = replay.gives_up(self._connection, message)
        effects += replay.from_the_client(self._connection, self.state, message)
        effects = replay.translate(self.state, effects, message)
        return self.state.names.for_agent(effects, message)

    def _from_the_agent(self, frame: jsonrpc.Frame) -> list[Effect]:
        named, effects = sessions.as_the_client_knows(self._connection, self.state, frame)
        effects += replay.from_the_agent(self._connection, self.state, named)
        if named is not frame:
            effects = forwarded_as(effects, Send(Side.CLIENT, named.line))
        return self._for_agent(replay.translate(self.state, effects, None))

    def _for_agent(self, effects: list[Effect]) -> list[Effect]:
        """Return the effects of anything but a frame from the client, under the agent's names."""
        return self.state.names.for_agent(effects, None)

    def observe(self, messages: list[jsonrpc.Envelope], start: int, now: float) -> int:
        """As `Connection.observe`; a session with two names needs a closer look."""
        return 0 if self.state.names.ours else self._connection.observe(messages, start, now)

    def receive_oversized(self, side: Side, ends: bytes, now: float) -> list[Effect]:
        """As `Connection.receive_oversized`."""
        if side is Side.CLIENT:
            return self._to_the_client(self._connection.receive_oversized(side, ends, now))
        self._connection.at(now)
        ours = replay.skipped(self._connection, self.state, ends)
        if ours is None:
            ours = self._connection.receive_oversized(side, ends, now)
        return self._for_agent(ours)

    def _to_the_client(self, effects: list[Effect]) -> list[Effect]:
        """Return the effects of a line from the client that was not taken in."""
        # What is said about it to the agent has the id that the agent knows.
        effects = replay.unnamed(self.state, effects)
        return self._for_agent(replay.translate(self.state, effects, None))

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        """As `Connection.receive_stderr`."""
        return self._for_agent(self._connection.receive_stderr(data, now))

    def receive_hint(self, hint: Hint, now: float) -> list[Effect]:
        """As `Connection.receive_hint`; the hint names its session as the agent does."""
        ours = self.state.names.ours.get(hint.session_id or "")
        if ours is not None:
            hint = msgspec.structs.replace(hint, session_id=ours)
        return self._for_agent(self._connection.receive_hint(hint, now))

    def receive_silence(self, cause: SilenceCause | None, now: float) -> None:
        """As `Connection.receive_silence`."""
        self._connection.receive_silence(cause, now)

    def receive_spending(self, spent: Spent, now: float) -> list[Effect]:
        """As `Connection.receive_spending`."""
        return self._for_agent(self._connection.receive_spending(spent, now))

    def expects_hints(self, *, present: bool) -> None:
        """As `Connection.expects_hints`."""
        self._connection.expects_hints(present=present)

    def silent_turns(self, now: float, seconds: float) -> list[SilentTurn]:
        """As `Connection.silent_turns`."""
        theirs = self.state.names.theirs
        return [
            msgspec.structs.replace(turn, session_id=theirs.get(turn.session_id, turn.session_id))
            for turn in self._connection.silent_turns(now, seconds)
        ]

    def looked(self, now: float) -> list[Effect]:
        """As `Connection.looked`."""
        effects = self.replaced(self._connection.looked(now))
        return self._for_agent(replay.translate(self.state, effects, None))

    def receive_report(self, request_id: bytes, word: HandlerReport, now: float) -> list[Effect]:
        """As `Connection.receive_report`."""
        return self._for_agent(self._connection.receive_report(request_id, word, now))

    def receive_eof(self, side: Side, cause: Verdict | None, now: float) -> list[Effect]:
        """As `Connection.receive_eof`; what waits is kept for the next agent."""
        if side is Side.CLIENT:
            effects = self._connection.receive_eof(side, cause, now)
            return self._for_agent(effects + replay.client_left(self._connection, self.state))
        verdict = cause or failures.hung_up(self._connection.link)
        effects = self._connection.receive_eof(side, verdict, now)
        return effects + replay.agent_lost(self._connection, self.state, verdict)

    def agent_started(self, now: float) -> list[Effect]:
        """Take in that a `Restart` was carried out: a new process runs."""
        self._connection.at(now)
        return replay.agent_started(self._connection, self.state)

    def client_detached(self, now: float) -> list[Effect]:
        """As `Connection.client_detached`; an agent that is needed is started all the same."""
        return self._for_agent(self._connection.client_detached(now))

    def client_attached(self, now: float) -> list[Effect]:
        """As `Connection.client_attached`."""
        return self._for_agent(self._connection.client_attached(now))

    def withheld_frames(self) -> list[Effect]:
        """As `Connection.withheld_frames`."""
        return self._connection.withheld_frames()

    def next_timeout(self) -> float | None:
        """As `Connection.next_timeout`."""
        dues = list(self.state.dues())
        inner = self._connection.next_timeout()
        if inner is not None:
            dues.append(inner)
        return min(dues, default=None)

    def handle_timeout(self, now: float) -> list[Effect]:
        """As `Connection.handle_timeout`."""
        effects = replay.resend_due(self._connection, self.state, now)
        effects += self.replaced(self._connection.handle_timeout(now))
        effects += sessions.note_opened(self._connection, self.state, effects)
        effects += replay.handle_timeout(self._connection, self.state)
        return self._for_agent(replay.translate(self.state, effects, None))

    def replaced(self, effects: list[Effect]) -> list[Effect]:
        """Keep what waited for an agent that the link has killed, for the next one."""
        left: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Kill):
                refused = replay.replaced(self._connection, self.state, effect.unsent)
                left += [Kill(), *refused]
            else:
                left.append(effect)
        return left

    def stand_still(self, seconds: float) -> None:
        """As `Connection.stand_still`."""
        self._connection.stand_still(seconds)
        self.state.stand_still(seconds)

    @property
    def idle(self) -> bool:
        """As `Connection.idle`."""
        return not self.state.awaited() and self._connection.idle

    @property
    def agent_name(self) -> str | None:
        """As `Connection.agent_name`."""
        return self._connection.agent_name

    def stderr_tail(self) -> str:
        """As `Connection.stderr_tail`."""
        return self._connection.stderr_tail()
