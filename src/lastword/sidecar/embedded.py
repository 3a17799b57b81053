"""The sidecar inside a program with an event loop, and with the client in that program.

Owns how asyncio drives the sidecar's rounds, and the frames on their way to the client. A bug in
the sidecar ends its agent, and not the program. `session` and `loop` decide what a round does.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
import sys
import time
import traceback
import weakref
from collections import deque
from typing import TYPE_CHECKING, ClassVar

import msgspec

from lastword.core.link.effects import PastRestarts, Record
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.platform.framing import FrameWriter
from lastword.platform.process import Agent, write_message
from lastword.sidecar.loop import Descriptors, PollLoop
from lastword.sidecar.session import LEDGER_SECONDS, Sidecar

assert sys.platform != "win32"

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lastword.core.link.effects import PastLine
    from lastword.core.link.options import LinkOptions
    from lastword.core.link.waits import StoredWait
    from lastword.core.timeline.entry import Entry
    from lastword.platform.process import Guardian
    from lastword.record.recorder import Recorder
    from lastword.sidecar.agent_start import AgentStart
    from lastword.sidecar.session import Settings

STOP_SECONDS = 15.0
"""How long the agent may take to exit; the sidecar's own limits are shorter."""

BUG_STATUS = 1
"""The status of a sidecar that a bug ended, as of a Python process that raised."""

_READ = select.POLLIN | select.POLLPRI

_OF_LIMITS = frozenset({Kind.LIMIT_WAIT, Kind.CONTINUED})


class LoopSignals:
    """The signals for one sidecar, as the event loop reports them to all of its sidecars."""

    fd = -1
    _all: ClassVar[weakref.WeakSet[LoopSignals]] = weakref.WeakSet()
    _is_noted: ClassVar[bool] = False

    def __init__(self, wake: Callable[[], object]) -> None:
        """Begin; call it in the main thread, within its event loop."""
        self._numbers: list[int] = []
        self._wake = wake
        self._all.add(self)
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._note_all)
        # When hundreds of agents end at once, not every signal fits into the loop's pipe. One is
        # enough, and Python would warn about each of the others.
        signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)

    @classmethod
    def _note_all(cls) -> None:
        """Note that processes have ended: once for all that end at the same time."""
        if not cls._is_noted:
            cls._is_noted = True
            asyncio.get_running_loop().call_soon(cls._wake_all)

    @classmethod
    def _wake_all(cls) -> None:
        cls._is_noted = False
        for each in list(cls._all):
            each.note(signal.SIGCHLD)

    def note(self, number: int) -> None:
        self._numbers.append(number)
        self._wake()

    def drain(self) -> list[int]:
        """Return the signals since the last call."""
        numbers, self._numbers = self._numbers, []
        return numbers


class FrameQueue(FrameWriter):
    """Whole frames for a client in this program, which reads them between the rounds."""

    __slots__ = ("_ready", "paused")

    def __init__(self) -> None:
        super().__init__(-1)
        self._ready: deque[bytes] = deque()
        self.paused: bool = False

    def write(self, data: bytes) -> None:
        if data and not self.closed:
            self._ready.append(data)
            if self.paused:
                self.pending_bytes += len(data)

    def pause(self, *, paused: bool) -> None:
        """Keep everything until the client reads again; meanwhile it counts as pending."""
        self.paused = paused
        self.pending_bytes: int = sum(map(len, self._ready)) if paused else 0

    def next_block(self) -> bytes | None:
        """Return what the client reads next; `None` if nothing is there, or while it is paused."""
        return None if self.paused or not self._ready else self._ready.popleft()

    def flush(self) -> None:
        """Do nothing: the client reads what is there."""

    def close(self) -> None:
        """Ignore further frames."""
        self.closed = True


class RunningAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that keeps running while this process replaces itself.

    Attributes:
        pid: its process id.
        pipes: our ends of its stdin, stdout and stderr.
        guardian: the process id and the descriptor of its guardian, if it has one.
        observer: the descriptor of the pipe on which its runtime reports; -1 for none.
        port: the port at which it serves its events, if it does.
        begun: its last line, so far incomplete.
        unsent: what it has not read yet.
        speaks_typed: it sends `agent_error` itself.
        restarts: its restarts, if there were any.
    """

    pid: int
    pipes: tuple[int, int, int]
    guardian: tuple[int, int] | None
    observer: int
    port: int | None
    begun: bytes
    unsent: bytes
    speaks_typed: bool
    restarts: PastRestarts | None

    @property
    def descriptors(self) -> list[int]:
        """Return all descriptors that the next program needs."""
        beside = [self.observer] if self.observer >= 0 else []
        return [*self.pipes, *beside, *((self.guardian[1],) if self.guardian is not None else ())]

    def adopted(self, start: AgentStart) -> Agent:
        """Return it as an agent that `start` has started."""
        agent = Agent(self.pid, *self.pipes)
        start.adopt(agent, self.observer, self.port)
        return agent


class EmbeddedLoop(PollLoop):
    """The sidecar's loop, woken by the event loop of this program."""

    read_bytes = 16 * 1024
    """Some 70 updates, for which this program's other sessions wait 2 to 3 ms; with 64 KiB they
    wait 10."""

    wake: Callable[[], object]
    """Called when a descriptor is ready."""

    def detach_agent(self) -> None:
        """Stop using the descriptors of an agent that has ended: their numbers are reused."""
        self.release()
        super().detach_agent()

    def release(self) -> None:
        """Watch no descriptor."""
        self._register({})

    def _register(self, interest: dict[int, int]) -> None:
        loop = asyncio.get_running_loop()
        for fd in self._interest.keys() | interest.keys():
            events, before = interest.get(fd), self._interest.get(fd)
            if fd < 0 or events == before:
                continue
            if events is None:
                self._poll.unregister(fd)
            else:
                self._poll.register(fd, events)
            events, before = events or 0, before or 0
            with contextlib.suppress(OSError):  # it is closed
                if before & _READ and not events & _READ:
                    loop.remove_reader(fd)
                if before & select.POLLOUT and not events & select.POLLOUT:
                    loop.remove_writer(fd)
            try:
                if events & _READ and not before & _READ:
                    loop.add_reader(fd, self.wake)
                if events & select.POLLOUT and not before & select.POLLOUT:
                    loop.add_writer(fd, self.wake)
            except PermissionError:  # a file, such as stderr's: it is always ready
                loop.call_soon(self.wake)
        self._interest = interest


