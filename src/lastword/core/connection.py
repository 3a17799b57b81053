"""One link between a client and an agent: messages and a time in, effects out.

Owns the core's interface. The work is done by `core.from_client`, `core.from_agent` and
`core.timers` on the state in `core.session`. Nothing here raises because of what a peer sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core import ending, entries, from_agent, from_client, jsonrpc, timers, updates
from lastword.core.effects import FORWARD, Effect, Record, Send, Side
from lastword.core.options import Options
from lastword.core.session import Link
from lastword.core.taxonomy import ErrorType
from lastword.core.timeline import By, Kind
from lastword.core.turn import Event

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.handler import Word
    from lastword.core.revival import Revival

__all__ = ["Connection", "Options", "Side"]


class Connection:
    """The sans-IO core: feed it what arrives, carry out what it answers, in order.

    Times are monotonic seconds from any origin, never going back. A frame is passed on as the
    bytes it came in wherever an effect says `Forward`.
    """

    __slots__ = ("_due", "_due_known", "_horizon", "_link")

    def __init__(self, options: Options | None = None) -> None:
        self._link = Link(options or Options())
        self._horizon = timers.horizon_seconds(self._link.options)
        self._due: float | None = None
        self._due_known = False

    def receive(
        self, side: Side, message: jsonrpc.Frame | jsonrpc.Malformed, now: float
    ) -> list[Effect]:
        """Take in one line that came from `side`, decoded."""
        link = self._link
        link.now = now
        if isinstance(message, jsonrpc.Malformed):
            self._due_known = False
            malformed = from_client.malformed if side is Side.CLIENT else from_agent.malformed
            return malformed(link, message)
        if link.revival is not None:
            self._due_known = False
            return self._after_crash(link.revival, side, message)
        receive = from_client.receive if side is Side.CLIENT else from_agent.receive
        effects = receive(link, message)
        if _passes_untouched(effects):
            self._look_again(now)
        else:
            self._due_known = False
        return effects

    def _after_crash(self, revival: Revival, side: Side, frame: jsonrpc.Frame) -> list[Effect]:
        # Loaded at the first crash, as in `ending.agent_lost`.
        from lastword.core import restart  # noqa: PLC0415

        if side is Side.AGENT:
            effects = restart.from_the_agent(self._link, revival, frame)
            return restart.translate(revival, effects, None)
        effects = restart.from_the_client(self._link, revival, frame)
        return restart.translate(revival, effects, frame)

    def agent_started(self, now: float) -> list[Effect]:
        """Take in that a `Restart` was carried out: a new process runs."""
        from lastword.core import restart  # noqa: PLC0415  (as above)

        link = self._at(now)
        return restart.agent_started(link, link.revival) if link.revival else []

    def observe(self, messages: list[jsonrpc.Envelope], start: int, now: float) -> int:
        """Take in a run of the agent's messages, from `start` on, that pass untouched.

        The relay's usual case at a fifth of the cost: gives how many were taken in; the one after
        them must go through `receive`.
        """
        self._link.now = now
        self._look_again(now)
        return updates.observe(self._link, messages, start)

    def _look_again(self, now: float) -> None:
        """What just passed untouched can only have set deadlines that are at least so far away.

        Asking for all of them costs 3 µs, a fifth of what a request and its answer cost.
        """
        soon = now + self._horizon
        if self._due is None or soon < self._due:
            self._due = soon

    def receive_oversized(self, side: Side, head: bytes, now: float) -> list[Effect]:
        """Take in that a line over the limit was skipped; `head` is how it began.

        What it answered ends as a failure; else it was part of a turn, which cannot go on.
        """
        link = self._at(now)
        entry = entries.record(link, Kind.FRAME_DROPPED, side=side.value, reason="line_too_long")
        verdict = ending.own_failure(ErrorType.PROTOCOL_ERROR, "line_too_long")
        request_id = jsonrpc.peek_id(head)
        if side is Side.CLIENT:
            effects = from_client.oversized(link, head, request_id, verdict)
            return [entry, *self._as_the_agent_knows(effects)]
        is_answer = request_id is not None and jsonrpc.peek_method(head) is None
        request = link.from_client.get(request_id) if is_answer and request_id else None
        if request is not None and request_id is not None:
            return [entry, *from_agent.fail_open_request(link, request_id, request, verdict)]
        if is_answer and any(request_id in s.unresolved for s in link.sessions.values()):
            # The late answer to a turn that is over: no other has lost anything.
            return [entry, *from_agent.answer_to_nobody(link, request_id or jsonrpc.NULL_ID)]
        return [entry, *from_agent.oversized(head, request_id), *self._stop_all(verdict)]

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        """Take in what the agent wrote to stderr."""
        link = self._at(now)
        link.stderr.receive(data)
        limit = link.options.stderr_limit_bytes
        if limit <= 0 or link.stderr.since_frame <= limit:
            return []
        link.stderr.since_frame = 0
        return self._stop_all(ending.own_failure(ErrorType.STDERR_OVERFLOW, "stderr_limit"))

    def receive_log(self, data: bytes, now: float) -> None:
        """Take in what the agent told its own log: evidence, as stderr is."""
        self._at(now).stderr.receive(data)
        self._link.stderr.since_frame -= len(data)

    def receive_word(self, request_id: bytes, word: Word, now: float) -> list[Effect]:
        """Take in what a handler in this process says of the request that it is at work on."""
        # Loaded where there is such a handler: no part of the sidecar.
        from lastword.core import handler  # noqa: PLC0415

        return handler.receive(self._at(now), request_id, word)

    def receive_eof(self, side: Side, cause: Verdict | None, now: float) -> list[Effect]:
        """Take in that a side is gone; `cause` says how the agent ended."""
        link = self._at(now)
        if side is Side.CLIENT:
            link.client_closed = True
            for turn in link.open_turns():
                turn.step(Event.CLIENT_LOST)
            return [*self._noted_as_left(), *self._client_left()]
        verdict = cause or ending.own_failure(ErrorType.AGENT_CRASH, "closed_stdout")
        held, link.held_error = link.held_error, None
        # Its last word had no id: nothing can follow now that would speak against it.
        told = from_agent.with_request_id(link, held.frame, held.request_id) if held else []
        lost = [
            *told,
            *entries.stderr_burst(link, None),
            entries.record(
                link,
                Kind.AGENT_EXITED,
                exit_code=verdict.exit_code,
                exit_signal=verdict.exit_signal,
                reason=verdict.reason,
                open_turns=len(link.open_turns()) or None,
            ),
            *ending.agent_lost(link, verdict),
        ]
        if link.revival is None:
            return lost
        from lastword.core import restart  # noqa: PLC0415  (as above)

        return lost + restart.agent_lost(link, link.revival, verdict)

    def kept_frames(self) -> list[Effect]:
        """What is kept back at this moment, for a link that goes on without the core."""
        link = self._link
        kept: list[Effect] = []
        for session in link.sessions.values():
            kept += [Send(Side.CLIENT, turn.held.line) for turn in session.turns if turn.held]
            kept += [Send(Side.AGENT, prompt.frame.line) for prompt in session.waiting]
        if link.held_error is not None:
            kept.append(Send(Side.CLIENT, link.held_error.frame.line))
        return kept

    def _noted_as_left(self) -> list[Effect]:
        link = self._link
        by = By.CLIENT_GONE.value
        return [
            entries.record(link, Kind.CLIENT_GONE),
            *(
                entries.record(link, Kind.CANCEL, turn.session, turn, by=by)
                for turn in link.open_turns()
            ),
        ]

    def _client_left(self) -> list[Effect]:
        link = self._link
        if link.revival is None:
            return []
        from lastword.core import restart  # noqa: PLC0415  (as above)

        return restart.client_left(link, link.revival)

    def next_timeout(self) -> float | None:
        """The moment at which `handle_timeout` is to be called next, at the latest.

        It may come early: progress moves deadlines without asking for a new answer here.
        """
        if not self._due_known:
            self._due = timers.next_timeout(self._link)
            self._due_known = True
        return self._due

    def handle_timeout(self, now: float) -> list[Effect]:
        """Do what is due."""
        link = self._at(now)
        effects = timers.handle(link)
        if link.revival is None:
            return effects
        from lastword.core import restart  # noqa: PLC0415  (as above)

        return self._as_the_agent_knows(effects + restart.handle_timeout(link, link.revival))

    def _as_the_agent_knows(self, effects: list[Effect]) -> list[Effect]:
        """Answers to requests of an agent that was started again, under its own ids."""
        revival = self._link.revival
        if revival is None:
            return effects
        from lastword.core import restart  # noqa: PLC0415  (as above)

        return restart.translate(revival, effects, None)

    def stand_still(self, seconds: float) -> None:
        """The link stood still for so long (a client that blocks us, a stopped process)."""
        self._due_known = False
        for session in self._link.sessions.values():
            session.shift(seconds)
        for request in self._link.from_client.values():
            if request.due is not None:
                request.due += seconds
        if self._link.revival is not None:
            self._link.revival.stand_still(seconds)

    @property
    def idle(self) -> bool:
        """Is nothing waiting for the agent?"""
        link = self._link
        held_back = any(session.waiting for session in link.sessions.values())
        if link.revival is not None and link.revival.awaited():
            return False
        return not link.from_client and not link.open_turns() and not held_back

    @property
    def agent_name(self) -> str | None:
        """What the agent called itself, `None` before it has answered `initialize`."""
        return self._link.agent.name if self._link.initialized else None

    def stderr_tail(self) -> str:
        """The last of what the agent wrote to stderr."""
        return self._link.stderr.tail()

    def _at(self, now: float) -> Link:
        self._link.now = now
        self._due_known = False
        return self._link

    def _stop_all(self, verdict: Verdict) -> list[Effect]:
        effects: list[Effect] = []
        for session in list(self._link.sessions.values()):
            effects += ending.stop_session(self._link, session, Event.STOP, verdict)
        return effects


_SETS_NO_NEAR_DEADLINE = frozenset(
    {
        Kind.PROMPT,
        Kind.FIRST_PROGRESS,
        Kind.FIRST_OUTPUT,
        Kind.TOOL_STARTED,
        Kind.TOOL_ENDED,
        Kind.STDERR,
        Kind.ANSWER,
    }
)


def _passes_untouched(effects: list[Effect]) -> bool:
    """Does the frame pass, with nothing set that is due sooner than any limit?"""
    if not effects or effects[-1] is not FORWARD:
        return False
    # What is remembered of it comes before the frame.
    return len(effects) == 1 or all(
        isinstance(effect, Record) and effect.entry.kind in _SETS_NO_NEAR_DEADLINE
        for effect in effects[:-1]
    )
