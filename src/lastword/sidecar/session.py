"""The sidecar's session: a client on the standard streams, an agent in a child process.

Owns the life of the session, from the agent's start through its exit to the sidecar's own, and
the messages about it on stderr. It is loaded while the agent is already starting.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.core.link.connection import Connection
from lastword.core.link.effects import Kill, Side
from lastword.core.link.failopen import FailOpen
from lastword.core.timeline.entry import TERMINAL, Entry, Kind
from lastword.platform import pipes
from lastword.platform.process import Exit, guardian_of
from lastword.platform.signals import ENDING, PASSED
from lastword.sidecar.child import CLOSED_GRACE_SECONDS, PIPE_GRACE_SECONDS, Child, Console
from lastword.sidecar.loop import Descriptors, PollLoop
from lastword.sidecar.sources import Sources

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.options import LinkOptions
    from lastword.platform.process import Agent, Guardian
    from lastword.platform.signals import Inbox
    from lastword.quirks.journals import JournalRow
    from lastword.record.recorder import Recorder
    from lastword.sidecar.agent_start import AgentStart
    from lastword.sidecar.frames import Frames
    from lastword.sidecar.spend_ledger import SpendLedger

DRAIN_SECONDS = 1.0
"""How long the agent's stdout is read after its exit, if another process holds it open."""

FIRST_MESSAGE_SECONDS = 2.0
"""How long we wait for the client's first message if the agent ends before it; and, after an agent
left with status 0 between turns, for what the client sends before it knows."""

FLUSH_SECONDS = 5.0
"""How long a client that does not read may delay our end."""

SIGNALLED_FLUSH_SECONDS = 0.5
"""The same when a signal asked us to stop: its sender kills us soon after."""

LEDGER_SECONDS = 5.0
"""How long other processes that write their costs may delay our end."""

STDERR_FLUSH_SECONDS = 0.5
"""How long a stalled reader of our stderr may delay our end."""

_LAST_STDERR_READS = 16
"""A pipe's worth: what a dead agent left there. Another process may write forever."""


class Settings(msgspec.Struct, frozen=True):
    """The command line's settings beyond the core's options."""

    start: AgentStart
    line_limit_bytes: int
    verbose: bool = False
    own_journals: tuple[JournalRow, ...] = ()
    spend_folder: str = ""
    """The folder of the spending ledger; empty for none."""


