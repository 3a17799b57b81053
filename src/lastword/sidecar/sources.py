"""The sources besides the pipes: an agent's journals, events and runtime, and when to look at them.

Owns the schedule: every second while an open turn has been silent for a second or more, and before
one of the core's timers takes effect; and what a look may cost. A look at all sessions is made in
slices of a few milliseconds, between which frames pass, and looks take at most a hundredth of the
time. Sources are loaded when the agent is ready: an event stream does not report the past, and the
size of a journal at the prompt decides what is new. If a source fails, the session continues
without it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lastword.core.link.evidence import TurnId
from lastword.core.link.facts import Cause
from lastword.core.timeline.entry import Kind
from lastword.sidecar import late_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from lastword.core.link.effects import Effect
    from lastword.core.link.evidence import Hint
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.failopen import FailOpen
    from lastword.core.timeline.entry import Entry
    from lastword.observer.requests import ModelRequests
    from lastword.quirks.journals import JournalRow
    from lastword.sidecar.agent_start import AgentStart
    from lastword.sidecar.child import Console
    from lastword.sidecar.event_stream import EventStream
    from lastword.sidecar.journals import Journals
    from lastword.sidecar.loop import PollLoop
    from lastword.sidecar.own_logs import OwnLogs
    from lastword.sidecar.silence import SilenceLooks

SILENT_SECONDS = 1.0
"""How long a turn is silent before the first look, and the time between looks."""

PENDING_SECONDS = 0.2
"""The same before a timer: the core delays the end of a turn without a clear cause by 0.25 s, so
that a look can be made first."""

SLICE_SECONDS = 0.002
"""How long a look may delay the next frame; its last step may take as long again."""

PAUSE_SECONDS = 0.0005
LOADING_SECONDS = 0.005
LOADING_SHARE = 0.25
"""How long to wait before checking again for modules that a thread loads: at first, and as a share
of the time so far, since every check takes the interpreter from the thread."""

FIND_SECONDS = 0.02
"""The time between searches for the files of new prompts: many prompts share one search."""

SHARE = 0.01
"""Looks take at most this share of the time."""

MAX_CREDIT_SECONDS = 0.05
MAX_CHARGE_SECONDS = 0.005
MAX_DEBT_SECONDS = 0.1
"""A look before a timer is made even beyond the share, up to this debt."""

TIMER_SECONDS = 0.5
"""How much processor time the look before a timer may take; on a busy machine that is longer by the
clock."""

READY_SHARE = 0.25
"""The share of a silence after which the modules for its end are loaded, which takes long on a busy
machine."""

MAX_CONNECTIONS = 3
"""How often an agent's stream is requested: one that always ends is not an event stream."""

_BEGINNINGS = frozenset({Kind.AGENT_READY, Kind.PROMPT})


class LookBudget:
    """The time that looks may take: a share of the time that passes."""

    __slots__ = ("_at", "seconds")

    def __init__(self) -> None:
        self.seconds: float = MAX_CREDIT_SECONDS
        """The time that may be spent; negative if too much was."""
        self._at = time.monotonic()

    def spend(self, seconds: float) -> None:
        """Account for a look."""
        now = time.monotonic()
        earned = (now - self._at) * SHARE
        self._at = now
        # Only loading a module takes longer, and that happens once.
        spent = min(seconds, MAX_CHARGE_SECONDS)
        self.seconds = min(self.seconds + earned, MAX_CREDIT_SECONDS) - spent

    @property
    def wait_seconds(self) -> float:
        """Return how long to wait before the next look."""
        return max(0.0, -self.seconds / SHARE)


