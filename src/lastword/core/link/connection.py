"""One link between a client and an agent: messages and a time in, effects out.

This is the loop that drives it; every shell has it, in its own kind of waiting:

    while the session lasts:
        wait for a line, for a side's end, or until `next_timeout()`, whichever is first
        a line:       effects = receive(side, jsonrpc.decode(line), now)
        a side's end: effects = receive_eof(side, cause, now)
        the moment:   effects = handle_timeout(now)
        carry out every effect, in order, before anything else is taken in

Each call may move the moment that `next_timeout` gives, so it is asked anew before each wait; `now`
is always the same clock's. `receive_oversized`, `receive_stderr`, `receive_log`, `receive_hint`,
`receive_report`, `client_detached` and `client_attached` are further things that may have happened,
taken in the same way. A shell that reads the agent's lines in blocks may offer them to `observe`
first, and nobody else may: in the order in which they came, each block as `jsonrpc.decode_block`
gives it. What it takes in passes as the bytes it came in; the message after that goes through
`receive`, and the rest may be offered again.

Owns the core's interface. The work is done by `core.link.client_side`, `core.link.agent_side` and
`core.link.clocks` on the state in `core.link.state`. Nothing here raises because of what a peer
sent. Knows one agent: another that follows it is `core.restart.layer`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import (
    agent_side,
    client_side,
    clocks,
    ending,
    entries,
    hints,
    resend,
    retries,
    updates,
)
from lastword.core.link.effects import CLIENT, FORWARD, Effect, Record, Send, Side, forwarded_as
from lastword.core.link.options import Options
from lastword.core.link.state import Link, Presence
from lastword.core.link.turn import Event, State
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import By, Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.hints import Hint, SilentTurn
    from lastword.core.link.reports import HandlerReport

__all__ = ["Connection", "Options", "Side"]


class Connection:
    """The sans-IO core: feed it what arrives, carry out what it answers, in order.

    Times are monotonic seconds from any origin, never going back. A frame is passed on as the
    bytes it came in wherever an effect says `Forward`.
    """

    __slots__ = ("_due", "_due_known", "_horizon", "link")

    def __init__(self, options: Options | None = None) -> None:
        self.link: Link = Link(options or Options())
        """What is known, for those who wrap this. Whoever needs it at a moment asks `at`."""
        self._horizon = clocks.horizon_seconds(self.link.options)
        self._due: float | None = None
        self._due_known = False

    def receive(
        self, side: Side, message: jsonrpc.Frame | jsonrpc.Malformed, now: float
    ) -> list[Effect]:
        """Take in one line that came from `side`, decoded."""
        link = self.link
        link.at(now)
        if isinstance(message, jsonrpc.Malformed):
            self._due_known = False
            malformed = client_side.malformed if side is CLIENT else agent_side.malformed
            return malformed(link, message)
        receive = client_side.receive if side is CLIENT else agent_side.receive
        effects = receive(link, message)
        if not link.take_wake() and _passes_untouched(effects):
            self._look_again(now)
        else:
            self._due_known = False
        return effects

    def observe(self, messages: list[jsonrpc.Envelope], start: int, now: float) -> int:
        """Take in a run of the agent's messages, from `start` on, that pass untouched.

        The relay's usual case at a fifth of the cost: gives how many were taken in; the one after
        them must go through `receive`.
        """
        self.link.at(now)
        self._look_again(now)
        return updates.observe(self.link, messages, start)

    def _look_again(self, now: float) -> None:
        """What just passed untouched can only have set deadlines that are at least so far away.

        Asking for all of them costs 3 µs, a fifth of what a request and its answer cost.
        """
        soon = now + self._horizon
        if self._due is None or soon < self._due:
            self._due = soon

    def receive_oversized(self, side: Side, ends: bytes, now: float) -> list[Effect]:
        """Take in that a line over the limit was skipped.

        `ends` is how it began and, behind a line end, how it ended. What it answered ends as a
        failure; else it was part of a turn, which cannot go on.
        """
        # Loaded with the first such line.
        from lastword.core.protocol import peek  # noqa: PLC0415

        link = self.at(now)
        shown = peek.of_skipped(ends)
        entry = entries.record(link, Kind.FRAME_DROPPED, side=side.value, reason="line_too_long")
        verdict = ending.own_failure(ErrorType.PROTOCOL_ERROR, "line_too_long")
        if side is Side.CLIENT:
            return [entry, *client_side.oversized(link, shown, verdict)]
        lost = agent_side.lost_answer(link, shown, verdict)
        if lost is not None:
            return [entry, *lost]
        return [entry, *agent_side.oversized(shown), *self._stop_all(verdict)]

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        """Take in what the agent wrote to stderr."""
        link = self.at(now)
        link.stderr.receive(data, now)
        if hints.is_of_several(link):
            link.stderr.pass_over()
        limit = link.options.stderr_limit_bytes
        if limit <= 0 or link.stderr.since_frame <= limit:
            return []
        link.stderr.count_anew()
        return self._stop_all(ending.own_failure(ErrorType.STDERR_OVERFLOW, "stderr_limit"))

    def receive_log(self, data: bytes, now: float) -> None:
        """Take in what the agent told its own log: evidence, as stderr is."""
        link = self.at(now)
        link.stderr.receive_log(data)
        for turn in link.open_turns():
            turn.evidence.note_log(data)

    def receive_hint(self, hint: Hint, now: float) -> list[Effect]:
        """Take in what a source beside the pipes says of an open turn's failed model call."""
        return retries.hinted(self.at(now), hint)

    def expects_hints(self, *, present: bool) -> None:
        """Take in whether there are such sources.

        An answer that says nothing of its failure's cause then waits a moment for them.
        """
        self.link.expect_hints(present=present)

    def silent_turns(self, now: float, seconds: float) -> list[SilentTurn]:
        """The turns at work that have shown nothing for so long; asking moves no clock."""
        self.link.at(now)
        return hints.silent_turns(self.link, seconds)

    def receive_report(self, request_id: bytes, word: HandlerReport, now: float) -> list[Effect]:
        """Take in what a handler in this process says of the request that it is at work on."""
        # Loaded where there is such a handler: no part of the sidecar.
        from lastword.core.link import reports  # noqa: PLC0415

        return reports.receive(self.at(now), request_id, word)

    def receive_eof(self, side: Side, cause: Verdict | None, now: float) -> list[Effect]:
        """Take in that a side is gone for good; `cause` says how the agent ended.

        A client that leaves so has cancelled its turns. One that may come back is said to be
        detached, by `client_detached`.
        """
        link = self.at(now)
        if side is Side.CLIENT:
            link.note_presence(Presence.LEFT)
            for turn in link.open_turns():
                if turn.state is not State.WAITING:
                    turn.step(Event.CLIENT_LOST)
            return [*self._noted_as_left(), *resend.client_left(link)]
        verdict = cause or ending.hung_up()
        held = link.take_held_error()
        # Its last word had no id: nothing can follow now that would speak against it.
        told = agent_side.with_request_id(link, held.frame, held.request_id) if held else []
        return [
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
            *(resend.agent_lost(link, verdict) if link.options.retry else ()),
            *ending.agent_lost(link, verdict),
        ]

    def client_detached(self, now: float) -> list[Effect]:
        """Take in that nobody is there on the client's side for now: the link goes on without.

        Open turns go on, and so do their clocks, but where a question to the user stands open: it
        stays so, for whoever comes. What is sent to the client meanwhile is the shell's to keep.
        """
        link = self.at(now)
        is_news = link.note_presence(Presence.DETACHED)
        return [entries.record(link, Kind.CLIENT_DETACHED)] if is_news else []

    def client_attached(self, now: float) -> list[Effect]:
        """Take in that somebody is there again, who speaks for the client that said `initialize`.

        Nothing is sent again: what they missed, and what waits for their answer, the shell kept.
        """
        link = self.at(now)
        return [client_side.attached(link)] if link.note_presence(Presence.ATTACHED) else []

    def another_follows(self, cause: Verdict | None) -> bool:
        """Will there be another agent after this one, if it ended so? Not where it never ran."""
        never_ran = cause is not None and cause.reason == ending.SPAWN_FAILED
        return self.link.restarts and not never_ran

    def kept_frames(self) -> list[Effect]:
        """What is kept back at this moment, for a link that goes on without the core."""
        link = self.link
        kept: list[Effect] = []
        for session in link.sessions.values():
            kept += [Send(Side.CLIENT, turn.held.line) for turn in session.turns if turn.held]
            kept += [Send(Side.AGENT, prompt.frame.line) for prompt in session.waiting]
            again = [turn.kept for turn in session.turns if turn.state is State.WAITING]
            kept += [Send(Side.AGENT, prompt.line) for prompt in again if prompt is not None]
        if link.held_error is not None:
            kept.append(Send(Side.CLIENT, link.held_error.frame.line))
        return kept

    def _noted_as_left(self) -> list[Effect]:
        link = self.link
        by = By.CLIENT_GONE.value
        return [
            entries.record(link, Kind.CLIENT_GONE),
            *(
                entries.record(link, Kind.CANCEL, turn.session, turn, by=by)
                for turn in link.open_turns()
            ),
        ]

    def next_timeout(self) -> float | None:
        """The moment at which `handle_timeout` is to be called next, at the latest.

        It may come early: progress moves deadlines without asking for a new answer here.
        """
        if not self._due_known:
            self._due = clocks.next_timeout(self.link)
            self._due_known = True
        return self._due

    def handle_timeout(self, now: float) -> list[Effect]:
        """Do what is due."""
        link = self.at(now)
        effects: list[Effect] = []
        for prompt in resend.take_due(link) if link.options.retry else ():
            sent = client_side.receive(link, prompt)
            effects += forwarded_as(sent, Send(Side.AGENT, prompt.line))
        return effects + clocks.handle(link)

    def stand_still(self, seconds: float) -> None:
        """The link stood still for so long (a client that blocks us, a stopped process)."""
        self._due_known = False
        self.link.stand_still(seconds)

    @property
    def idle(self) -> bool:
        """Is nothing waiting for the agent?"""
        link = self.link
        held_back = any(session.waiting for session in link.sessions.values())
        return not link.from_client and not link.open_turns() and not held_back

    @property
    def agent_name(self) -> str | None:
        """What the agent called itself, `None` before it has answered `initialize`."""
        return self.link.agent.name if self.link.initialized else None

    def stderr_tail(self) -> str:
        """The last of what the agent wrote to stderr: in open turns, where there are any."""
        marks = [turn.evidence.stderr_mark for turn in self.link.open_turns()]
        return self.link.stderr.tail(min(marks, default=0))

    def at(self, now: float) -> Link:
        """The link at this moment, to do something about it that no frame asked for."""
        self.link.at(now)
        self._due_known = False
        return self.link

    def _stop_all(self, verdict: Verdict) -> list[Effect]:
        effects: list[Effect] = []
        for session in list(self.link.sessions.values()):
            effects += ending.stop_session(self.link, session, Event.STOP, verdict)
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
    for effect in effects[:-1]:
        if not isinstance(effect, Record) or effect.entry.kind not in _SETS_NO_NEAR_DEADLINE:
            return False
    return True