class EmbeddedSidecar(Sidecar):
    """One run: an agent, and its client in this program."""

    def __init__(  # noqa: PLR0913 - as the sidecar's
        self,
        settings: Settings,
        options: LinkOptions,
        *,
        agent: Agent | None,
        deliver: Callable[[bytes], object],
        ended: Callable[[int], object],
        recorder: Recorder | None = None,
        waits: Callable[[str, StoredWait | None], object] | None = None,
        noted: Callable[[Entry], object] | None = None,
        guardian: Guardian | None = None,
    ) -> None:
        """Create it.

        Args:
            settings: The settings beyond the core's options.
            options: The core's options.
            agent: The running agent; `None` if the agent could not be started.
            deliver: Receives blocks of whole lines for the client.
            ended: Receives the exit status once the agent has ended and no other follows.
            recorder: Records the timeline.
            waits: Receives a session's wait for the end of a limit when it begins, and `None`
                before the prompt that continues its turn.
            noted: Receives every entry of the timeline, recorded or not.
            guardian: The guardian of an agent that was running before this process replaced itself.
        """
        if agent is not None and guardian is None:
            guardian = self._guardian_of(agent)
        self._waits = waits
        self._noted = noted
        self._deliver = deliver
        self._ended = ended
        self._to_client = FrameQueue()
        self._wake: float | None = None
        self._looked_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._due: asyncio.Handle | None = None
        self._gone = asyncio.Event()
        inbox = LoopSignals(self._step)
        super().__init__(
            settings,
            options,
            agent=agent,
            guardian=guardian,
            inbox=inbox,
            recorder=recorder,
        )

    def _open_loop(self, wake: int) -> EmbeddedLoop:
        made = EmbeddedLoop(
            self._connection,
            Descriptors(client=(-1, -1), agent=self._child.descriptors, wake=wake),
            self._console,
            self._note,
            line_limit_bytes=self._settings.line_limit_bytes,
            to_client=self._to_client,
        )
        made.wake = self._step
        self._embedded = made
        return made

    def _release_client(self) -> None:
        self._embedded.release()

    @property
    def pid(self) -> int:
        """Return the running agent's process id, or 0."""
        agent = self._child.agent
        return agent.pid if agent is not None and agent.exit is None else 0

    def start(self) -> None:
        """Begin to relay."""
        self._contained(self._begin)
        self._step_soon()

    @property
    def can_be_handed_over(self) -> bool:
        """Whether the agent can keep running while this process replaces itself."""
        agent = self._child.agent
        runs = agent is not None and agent.poll() is None and self._loop.talking
        idle = not (self._past or self._child.stop.begun or self._loop.relay.orders)
        return runs and idle and not self._gone.is_set() and self._connection.can_be_handed_over

    @property
    def is_idle_without_agent(self) -> bool:
        """Whether the agent has ended, and the next prompt will start another."""
        return not self.pid and self._connection.idle

    def hand_over(self) -> RunningAgent:
        """Release the running agent, for the program that replaces this one."""
        agent, start = self._child.agent, self._settings.start
        assert agent is not None
        self.pause(paused=False)
        while (block := self._to_client.next_block()) is not None:
            self._deliver(block)
        begun, unsent = self._loop.hand_over()
        observer, start.observer = start.observer, None
        guardian = self._child.guardian
        self._embedded.release()
        self._sources.close()
        self._close_ledger(LEDGER_SECONDS)
        if self._recorder is not None:
            self._recorder.close()
        for handle in (self._timer, self._due):
            if handle is not None:
                handle.cancel()
        self._gone.set()
        return RunningAgent(
            pid=agent.pid,
            pipes=(agent.stdin, agent.stdout, agent.stderr),
            guardian=None if guardian is None else guardian.process,
            observer=-1 if observer is None else observer.fd,
            port=start.port,
            begun=begun,
            unsent=unsent,
            speaks_typed=self._connection.connection.link.agent.speaks_typed,
            restarts=self._connection.past_restarts,
        )

    def adopt(self, agent: RunningAgent, past: Iterable[PastLine], turns: int) -> None:
        """Continue with an agent that was handed over.

        Args:
            agent: The result of `hand_over`.
            past: Earlier lines that still matter, in order.
            turns: How many turns there have been.
        """
        for effect in self._connection.replay(past, turns, agent.restarts):
            if isinstance(effect, Record):
                self._sources.note(effect.entry.kind, effect.entry.at_seconds)
        self._has_session = True
        if turns and self._recorder is not None:  # the first prompt came in another program
            self._recorder.keep()
        self._loop.restore(agent.begun, agent.unsent)
        self._step_soon()

    def send(self, line: bytes) -> None:
        """Receive a line from the client."""
        if self._gone.is_set() or not self._loop.client_open:
            return
        now = time.monotonic()
        if len(line) > self._settings.line_limit_bytes > 0:
            # Without its line end, it is rejected as oversized.
            self._contained(lambda: self._loop.receive_client(line, now))
            line = b""
        self._contained(lambda: self._loop.receive_client(line + b"\n", now))
        self._step_soon()

    def resume_wait(self, line: bytes, stored: StoredWait) -> None:
        """Continue to wait for the end of a limit, for the prompt in this line."""
        prompt = jsonrpc.decode(line)
        if isinstance(prompt, jsonrpc.Frame):
            now = time.monotonic()
            effects = self._connection.resume_wait(prompt, stored, now)
            self._contained(lambda: self._loop.relay.apply(effects))
            self._step_soon()

    def _note(self, entry: Entry) -> None:
        super()._note(entry)
        if self._noted is not None:
            self._noted(entry)
        if self._waits is not None and entry.session_id and entry.kind in _OF_LIMITS:
            self._waits(entry.session_id, self._connection.stored_wait(entry.session_id))

    def pause(self, *, paused: bool) -> None:
        """Pause or resume delivering frames to the client."""
        if paused != self._to_client.paused:
            self._to_client.pause(paused=paused)
            self._step_soon()

    async def stop(self) -> None:
        """End the agent, as when a client closes its side."""
        if self._gone.is_set():
            return
        self._loop.client_open = False
        self.pause(paused=False)
        self._step_soon()
        try:
            await asyncio.wait_for(self._gone.wait(), STOP_SECONDS)
        except TimeoutError:
            self._give_up()

    def kill(self) -> None:
        """End the agent and its group at once."""
        if not self._gone.is_set():
            self._give_up()

    def _step_soon(self) -> None:
        if self._due is None and not self._gone.is_set():
            self._due = asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        """Move the available bytes, do what is due, and arrange the next round."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._gone.is_set():
            return
        self._contained(self._move)
        self._contained(self._deliver_all)
        if not self._gone.is_set():
            self._contained(self._rest)

    def _deliver_all(self) -> None:
        while (block := self._to_client.next_block()) is not None:
            self._deliver(block)

    def _move(self) -> None:
        self._loop.move(self._wake, 0)
        self._looked_at = time.monotonic()
        self._round(self._looked_at)

    def _rest(self) -> None:
        """Arrange the next round, or end if the session is over."""
        now = self._looked_at
        if self._finished(now):
            exit_ = self._end()
            self._close(exit_.status if exit_ else BUG_STATUS)
            return
        self._wake = wake = self._loop.prepare(self._wake_at(now))
        timer = self._timer
        # An early timer does no harm, so a timeout that each frame postpones needs no other.
        if timer is not None and (wake is None or not now <= timer.when() <= wake):
            timer.cancel()
            timer = None
        if timer is None and wake is not None:
            timer = asyncio.get_running_loop().call_at(wake, self._at_time)
        self._timer = timer

    def _at_time(self) -> None:
        self._timer = None
        self._step()

    def _contained(self, call: Callable[[], object]) -> None:
        """Call a part of the sidecar; a bug in it ends only this agent."""
        try:
            call()
        except Exception:  # noqa: BLE001 - the program has other work
            write_message("a bug in lastword ended the link to its agent; please report it")
            traceback.print_exc()
            self._give_up()

    def _give_up(self) -> None:
        """Kill the agent's group, which nobody can reach any more."""
        with contextlib.suppress(Exception):
            self._embedded.release()
        for child in (self._child, *self._past):
            if child.agent is not None:
                child.agent.signal_group(signal.SIGKILL)
        self._sources.close()
        self._close(BUG_STATUS)

    def _close(self, status: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._to_client.close()
        self._gone.set()
        self._ended(status)