class Sources:
    """The sources of evidence about a silent agent."""

    __slots__ = (
        "_agent",
        "_budget",
        "_connection",
        "_connections",
        "_console",
        "_events",
        "_failures",
        "_has_request_open",
        "_is_fresh",
        "_journals",
        "_looking",
        "_loop",
        "_marked",
        "_note_entry",
        "_own_journals",
        "_requests",
        "_searched_at",
        "_silences",
        "_start",
        "_timer_spent",
        "_tree_cause",
        "due",
    )

    def __init__(  # noqa: PLR0913 - what a run has
        self,
        connection: FailOpen,
        loop: PollLoop,
        start: AgentStart,
        console: Console,
        note: Callable[[Entry], None],
        *,
        enabled: bool,
        own_journals: Sequence[JournalRow] = (),
    ) -> None:
        self._own_journals = own_journals
        self._connection = connection
        self._loop = loop
        self._console = console
        self._note_entry = note
        self._start: AgentStart | None = start if enabled else None
        self._journals: Journals | OwnLogs | None = None
        self._agent: str | None = None
        """The name of the agent whose journals these are."""
        self._events: EventStream | None = None
        self._requests: ModelRequests | None = None
        """The requests that the agent's runtime has reported, if any."""
        self._silences: SilenceLooks | None = None
        self._tree_cause: SilenceCause | None = None
        """The cause that the last look at the agent's processes found."""
        self._has_request_open = False
        """Whether at the last look the turn waited for a request."""
        self._failures = late_modules.LateModules(late_modules.FAILURE)
        self._connections: dict[int, int] = {}
        """How often the stream at a port was requested."""
        self._budget = LookBudget()
        self._searched_at = 0.0
        """The time of the last search for the files of new turns."""
        self._looking: Generator[Hint | None] | None = None
        """The rest of a look that was interrupted."""
        self._marked: set[tuple[str, float]] = set()
        """The open turns for which file sizes were stored."""
        self._timer_spent: float | None = None
        """How much processor time a look that a timer waits for has taken; `None` for no timer."""
        self._is_fresh = True
        """Whether the current look began after the timer was due."""
        self.due: float | None = None
        """When to look; `None` while no turn is open."""
        connection.expects_hints(present=enabled)

    def note(self, kind: Kind, now: float) -> None:
        """Note that an agent is ready, or that a turn begins."""
        if kind is Kind.AGENT_STARTED:
            self._requests = None
        if self._start is None or kind not in _BEGINNINGS:
            return
        if kind is Kind.AGENT_READY:
            self._start.note_ready()
        if kind is Kind.AGENT_READY or (self._start.port is not None and self.fd < 0):
            # As soon as the current frame has passed.
            self.due = now
        elif self.due is None:
            self.due = now + SILENT_SECONDS
        if kind is Kind.PROMPT:
            began = time.thread_time()
            try:
                self._mark(now)
                self._budget.spend(time.thread_time() - began)
            except Exception as error:  # noqa: BLE001 - a session continues without evidence
                self._without(error)

    def is_due(self, now: float) -> bool:
        return self.due is not None and self.due <= now

    def look(self, now: float, *, for_timer: bool = False) -> bool:
        """Look for news about turns that are silent, or that a timer may end.

        Returns:
            Whether the look is over. Otherwise it continues at the next call, which is due at once.
        """
        if self._start is None:
            return True
        began = time.thread_time()
        try:
            over = self._look_for_timer(now) if for_timer else self._look(now, SILENT_SECONDS)
        except Exception as error:  # noqa: BLE001 - a session continues without evidence
            self._without(error)
            return True
        spent = time.thread_time() - began
        self._budget.spend(spent)
        if not for_timer:
            # If a timer was waiting for this look, it is no longer due.
            self._timer_spent = None
        elif self._timer_spent is not None:
            self._timer_spent += spent
        if self.due is not None and not self.holds_timer:
            self.due = max(self.due, now + self._budget.wait_seconds)
        return over

    def look_at_end(self, now: float) -> list[Effect]:
        """Look before an answer passes that waits only for this; return the effects.

        There are none yet if the look takes longer, or needs modules that are not loaded. It then
        continues as a look before a timer, since the answer is due at once.
        """
        turns = self._connection.silent_turns(now, 0.0)
        answered = [turn for turn in turns if turn.answered]
        if not answered:
            return []
        if self._start is not None:
            began = time.thread_time()
            over = True
            try:
                if self._journals is not None and self._budget.seconds >= -MAX_DEBT_SECONDS:
                    if self._looking is None:
                        self._looking = self._journals.look(turns, answered)
                        self._continue_look(now)
                    over = self._looking is None
            except Exception as error:  # noqa: BLE001 - as in `look`
                self._without(error)
                over = True
            self._budget.spend(time.thread_time() - began)
            if not over or (any(turn.unread for turn in answered) and not self._failures.loaded()):
                return []
        return self._connection.looked(now)

    @property
    def holds_timer(self) -> bool:
        """Return whether a timer waits for the end of a look."""
        return self._timer_spent is not None

    def _look_for_timer(self, now: float) -> bool:
        """Look before a timer takes effect, within bounds; return whether the look is over."""
        if self._timer_spent is None:
            if self._budget.seconds < -MAX_DEBT_SECONDS:
                return True
            self._timer_spent, self._is_fresh = 0.0, self._looking is None
        if not self._failures.loaded():
            # The timer's effect has to be put into words.
            self._wait_for_modules(now)
            return False
        over = self._look(now, PENDING_SECONDS, for_timer=True)
        if over and not self._is_fresh:
            # Only an earlier look is over: begin one for the timer.
            self._is_fresh, over = True, False
            self.due = now + PAUSE_SECONDS
        if over or self._timer_spent > TIMER_SECONDS:
            self._timer_spent = None
        return self._timer_spent is None

    def _wait_for_modules(self, now: float) -> None:
        loading_seconds = now - late_modules.LateModules.began_at
        self.due = now + max(LOADING_SECONDS, loading_seconds * LOADING_SHARE)

    def _look(self, now: float, seconds: float, *, for_timer: bool = False) -> bool:
        """Look for a slice of time, beginning if needed; return whether the look is over."""
        self._look_at_events(now)
        self._look_at_requests(now)
        if self._looking is None:
            self._looking = self._steps(now, seconds)
        if self._continue_look(now):
            self._look_at_processes(now, seconds, for_timer=for_timer)
        turns = self._connection.silent_turns(now, 0.0)
        if late_modules.LateModules.in_progress and self._looking is not None:
            self._wait_for_modules(now)
        elif self._looking is not None:
            self.due = now + PAUSE_SECONDS
        elif turns:
            silent_since = min(turn.silent_since for turn in turns)
            first = silent_since + SILENT_SECONDS
            self.due = first if first > now else now + SILENT_SECONDS
            timer = self._connection.next_timeout()
            if timer is not None and (timer - silent_since) * READY_SHARE < now - silent_since:
                self._failures.loaded()
        else:
            self.due = None
        self._wake_for_requests()
        return self._looking is None

    def _steps(self, now: float, seconds: float) -> Generator[Hint | None]:
        name, start, journals = self._connection.agent_name, self._start, self._journals
        if journals is None or name != self._agent:
            # Loaded once the agent is ready: its start does not need them.
            yield from late_modules.load_here(late_modules.JOURNALS)
            from lastword.sidecar.journal_files import Attributions  # noqa: PLC0415
            from lastword.sidecar.journals import Journals  # noqa: PLC0415

            attributions = Attributions(lambda: 0 if start is None else start.group)
            command = () if start is None else start.command
            journals = Journals(
                name, os.environ, attributions, own=self._own_journals, command=command
            )
            if not journals:
                # Loaded for an agent without a row.
                from lastword.sidecar.own_logs import OwnLogs  # noqa: PLC0415

                yield None
                journals = OwnLogs(name, os.environ, attributions, *command[:1])
            yield None
            self._agent, self._journals = name, journals
            self._connection.expects_hints(present=bool(journals) or self.fd >= 0)
        self._mark(now)
        self._searched_at = now
        turns = self._connection.silent_turns(now, 0.0)
        silent = [turn for turn in turns if turn.answered or turn.silent_since + seconds <= now]
        if silent:
            yield from late_modules.load(late_modules.SILENCE)
        yield from journals.look(turns, silent)

    def _continue_look(self, now: float) -> bool:
        """Take steps of the current look for a slice of time; return whether it is over."""
        end = time.perf_counter() + SLICE_SECONDS
        for hint in self._looking or ():
            if hint is not None:
                self._apply([hint], now)
            if late_modules.LateModules.in_progress or time.perf_counter() >= end:
                return False
        self._looking = None
        return True

    def _mark(self, now: float) -> None:
        """Store the sizes of files at a prompt; unknown files are searched for soon."""
        turns = self._connection.silent_turns(now, 0.0)
        for turn in turns:
            is_new = (turn.session_id, turn.began_at) not in self._marked
            if is_new and self._journals is not None and not self._journals.mark(turn):
                soon = max(now + PAUSE_SECONDS, self._searched_at + FIND_SECONDS)
                self.due = soon if self.due is None else min(self.due, soon)
        self._marked = {(turn.session_id, turn.began_at) for turn in turns}

    def _look_at_processes(self, now: float, seconds: float, *, for_timer: bool) -> None:
        silent = self._connection.silent_turns(now, seconds)
        if not silent:
            return
        turn = TurnId.of(silent)
        inside = None if turn is None else self._requests
        request_cause = None if inside is None else inside.silence(turn)
        looked = False
        if self._silences is None and late_modules.LateModules(late_modules.SILENCE).loaded():
            # Loaded at the first silence, as the journals are.
            from lastword.sidecar.silence import SilenceLooks  # noqa: PLC0415

            self._silences = SilenceLooks()
        if self._silences is not None and self._start is not None and self._start.group:
            start = self._start
            looked = self._silences.is_due(now, for_timer=for_timer)
            if looked:
                self._tree_cause = self._silences.look(start.group, silent, now, port=start.port)
        is_over = self._has_request_open and request_cause is None
        self._has_request_open = request_cause is not None
        if not (looked or request_cause or is_over):
            return
        tree_cause = self._tree_cause
        cause = request_cause or (tree_cause if looked else None)
        if request_cause and tree_cause and tree_cause.cause is Cause.TOOL:
            # If a program was started after the request, the turn waits for the program.
            cause = max(request_cause, tree_cause, key=lambda each: each.since)
        if cause is None and inside is not None:
            cause = inside.idleness(turn, now)
        self._connection.receive_silence(cause, now)

    def _apply(self, hints: Sequence[Hint], now: float) -> None:
        for hint in hints:
            self._loop.relay.apply(self._connection.receive_hint(hint, now))

    # --- the stream of events

    @property
    def fd(self) -> int:
        """Return the event stream's descriptor, or -1."""
        return -1 if self._events is None else self._events.fd

    @property
    def poll_events(self) -> int:
        return 0 if self._events is None else self._events.poll_events

    def ready(self, now: float) -> None:
        """Read from the event stream."""
        try:
            if self._events is not None:
                self._apply(self._events.ready(now), now)
        except Exception as error:  # noqa: BLE001 - as in `look`
            self._without(error)

    def close(self) -> None:
        """Close the stream and the pipe: an agent may wait for this before it exits."""
        if self._events is not None:
            self._events.close()
        if self._start is not None and self._start.observer is not None:
            self._start.observer.close()

    # --- the agent's runtime

    @property
    def observer_fd(self) -> int:
        """Return the descriptor of the pipe on which the runtime reports, or -1."""
        observer = None if self._start is None else self._start.observer
        return -1 if observer is None else observer.fd

    def read_observer(self, now: float, *, early: bool = False) -> None:
        """Read what the runtime has reported; `early`: before output of the agent is handled."""
        try:
            observer = None if self._start is None else self._start.observer
            lines = observer.read() if observer is not None else []
            if lines and self._requests is None:
                # Loaded for an agent that is observed: it has just started.
                from lastword.observer.requests import ModelRequests  # noqa: PLC0415

                self._requests = ModelRequests()
            # Called for all of the agent's output: mostly there is nothing to do.
            if self._requests is not None and (lines or self._requests.due is not None):
                turn = TurnId.of(self._connection.silent_turns(now, 0.0))
                for line in lines:
                    self._apply(self._requests.receive(line, now, turn), now)
                self._look_at_requests(now)
                if early:
                    self._apply(self._requests.look_early(turn), now)
                self._wake_for_requests()
        except Exception as error:  # noqa: BLE001 - as in `look`
            self._without(error)

    def _look_at_requests(self, now: float) -> None:
        if self._requests is None:
            return
        turns = self._connection.silent_turns(now, 0.0)
        self._apply(self._requests.look(now, TurnId.of(turns)), now)
        for entry in self._requests.entries(turns):
            self._note_entry(entry)

    def _wake_for_requests(self) -> None:
        due = None if self._requests is None else self._requests.due
        if due is not None and (self.due is None or due < self.due):
            self.due = due

    def _look_at_events(self, now: float) -> None:
        if self._events is not None:
            self._events.look(now)
        port = None if self._start is None else self._start.port
        if port is None or self._start is None or self.fd >= 0:
            return
        count = self._connections.get(port, 0)
        if count >= MAX_CONNECTIONS:
            return
        # Loaded for an agent that serves events.
        from lastword.platform.process_tree import listens  # noqa: PLC0415
        from lastword.sidecar.event_stream import EventStream  # noqa: PLC0415

        own = listens(port, self._start.group)
        if own is None:
            return
        self._connections = {port: count + 1}
        if not own:
            return
        try:
            self._events = EventStream(port, now)
        except OSError:
            return

    def _without(self, error: Exception) -> None:
        self._start = self.due = self._looking = self._timer_spent = None
        self.close()
        self._connection.expects_hints(present=False)
        self._console.say(f"the agent's logs are no longer read ({type(error).__name__})")
