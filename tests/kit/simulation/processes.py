"""Plays the simulator's events to a real `lastword run` before a real agent.

Owns the processes, and the order of what happens: one event at a time, each of them over when the
sidecar has read all there is and waits. So the simulator's referee can say of each frame what it
came of. What the clock does by itself comes as nobody's.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from signal import SIGCONT, SIGSTOP
from typing import TYPE_CHECKING, Any

from lastword.core.link.option_table import OPTIONS
from lastword.core.protocol import glued
from lastword.platform.framing import READ_BYTES
from tests.kit.client import unread_bytes
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import AGENTS
from tests.kit.sidecar import SidecarClient, hurried
from tests.kit.simulation import frames
from tests.kit.simulation.departures import FORWARD, SEND
from tests.kit.simulation.frames import FILLER, TOLD_SECRET
from tests.kit.simulation.ledger import PROMPT, BrokenPromiseError
from tests.kit.simulation.player import Player

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.kit.simulation.player import Event

LONGEST_SECONDS = 3.0
"""What takes longer in the simulator takes as long here: limits, and waits."""

LONGEST_PAUSE_SECONDS = 0.4
LINE_LIMIT_BYTES = 1024 * 1024
_FILLER = b"y" * (LINE_LIMIT_BYTES + 2 * READ_BYTES)
_BURST_LINES = 8
_LOOK_SECONDS = 0.001
_FAILING_STARTS = 0.1
_RESTARTING = {
    f"core.restart.state.{name}": seconds
    for name, seconds in (
        *(("FIRST_BACKOFF_SECONDS", 0.1), ("MAX_BACKOFF_SECONDS", 0.5)),
        *(("SHORT_LIFE_SECONDS", 0.1), ("LOOP_WINDOW_SECONDS", 10.0), ("HALF_OPEN_SECONDS", 1.0)),
    )
}
_RESTARTS = b"lastword: starting the agent again\n"
_FAILS_TO_START = b"lastword: the agent could not be started: "


class Agent:
    """An agent's process, with its streams in our hands."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        said, self.streams, _, _ = socket.recv_fds(link, 100, 3)
        self.pid = int(said)
        for stream in self.streams:
            os.set_blocking(stream, False)

    def order(self, order: str) -> None:
        """Have it do something of which it ends: only it has its streams from now on."""
        self.let_go()
        with suppress(OSError):
            self.link.send(order.encode())

    def let_go(self) -> None:
        while self.streams:
            os.close(self.streams.pop())

    @property
    def unread(self) -> int:
        return sum(unread_bytes(stream) for stream in self.streams[1:])

    @property
    def ended(self) -> bool:
        return _state(self.pid) in {"Z", ""}

    def read(self) -> bytes:
        data = b""
        with suppress(BlockingIOError):
            while self.streams and (more := os.read(self.streams[0], 1 << 20)):
                data += more
        return data


