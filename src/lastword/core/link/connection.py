"""One link between a client and an agent: messages and a time in, effects out.

Every shell drives it with this loop, each in its own way of waiting:

    while the session lasts:
        wait for a line, for a side's end, or until `next_timeout()`, whichever is first
        a line:       effects = receive(side, jsonrpc.decode(line), now)
        a side's end: effects = receive_eof(side, cause, now)
        the moment:   effects = handle_timeout(now)
        carry out every effect, in order, before anything else is received

Each call may move the moment that `next_timeout` returns, so ask for it again before each wait;
`now` always comes from the same clock. `receive_oversized`, `receive_stderr`, `receive_hint`,
`receive_silence`, `receive_spending`, `receive_report`, `client_detached` and `client_attached`
receive other events in the same way. A shell that reads the agent's lines in blocks may first pass
them to `observe`, in the order of their arrival, each block as `jsonrpc.decode_block` returns it;
no other shell may. The messages that `observe` handles pass as the bytes that arrived; the next
message goes through `receive`, and the rest may be passed to `observe` again.

Owns the core's interface. The work is done by `core.link.client_side`, `core.link.agent_side` and
`core.link.clocks` on the state in `core.link.state`. Nothing that a peer sends makes it raise. It
knows a single agent; `core.restart.layer` handles those that follow.
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
    failures,
    late,
    prompts,
    reporting,
    resend,
    updates,
)
from lastword.core.link.effects import CLIENT, FORWARD, Effect, Record, Send, Side, forwarded_as
from lastword.core.link.options import LinkOptions
from lastword.core.link.state import Link, Presence
from lastword.core.link.turn import Event, State
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.core.classify import Verdict
    from lastword.core.link.agent_side import HandlerReport
    from lastword.core.link.costs import Spent
    from lastword.core.link.effects import PastLine
    from lastword.core.link.evidence import Hint, SilentTurn
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.waits import StoredWait

__all__ = ["Connection", "LinkOptions", "Side"]


class Connection:
    """The sans-IO core: feed it what arrives, and carry out the effects it returns, in order.

    Times are monotonic seconds from any origin and never go back. A frame is passed on as the bytes
    that arrived wherever an effect says `Forward`.
    """

    __slots__ = ("_due", "_due_computed", "_horizon", "link")

    def __init__(self, options: LinkOptions | None = None) -> None:
        self.link: Link = Link(options or LinkOptions())
        """The state, for those who wrap this; `at` returns it at a moment."""
        self._horizon = clocks.horizon_seconds(self.link.options)
        self._due: float | None = None
        self._due_computed = False

    def receive(
        self, side: Side, message: jsonrpc.Frame | jsonrpc.Malformed, now: float
    ) -> list[Effect]:
        """Receive one decoded line from `side`."""
        link = self.link.at(now)
        if isinstance(message, jsonrpc.Malformed):
            self._due_computed = False
            malformed = client_side.malformed if side is CLIENT else agent_side.malformed
            return malformed(link, message)
        receive = client_side.receive if side is CLIENT else agent_side.receive
        effects = receive(link, message)
        if not link.pop_wake() and _passes_untouched(effects):
            self._look_again(now)
        else:
            self._due_computed = False
        return effects

    def observe(self, messages: list[jsonrpc.Envelope], start: int, now: float) -> int:
        """Receive a run of the agent's messages, from `start` on, that pass untouched.

        Handles the relay's usual case at a fifth of the cost. Returns how many messages it handled;
        the next one must go through `receive`.
        """
        self.link.at(now)
        self._look_again(now)
        return updates.observe(self.link, messages, start)

    def _look_again(self, now: float) -> None:
        """Note that the frames that just passed can only have set deadlines this far away or more.

        Computing all deadlines costs 3 µs, a fifth of the cost of a request and its answer.
        """
        soon = now + self._horizon
        if self._due is None or soon < self._due:
            self._due = soon

    def receive_oversized(self, side: Side, ends: bytes, now: float) -> list[Effect]:
        """Note that a line over the limit was skipped.

        `ends` is its beginning and, after a line end, its end. A request that it answered fails;
        otherwise it was part of a turn, which cannot continue.
        """
        link = self.at(now)
        shown = late.peek.of_skipped(ends)
        entry = entries.record(link, Kind.FRAME_DROPPED, side=side.value, reason="line_too_long")
        verdict = failures.own_failure(ErrorType.PROTOCOL_ERROR, "line_too_long")
        if side is Side.CLIENT:
            return [entry, *client_side.oversized(link, shown, verdict)]
        lost = agent_side.lost_answer(link, shown, verdict)
        if lost is not None:
            return [entry, *lost]
        return [entry, *agent_side.oversized(shown), *self._stop_all(verdict)]

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        """Receive what the agent wrote to stderr."""
        link = self.at(now)
        link.stderr.receive(data, now, own=reporting.is_of_one_call(link))
        limit = link.options.stderr_limit_bytes
        if limit <= 0 or link.stderr.since_frame <= limit:
            return []
        link.stderr.count_anew()
        return self._stop_all(failures.own_failure(ErrorType.STDERR_OVERFLOW, "stderr_limit"))

    def receive_hint(self, hint: Hint, now: float) -> list[Effect]:
        """Receive what another source says about the failed model call of an open turn."""
        return reporting.read_hint(self.at(now), hint)

    def receive_silence(self, cause: SilenceCause | None, now: float) -> None:
        """Receive why the only open turn is silent, as the system shows it; `None`: unknown.

        It appears in a remark and, once the turn has run out of time, in the failure. It never ends
        a turn.
        """
        clocks.note_silence(self.at(now), cause)

    def receive_spending(self, spent: Spent, now: float) -> list[Effect]:
        """Receive the totals that count towards the user's limit (`effects.Spend`)."""
        return updates.receive_spending(self.at(now), spent)

    def expects_hints(self, *, present: bool) -> None:
        """Receive whether there are such sources.

        If there are, an answer that does not state the cause of its failure waits for them briefly.
        """
        self.link.expect_hints(present=present)

    def silent_turns(self, now: float, seconds: float) -> list[SilentTurn]:
        """Return the turns at work that have been silent this long; this moves no deadline."""
        return reporting.silent_turns(self.link.at(now), seconds)

    def looked(self, now: float) -> list[Effect]:
        """Note that the shell has looked at its sources after receiving a message.

        An answer that waits only for that passes now, or is a failure. Without this call, it is
        decided at the next `handle_timeout`.
        """
        return clocks.looked(self.at(now))

    def receive_report(self, request_id: bytes, word: HandlerReport, now: float) -> list[Effect]:
        """Receive what a handler in this process reports about its request."""
        return agent_side.receive_report(self.at(now), request_id, word)

    def receive_eof(self, side: Side, cause: Verdict | None, now: float) -> list[Effect]:
        """Note that a side is gone for good; `cause` says how the agent ended.

        A client that leaves like this has cancelled its turns. Use `client_detached` for a client
        that may come back.
        """
        link = self.at(now)
        if side is Side.CLIENT:
            link.note_presence(Presence.LEFT)
            return ending.client_left(link)
        verdict = cause or failures.hung_up(link)
        effects: list[Effect] = []
        if any(turn.waits_for_look(link.now) for turn in link.open_turns()):
            # The agent answered before it ended, so its end is not the cause of a failure.
            effects += clocks.looked(link)
        error = link.pop_withheld_error()
        if error is not None:
            # It was the agent's last message: nothing can contradict its assignment now.
            named = error.frame.message.request_id == error.request_id
            effects += agent_side.with_request_id(link, error.frame, error.request_id, waited=named)
        return [
            *effects,
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

    def client_detached(self, now: float) -> list[Effect]:
        """Note that the client's side is empty for now; the link continues without it.

        Open turns and their clocks continue, except where a question to the user is open: the
        question stays open for whoever attaches. The shell keeps what is sent to the client.
        """
        link = self.at(now)
        is_news = link.note_presence(Presence.DETACHED)
        return [entries.record(link, Kind.CLIENT_DETACHED)] if is_news else []

    def client_attached(self, now: float) -> list[Effect]:
        """Note that somebody is attached again, acting for the client that sent `initialize`.

        Nothing is sent again: the shell has kept missed frames and open questions.
        """
        link = self.at(now)
        return [client_side.attached(link)] if link.note_presence(Presence.ATTACHED) else []

    def another_follows(self, cause: Verdict | None) -> bool:
        """Return whether another agent will follow one that ended like this and had run."""
        never_ran = cause is not None and cause.reason == failures.SPAWN_FAILED
        return self.link.restarts and not never_ran

    def withheld_frames(self) -> list[Effect]:
        """Return the frames held back now, for a link that continues without the core."""
        link = self.link
        frames: list[Effect] = []
        for session in link.sessions.values():
            frames += [
                Send(Side.CLIENT, turn.withheld.line) for turn in session.turns if turn.withheld
            ]
            frames += [Send(Side.AGENT, prompt.frame.line) for prompt in session.waiting]
            again = [turn.resendable for turn in session.turns if turn.state is State.WAITING]
            frames += [Send(Side.AGENT, prompt.line) for prompt in again if prompt is not None]
        if link.withheld_error is not None:
            frames.append(Send(Side.CLIENT, link.withheld_error.frame.line))
        return frames

    def next_timeout(self) -> float | None:
        """Return the latest moment at which `handle_timeout` is to be called next.

        It may be early: progress moves deadlines without a new call of this method.
        """
        if not self._due_computed:
            self._due = clocks.next_timeout(self.link)
            self._due_computed = True
        return self._due

    def handle_timeout(self, now: float) -> list[Effect]:
        link = self.at(now)
        effects: list[Effect] = []
        if link.options.continue_at_reset_seconds:
            for session in list(link.sessions.values()):
                # The wait for a limit may have lasted longer than the user allows.
                if any(resend.is_too_late(link, turn) for turn in session.turns):
                    effects += ending.give_up_wait(link, session)
        for prompt in ending.due_prompts(link) if link.options.tries_again else ():
            sent = client_side.receive(link, prompt)
            effects += forwarded_as(sent, Send(Side.AGENT, prompt.line))
        return effects + clocks.handle(link)

    def stored_wait(self, session_id: str) -> StoredWait | None:
        """Return a session's wait for the end of a limit, for another process to continue with."""
        session = self.link.sessions.get(session_id)
        turns = session.turns if session is not None else []
        return next((stored for turn in turns if (stored := resend.stored_wait(turn))), None)

    def resume_wait(self, prompt: jsonrpc.Frame, stored: StoredWait, now: float) -> list[Effect]:
        """Continue such a wait, and its prompt, in a session that the agent has again."""
        return prompts.resume_wait(self.at(now), prompt, stored)

    def replay(self, past: Iterable[PastLine], turns: int) -> list[Effect]:
        """Receive lines from before this process took over the link; return what to record.

        Nothing is sent again.

        Args:
            past: The lines that still matter, in order.
            turns: How many turns there have been.
        """
        effects: list[Effect] = []
        for each in past:
            if each.turn:
                self.link.count_turns(each.turn - 1)
            effects += self.receive(each.side, jsonrpc.decode(each.line), each.at)
        self.link.count_turns(turns)
        return [effect for effect in effects if isinstance(effect, Record)]

    @property
    def can_be_handed_over(self) -> bool:
        """Whether another process can continue from what both sides have sent.

        It cannot while something is held back here, or waits to be sent again; a turn that waits
        for the end of a limit is stored.
        """
        link = self.link
        pending = (link.agent_gone, link.withheld_error, link.model_requests, link.resent)
        if not link.initialized or link.ends_agent or any(pending):
            return False
        if any(session.waiting for session in link.sessions.values()):
            return False
        return all(
            turn.withheld is None and (turn.state in _AT_AGENT or resend.stored_wait(turn))
            for turn in link.open_turns()
        )

    def stand_still(self, seconds: float) -> None:
        """Note that the link stood still this long (a blocking client, a stopped process)."""
        self._due_computed = False
        self.link.stand_still(seconds)

    @property
    def idle(self) -> bool:
        link = self.link
        waiting = any(session.waiting for session in link.sessions.values())
        return not link.from_client and not link.open_turns() and not waiting

    @property
    def agent_name(self) -> str | None:
        """The agent's own name, or `None` before it has answered `initialize`."""
        return self.link.agent.name if self.link.initialized else None

    def stderr_tail(self) -> str:
        """Return the end of the agent's stderr, only from open turns if there are any."""
        marks = [turn.evidence.stderr_mark for turn in self.link.open_turns()]
        return self.link.stderr.tail(min(marks, default=0))

    def at(self, now: float) -> Link:
        """Return the link at this moment, for an action that no frame asked for."""
        self._due_computed = False
        return self.link.at(now)

    def _stop_all(self, verdict: Verdict) -> list[Effect]:
        effects: list[Effect] = []
        for session in list(self.link.sessions.values()):
            effects += ending.stop_session(self.link, session, Event.STOP, verdict)
        return effects


_AT_AGENT = frozenset({State.SENT, State.RUNNING, State.CANCELLING})

_SETS_NO_NEAR_DEADLINE = frozenset(
    {
        Kind.PROMPT,
        Kind.FIRST_PROGRESS,
        Kind.FIRST_OUTPUT,
        Kind.TOOL_STARTED,
        Kind.TOOL_ENDED,
        Kind.STDERR,
        Kind.ANSWER,
        Kind.COST,
    }
)


def _passes_untouched(effects: list[Effect]) -> bool:
    """Return whether the frame passes without setting anything due sooner than any limit."""
    if not effects or effects[-1] is not FORWARD:
        return False
    # Its entries come before the frame.
    for effect in effects[:-1]:
        if not isinstance(effect, Record) or effect.entry.kind not in _SETS_NO_NEAR_DEADLINE:
            return False
    return True