class Sidecar:
    """One run: an agent, its client, and the end of both."""

    def __init__(  # noqa: PLR0913 - six options is our own limit
        self,
        settings: Settings,
        options: LinkOptions,
        *,
        agent: Agent | None,
        guardian: Guardian | None,
        inbox: Inbox,
        recorder: Recorder | None = None,
    ) -> None:
        self._settings = settings
        self._recorder = recorder
        self._child = Child(agent, guardian)
        self._past: list[Child] = []
        """Agents that have ended, while processes they left behind have not."""
        self._console = Console(verbose=settings.verbose)
        self._connection = FailOpen(Connection(options), self._console.report)
        self._loop: PollLoop = self._open_loop(inbox.fd)
        self._console.stderr.share(self._loop.to_client)
        self._inbox = inbox
        self._client_lost = False
        self._sources = Sources(
            self._connection,
            self._loop,
            settings.start,
            self._console,
            self._note,
            enabled=options.evidence != "wire",
            own_journals=settings.own_journals,
        )
        self._loop.beside = self._sources
        self._loop.relay.before_end = self._sources.look_at_end
        self._ledger: SpendLedger | None = None
        self._ledger_problem: str | None = None
        if settings.spend_folder:
            # Loaded where spending is limited.
            from lastword.sidecar.spend_ledger import SpendLedger  # noqa: PLC0415

            self._ledger = SpendLedger(settings.spend_folder)
            self._loop.before_client = self._look_at_ledger
            self._loop.relay.spend = self._ledger.add
        self._finish_by: float | None = None
        self._has_session = False
        self._ended_idle = False

    def _open_loop(self, wake: int) -> PollLoop:
        """Return the loop, with the client on the standard streams."""
        self._stdout_blocked = pipes.prepare_output(1)
        return PollLoop(
            self._connection,
            Descriptors(client=(0, 1), agent=self._child.descriptors, wake=wake),
            self._console,
            self._note,
            line_limit_bytes=self._settings.line_limit_bytes,
        )

    def _note(self, entry: Entry) -> None:
        self._has_session = self._has_session or entry.kind is Kind.SESSION_CREATED
        self._console.record(entry)
        self._sources.note(entry.kind, entry.at_seconds)
        if self._recorder is not None:
            try:
                self._recorder.record(entry)
                if entry.kind in TERMINAL:
                    # The end must be on disk even if the client kills us at the answer.
                    self._recorder.flush()
            except Exception as error:  # noqa: BLE001 - a session continues without its record
                self._without_record(error)

    def _without_record(self, error: Exception) -> None:
        self._recorder = None
        self._console.say(f"recording has stopped ({type(error).__name__}: {error})")

    def write_frames(self, frames: Frames) -> None:
        """Write the messages of both sides to a file."""

        def note(
            sender: Side | None, block: bytes, to_client: list[bytes], to_agent: list[bytes]
        ) -> None:
            try:
                frames.note(sender, block, to_client, to_agent)
            except Exception as error:  # noqa: BLE001 - a session continues without the file
                self._loop.relay.frames = None
                self._console.say(f"the file of frames ends here ({error})")

        self._loop.relay.frames = note

    def _agent_runs(self, now: float) -> None:
        program = os.path.basename(self._settings.start.command[0])
        self._note(Entry(kind=Kind.AGENT_STARTED, at_seconds=now, facts={"program": program}))

    def refuse(self, error: OSError) -> None:
        """Answer every request with the reason that the agent could not be started."""

        def cause() -> Verdict:
            # Loaded at the first failure: a healthy start does not need it.
            from lastword.core.classify import classify_spawn_failure  # noqa: PLC0415

            program = error.filename or self._settings.start.command[0]
            return classify_spawn_failure(error.errno or 0, program)

        now = self._child.over_at = time.monotonic()
        self._loop.relay.apply(self._connection.receive_eof(Side.AGENT, cause, now))

    def run(self) -> Exit | None:
        """Relay until the session is over; return how the agent ended."""
        now = self._begin()
        # One time for a whole round: what was not due when it was checked is waited for.
        while not self._finished(now):
            self._loop.wait(self._wake_at(now))
            now = time.monotonic()
            self._round(now)
        return self._end()

    def _begin(self) -> float:
        """Note the agent's start; return the time."""
        now = time.monotonic()
        if self._child.agent is not None:
            self._agent_runs(now)
        return now

    def _round(self, now: float) -> None:
        """Do what is due, now that the loop has moved the available bytes."""
        signals = self._inbox.drain()
        for number in signals:
            agent = self._child.agent
            if number in PASSED and agent is not None and agent.exit is None:
                agent.signal_group(number)
            elif number in ENDING:
                name = signal.Signals(number).name
                self._note(Entry(kind=Kind.SHUTDOWN, at_seconds=now, facts={"signal": name}))
                self._lose_client(now)
                self._child.stop.pass_signal(number, now)
        if self._loop.is_clock_due(now):
            # A timer ends a turn without any other evidence: look for evidence first.
            if self._sources.look(now, for_timer=True):
                self._loop.relay.apply(self._connection.handle_timeout(now))
        elif self._sources.is_due(now):
            self._sources.look(now)
        self._look_at_client(now)
        # A look costs a system call: without a signal, the pipes show whether it is due.
        child = self._child
        gone = child.exit_noticed_at is not None or child.stop.given_up(now)
        if signals or gone or not self._loop.talking:
            self._look_at_agent(now)
        if self._loop.relay.orders:
            self._carry_out_orders(now)
        if self._ledger is not None:
            spent, before = self._ledger.tend(now), self._ledger_problem
            # It may also have been found by the look before the client's bytes.
            problem = self._ledger_problem = self._ledger.problem
            if before is None and problem is not None:
                self._console.say(f"spending is counted in this process alone: {problem}")
            if spent is not None:
                # All processes together may have reached the limit.
                self._loop.relay.apply(self._connection.receive_spending(spent, now))
        self._child.tidy(now)
        if self._past:
            self._past = [child for child in self._past if not child.tidy(now)]
        if self._recorder is not None:
            try:
                self._recorder.flush()
                if signals:
                    self._recorder.tend()
            except Exception as error:  # noqa: BLE001 - a session continues without its record
                self._without_record(error)

    def _end(self) -> Exit | None:
        """Release everything, since nothing of the agent is left; return how it ended."""
        for child in (self._child, *self._past):
            child.stop.finish()
            child.dismiss_guardian()
        self._sources.close()
        self._close_ledger(LEDGER_SECONDS)
        self._release_client()
        if self._recorder is not None:
            self._recorder.close()
        return self._child.agent.exit if self._child.agent else None

    def _guardian_of(self, agent: Agent) -> Guardian | None:
        return guardian_of(agent)

    def _release_client(self) -> None:
        pipes.release_output(1, self._stdout_blocked, FLUSH_SECONDS)

    def _close_ledger(self, seconds: float) -> None:
        ledger = self._ledger
        if ledger is not None and not ledger.close(seconds):
            why = ledger.problem or "another process has locked it"
            stderr = self._console.stderr
            is_read = not stderr.pending
            self._console.say(f"the last costs are missing in the ledger of spending: {why}")
            if is_read:  # the loop is over
                stderr.flush()

    def _look_at_ledger(self, now: float) -> None:
        """Read what others have spent, before the client's next messages are handled."""
        spent = self._ledger.look() if self._ledger is not None else None
        if spent is not None:
            self._loop.relay.apply(self._connection.receive_spending(spent, now))

    def _carry_out_orders(self, now: float) -> None:
        """Stop the agent's process, or start another, as the core requests."""
        for order in self._loop.relay.drain_orders():
            child = self._child
            if isinstance(order, Kill):
                if child.over_at is None:
                    child.stop.replaced(now)
                continue
            if child.over_at is None or self._client_lost:
                continue
            self._console.say("starting the agent again")
            self._loop.detach_agent()
            child.close()
            if child.stop.group_left:
                self._past.append(child)
            else:
                child.dismiss_guardian()
            try:
                agent = self._settings.start.spawn()
            except OSError as error:
                self._child = Child(None, None)
                self._console.say(f"the agent could not be started: {error.strerror or error}")
                self.refuse(error)
                continue
            self._child = Child(agent, self._guardian_of(agent))
            self._ended_idle = False
            self._loop.attach_agent((agent.stdin, agent.stdout, agent.stderr))
            self._agent_runs(now)
            self._loop.relay.apply(self._connection.agent_started(now))

    def _look_at_client(self, now: float) -> None:
        loop = self._loop
        if loop.to_client.broken:
            loop.client_open = False
            failure, loop.to_client.failure = loop.to_client.failure, None
            if failure is not None:
                self._console.say(f"cannot write to the client: {failure.strerror}")
        if loop.client_open:
            return
        self._lose_client(now)
        # The agent still reads what the client sent before it left.
        if loop.to_agent is not None and not loop.to_agent.pending_bytes:
            loop.to_agent.close()
        self._child.stop.after(CLOSED_GRACE_SECONDS, now)

    def _lose_client(self, now: float) -> None:
        if not self._client_lost:
            self._client_lost = True
            self._sources.close()
            self._loop.relay.apply(self._connection.receive_eof(Side.CLIENT, None, now))

    def _look_at_agent(self, now: float) -> None:
        child, loop = self._child, self._loop
        if child.agent is None or child.over_at is not None:
            return
        exit_ = child.look_for_exit(now)
        if exit_ is None and child.stop.given_up(now):
            self._agent_ended(Exit(None, None), now)
            return
        if exit_ is None or child.exit_noticed_at is None:
            deaf = loop.to_agent is not None and loop.to_agent.broken
            if deaf or not loop.agent_open:
                # It runs but can no longer be reached, which counts as gone.
                child.stop.after(PIPE_GRACE_SECONDS, now)
            return
        # What was in its pipe when it died is its own. Later output is from another process that
        # holds the pipe open; we wait for that briefly, and only if a request is open.
        while loop.agent_open and child.last_bytes > 0 and not loop.to_client.full:
            child.last_bytes -= loop.read_agent(now) or child.last_bytes
        if child.last_bytes > 0 and loop.agent_open and not self._client_lost:
            return
        while loop.agent_open and not loop.to_client.full and loop.read_agent(now):
            if time.monotonic() > child.exit_noticed_at + DRAIN_SECONDS:
                break
        # What the agent itself wrote has been read. More may come only to complete a cut line, or
        # from the program behind a launcher that exited with status 0.
        may_continue = exit_.clean or loop.holds_part
        late = now - child.exit_noticed_at >= DRAIN_SECONDS
        over = not may_continue or late or self._connection.idle
        if not loop.agent_open or over or self._client_lost:
            self._agent_ended(exit_, now)

    def _agent_ended(self, exit_: Exit, now: float) -> None:
        loop = self._loop
        for _ in range(_LAST_STDERR_READS):
            if not loop.stderr_open or not loop.read_stderr(now):
                break
        loop.last_line(now)
        loop.stderr.end_line()
        loop.agent_open = loop.stderr_open = False
        stop = self._child.stop
        self._child.over_at = now
        needed = not self._connection.idle

        def cause() -> Verdict | None:
            # Loaded once an agent has ended: a healthy turn does not need it.
            from lastword.core.classify import classify_exit, own_failure, writers  # noqa: PLC0415

            # If it exited as it should, or we ended it, its status reports no failure.
            if stop.signalled:
                return own_failure(ErrorType.AGENT_CRASH, "told_to_stop")
            if self._client_lost and (stop.acted or exit_.clean):
                left = own_failure(ErrorType.AGENT_CRASH, "client_left")
                return msgspec.structs.replace(left, origin=Origin.CLIENT, retryable=False)
            if stop.acted:
                return None  # we ended it, because its pipes were closed
            tail = self._connection.stderr_tail()
            if self._connection.agent_name is not None:
                # Before it has a name, another program's words say why the agent did not start.
                tail = writers.without_foreign(tail)
            return classify_exit(
                exit_code=exit_.code,
                exit_signal=exit_.signal,
                stderr_tail=tail,
                in_turn=needed,
            )

        own_terms = exit_.clean and not (self._client_lost or stop.acted)
        # One that exits before there is a session has failed to start, whatever its status is.
        self._ended_idle = own_terms and not needed and self._has_session
        # An agent that exits in mid-turn leaves workers, which would serve beside the next agent.
        stop.agent_ended(now, leave_group=own_terms and not needed)
        if needed or not self._client_lost:
            loop.relay.apply(self._connection.receive_eof(Side.AGENT, cause, now))
        # If our files are gone, so are the words for it.
        if not (self._client_lost or self._ended_idle or self._connection.blown):
            self._console.say(f"the agent ended: {describe(exit_)}")

    def _wake_at(self, now: float) -> float | None:
        over, exited = self._child.over_at, self._child.exit_noticed_at
        wakes = [self._child.stop.due(now), self._finish_by, self._sources.due]
        if self._ledger is not None:
            wakes.append(self._ledger.due(now, in_turn=not self._connection.idle))
        if self._past:
            wakes += [child.stop.due(now) for child in self._past]
        if over is not None:
            wakes += [over + STDERR_FLUSH_SECONDS, over + FIRST_MESSAGE_SECONDS]
        elif exited is not None:
            wakes.append(exited + DRAIN_SECONDS)
        first = None
        for wake in wakes:
            # What was due has been handled: what is left of it waits for a descriptor.
            if wake is not None and wake > now and (first is None or wake < first):
                first = wake
        return first

    def _finished(self, now: float) -> bool:
        over_at = self._child.over_at
        if over_at is None:
            return False
        loop, stop = self._loop, self._child.stop
        unheard = not loop.relay.client_spoke and (
            self._client_lost or now >= over_at + FIRST_MESSAGE_SECONDS
        )
        left = self._ended_idle and now >= over_at + FIRST_MESSAGE_SECONDS
        over = self._client_lost or left or self._connection.blown
        if not (unheard or over):
            return False
        if self._finish_by is None:
            self._finish_by = now + (SIGNALLED_FLUSH_SECONDS if stop.signalled else FLUSH_SECONDS)
            if unheard:
                # No session was begun: this was a command such as `agent --version`.
                loop.to_client.write(bytes(loop.relay.noise))
                if loop.relay.noise_cut:
                    self._console.say(
                        "the rest of its output was left out; --passthrough shows all of it"
                    )
        stderr_done = not loop.stderr.pending or now >= over_at + STDERR_FLUSH_SECONDS
        flushed = not loop.to_client.pending_bytes and stderr_done
        return now >= self._finish_by or (flushed and not stop.group_left)


_REPORTED = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"}
REPORTS = "~/Library/Logs/DiagnosticReports"
"""Where macOS writes a crash report, some seconds after the crash."""


def describe(exit_: Exit) -> str:
    """Return in words how a process ended."""
    if exit_.signal is not None:
        try:
            name = signal.Signals(exit_.signal).name
        except ValueError:
            return f"killed by signal {exit_.signal}"
        reported = sys.platform == "darwin" and name in _REPORTED
        return f"killed by {name}" + (f"; a crash report goes to {REPORTS}" if reported else "")
    if exit_.code is None:
        return "its exit status is unknown"
    from lastword.core.failure.sentences import exit_status_words  # noqa: PLC0415

    return exit_status_words(exit_.code)