class ProcessPlayer(Player):
    def __init__(self, options: dict[str, Any], folder: Path) -> None:
        near = {name: _near(value) for name, value in options.items()} | {"clock": True}
        super().__init__(near, lambda _: None)
        self._dice = Random(repr(options))
        self._begun = time.monotonic()
        self._command = folder / "agent"
        self._command.unlink(missing_ok=True)
        self._command.symlink_to(sys.executable)
        self._door = socket.socket(socket.AF_UNIX)
        place = folder / "door"
        self._door.bind(str(place))
        self._door.listen()
        settings = {
            option.variable: f"{near[option.field]}{'s' if option.kind == 'seconds' else ''}"
            for option in OPTIONS
            if option.field in near
        }
        settings |= {"LASTWORD_LINE_LIMIT": str(LINE_LIMIT_BYTES), "MY_API_KEY": TOLD_SECRET}
        settings |= {"LASTWORD_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
        settings |= {"LASTWORD_NO_CONFIG": "1"}
        words = (str(self._command), "-I", "-S", str(AGENTS / "puppet.py"), str(place))
        self.client = SidecarClient(words, under=hurried(_RESTARTING), environment=settings)
        self._agent_now: Agent | None = None
        self._next: list[Agent] = []
        """Agents that are running but not in play yet."""
        self._starts = 1
        """How many starts have not been seen to lead to an agent."""
        self._seen = [0, 0]
        """How much of stdout and of stderr has been looked at."""
        self._came: Sequence[bytes] = ()
        self._part = b""
        self._closed = False
        self._settle()
        self._agent_now = self._next.pop()
        self.ordered = False

    # --- the sidecar, and when it has nothing more to do

    def _settle(self) -> None:
        """Read everything until the sidecar waits for us, with nothing left to read."""
        deadline = time.monotonic() + FUSE_SECONDS
        while self._reads() or not self._is_at_rest() or self._reads():
            if time.monotonic() > deadline:
                raise BrokenPromiseError("unbounded", self.client.story("it is never at rest"))
            if self.client.stdout.open:
                self.client.peer.pump(_LOOK_SECONDS)
            else:
                time.sleep(_LOOK_SECONDS)

    def _is_at_rest(self) -> bool:
        if not self.client.stdout.open:
            return self.client.exit_status is not None
        stdin = self.client.peer.agent.stdin
        unread = unread_bytes(stdin) if stdin >= 0 else 0
        if unread or self._starts or (self._agent_now and self._agent_now.unread):
            return False
        return _state(self.client.pid) == "S" and "poll" in _waits_in(self.client.pid)

    def _reads(self) -> bool:
        before = [*self._seen, self._starts, len(self._part)]
        self.client.peer.pump(0)
        if select.select([self._door], [], [], 0)[0]:
            self._next.append(Agent(self._door.accept()[0]))
            self._starts -= 1
            self.ordered = True
        said = bytes(self.client.stderr.data[self._seen[1] :]).rpartition(b"\n")
        self._seen[1] += len(said[0]) + len(said[1])
        self._starts += (said[0] + said[1]).count(_RESTARTS)
        self._starts -= said[0].count(_FAILS_TO_START)
        data = bytes(self.client.stdout.data[self._seen[0] :]).rpartition(b"\n")[0]
        if data:
            self._seen[0] += len(data) + 1
            self._hands_on(data, to_client=True)
        agent = self._agent_now
        if agent is not None:
            *lines, self._part = (self._part + agent.read()).split(b"\n")
            self._hands_on(b"\n".join(lines), to_client=False)
            if select.select([agent.link], [], [], 0)[0]:
                self._agent_now, self._part = None, b""
                agent.let_go()
                agent.link.close()
                # We had not told it to die: the sidecar has ended it.
                self.referee.killed = self.alive
                before = []
        return before != [*self._seen, self._starts, len(self._part)]

    def _hands_on(self, data: bytes, *, to_client: bool) -> None:
        for line in data.split(b"\n"):
            if line:
                tag = FORWARD if line in self._came else SEND
                self.deliver(tag, to_client=to_client, frame=line)

    def _taken(self) -> list[Any]:
        """What went out, first what the client has: what follows from it goes to the agent."""
        return sorted(super()._taken(), key=lambda out: not out[1])

    def _exchange(self, stream: int, lines: Sequence[bytes]) -> None:
        self._came = lines
        data = memoryview(b"\n".join(lines) + b"\n")
        while data and self.client.stdout.open:
            try:
                data = data[os.write(stream, data) :]
            except BlockingIOError:
                self._reads()
            except BrokenPipeError:
                break
        self._settle()
        self._came = ()

    # --- events

    def play(self, event: Event) -> None:
        """Let one thing happen, after what the clock has done meanwhile."""
        if self._closed:
            return
        self.now = self.referee.now = time.monotonic() - self._begun
        try:
            self._settle()
            self.referee.nobodys_line(self._taken())
            self._has_ended()
        except AssertionError as error:
            raise BrokenPromiseError("frame", str(error)) from error
        super().play(event)
        self._has_ended()

    def _has_ended(self) -> None:
        """An agent that left on good terms while nothing was asked ends the sidecar, too."""
        if self.client_open and not self.client.stdout.open:
            self.client_open = self.alive = False
            self.referee.end()

    def _client(self, line: bytes) -> None:
        if self.client_open:
            self._exchange(self.client.peer.agent.stdin, [line])
            self.referee.client_line(line, self._taken(), self.now)

    def _large(self, request_id: bytes, session: bytes, size: int) -> None:
        super()._large(request_id, session, min(size, LINE_LIMIT_BYTES // 2))

    def _agent(self, line: bytes) -> None:
        self._says([line])

    def _block(self, block: bytes) -> None:
        lines = [line for line in block.split(b"\n") if line.strip()]
        plain = all(b'"session/update"' in line and line.isascii() for line in lines[:-1])
        if plain and len(lines) <= _BURST_LINES:
            self._says(lines)
        else:
            for line in lines:
                self._says([line])

    def _says(self, lines: Sequence[bytes]) -> None:
        """The agent writes lines at once: what none of them explains is because of the last."""
        if self._agent_now is None or not self.alive:
            return
        self._exchange(self._agent_now.streams[1], lines)
        *first, last = [
            part.line for line in lines for part in glued.decode_parts(line, may_quote=True)
        ]
        out = self._taken()
        for line in first:
            known = self.referee.as_client_knows(line)
            passed = [each for each in out if each[1:] in {(True, line), (True, known)}][:1]
            for each in passed:
                out.remove(each)
            self.referee.agent_line(line, passed)
        self.referee.agent_line(last, out)

    def _stderr(self, data: bytes) -> None:
        self.referee.failing = True
        if self._agent_now is not None and self.alive:
            self._exchange(self._agent_now.streams[2], data.splitlines())
            self.referee.nobodys_line(self._taken())

    def _broken(self, side: str, line: bytes, own: bytes, what: str) -> None:
        self._loses("broken", side, line, own, what)

    def _long(self, side: str, line: bytes, own: bytes, what: str) -> None:
        self._loses("long", side, line.replace(FILLER, _FILLER), own, what)

    def _loses(self, how: str, side: str, line: bytes, own: bytes, what: str) -> None:
        agent = self._agent_now
        if not self._speaks(side) or (side == "agent" and agent is None):
            return
        due = self.referee.line_is_lost(side, own := frames.plain_id(own), what)
        stdin = self.client.peer.agent.stdin
        self._exchange(agent.streams[1] if side == "agent" and agent else stdin, [line])
        self.referee.lost_line((how, side, line[:2000], own, what), self._taken(), due=due)

    def _time(self, seconds: float) -> None:
        self._waits(min(seconds, LONGEST_PAUSE_SECONDS))
        self.referee.clock(self.now)

    def _jump(self, seconds: float) -> None:
        self._waits(min(seconds, LONGEST_PAUSE_SECONDS))

    def _waits(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.client.stdout.open:
            self.client.peer.pump(left)
        self.now = self.referee.now = time.monotonic() - self._begun
        self._settle()
        self.referee.nobodys_line(self._taken())

    def _still(self, seconds: float) -> None:
        if self.client_open:
            stopped = time.monotonic()
            self.client.signal(SIGSTOP)
            time.sleep(min(seconds, LONGEST_PAUSE_SECONDS))
            self.client.signal(SIGCONT)
            self.referee.slept = True
            self.referee.stood_still(time.monotonic() - stopped)
            self._waits(0)

    def _die(self, code: int | None, signal: int | None) -> None:
        self._brings_down(f"exit {code}" if signal is None else f"signal {signal}")

    def _hang_up(self) -> None:
        self._brings_down("close 1")

    def _brings_down(self, order: str) -> None:
        """The agent ends, if the sidecar has not ended it before."""
        if not self.alive:
            return
        agent, self.alive = self._agent_now, False
        self.to_agent.clear()
        if agent is not None:
            fails = self._dice.random() < _FAILING_STARTS
            if fails:
                self._command.unlink(missing_ok=True)
            agent.order(order)
            deadline = time.monotonic() + FUSE_SECONDS
            while not agent.ended:
                if time.monotonic() > deadline:
                    raise BrokenPromiseError("unbounded", "an agent without streams lives on")
                self._reads()
                time.sleep(_LOOK_SECONDS)
            self._settle()
            if fails:
                self._command.symlink_to(sys.executable)
        self.referee.agent_lost()
        self.referee.nobodys_line(self._taken())

    def _start(self) -> None:
        """The agent that has been started meanwhile begins to read."""
        if self.alive or not self._next:
            return
        self._agent_now, self.alive = self._next.pop(0), True
        self.ordered = bool(self._next)
        self.referee.agent_started()
        self._settle()
        self.referee.nobodys_line(self._taken())

    def _start_fails(self) -> None:
        self._start()

    def _has_no_part(self, *_: Any) -> None:
        """It has been started, there are no sources, and it is no handler."""

    _unstartable = _sources = _hint = _word = _has_no_part

    def _quiet(self) -> None:
        """The user answers what is asked, waits for a while, and stops what goes on."""
        for known in list(self.referee.shown):
            self._client(frames.result(known))
        self._until_answered(LONGEST_SECONDS * 2, PROMPT)
        for session in {asked.session for asked in self.referee.asked.values() if asked.open}:
            self._client(frames.cancel((session or "").encode()))
        if self._until_answered(FUSE_SECONDS, PROMPT) and self.client_open:
            self.referee.quiet()

    def _until_answered(self, seconds: float, *methods: str) -> bool:
        """Wait until the requests are answered; is one left?"""
        until = time.monotonic() + seconds
        left = True
        while left and self.client_open and time.monotonic() < until:
            all_ = self.referee.asked.values()
            left = any(a.open and (not methods or a.method in methods) for a in all_)
            self._waits(0.05 if left else 0)
            self._has_ended()
        return left

    def _end(self) -> None:
        """No agent can be started any more: nothing may be left."""
        self._command.unlink(missing_ok=True)
        while self.client_open:
            self._die(None, 9)
            if not self._next:
                break
            self._start()
        self._until_answered(FUSE_SECONDS)
        if self.client_open:
            self.referee.end()
        self._close()

    def _close(self) -> None:
        if self.client_open:
            self.client_open = False
            self.referee.client_left()
        self.close()

    def close(self) -> None:
        """Nothing of the sidecar may be left, and it said nothing about a fault of its own."""
        if self._closed:
            return
        self._closed = True
        for agent in [self._agent_now, *self._next]:
            if agent is not None:
                agent.let_go()
                agent.link.close()
        self._agent_now, self._next = None, []
        self.alive = False
        self._door.close()
        self.client.finish()


def _near(value: Any) -> Any:
    """A limit that is not waited for long: what has a unit is a fraction."""
    if isinstance(value, float):
        return min(value, LONGEST_SECONDS)
    return value.replace("45s", "3s") if isinstance(value, str) else value


def _state(pid: int) -> str:
    """The letter of a process's state; empty for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _waits_in(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return ""
