"""Plays events to the real core, one after another, and shows the referee what came of each.

Owns the virtual clock, the process table (is there an agent, was one ordered?), and the trace.
What stands in a schedule is concrete, so any part of one can be played again without the rest;
events that make no sense at their moment, such as a dead agent's frame, are passed over.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from lastword.core import classify
from lastword.core.failure.taxonomy import Attribution
from lastword.core.link.agent_side import HandlerFailure, Note
from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.effects import Ends, FrameSink, Restart
from lastword.core.link.evidence import Hint, HintSource, Retrying
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import glued, jsonrpc
from lastword.core.restart.layer import RestartLayer
from tests.kit.simulation import frames
from tests.kit.simulation.departures import ANSWER, FORWARD, SEND, Out
from tests.kit.simulation.frames import TOLD_SECRET, ends_of
from tests.kit.simulation.ledger import BrokenPromiseError
from tests.kit.simulation.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lastword.core.link.effects import Effect, Order
    from lastword.core.timeline.entry import Entry
    from tests.kit.simulation.ledger import Ledger

MAX_REMEMBERED = 1000
"""Nothing that a peer can make grow may be longer than this."""

_GIVEN = frozenset({"options", "agent", "client", "greeting"})
"""Values that are replaced, never grown."""


def check_bounds(core: Any, ledger: Ledger) -> None:
    """At a link's end, with every request answered: the core holds nothing, and kept its bounds."""
    link = core.link
    left = {
        "requests of the client's": link.from_client,
        "requests of the agent's": link.from_agent,
        "an answer held back": link.withheld_error,
        "prompts to be sent again": link.resent,
        "turns": [turn for session in link.sessions.values() for turn in session.turns],
        "prompts that wait": [p for session in link.sessions.values() for p in session.waiting],
        "questions": [asked for session in link.sessions.values() for asked in session.asking],
        "terminals": link.terminals,
    }
    if isinstance(core, RestartLayer):
        left["a queue"] = core.state.queue
        left["requests of ours"] = core.state.own
        left["sessions on their way"] = core.state.returning
    for what, value in left.items():
        if value:
            raise BrokenPromiseError("unbounded", f"after the end there are {what}: {value}")
    named = {asked.session for asked in ledger.asked.values()}
    if len(link.sessions) > len(named) + len(ledger.asked):
        raise BrokenPromiseError("unbounded", f"{len(link.sessions)} sessions remembered")
    for path, size in sizes(core, "core"):
        if size > MAX_REMEMBERED:
            raise BrokenPromiseError("unbounded", f"{path} holds {size}")


def sizes(value: Any, path: str) -> Iterator[tuple[str, int]]:
    """Every container that can be reached, and its length."""
    if isinstance(value, dict | list | set | tuple):
        yield path, len(value)
        values = value.values() if isinstance(value, dict) else value
        for inner in values:
            if not isinstance(inner, str | bytes | int | float):
                yield from sizes(inner, f"{path}[]")
    for name in getattr(type(value), "__slots__", ()):
        if name not in _GIVEN and name != "session":
            inner = getattr(value, name)
            if isinstance(inner, dict | list | set | tuple) or hasattr(type(inner), "__slots__"):
                yield from sizes(inner, f"{path}.{name}")


Event: TypeAlias = tuple[Any, ...]
"""A name and plain values: `("client", line)`, `("time", seconds)`, `("die", code, signal)`."""

_LIMITED = classify.classify({"error": {"message": "slow down"}, "status": 429})
_FAULT = classify.classify(ValueError(f"no such thing: {TOLD_SECRET}"))

HINTED = {
    "limited": _LIMITED,
    "empty": classify.classify_text(f"insufficient_quota for the key {TOLD_SECRET}"),
    "reset": classify.classify(ConnectionResetError("Connection reset by peer")),
    "vague": classify.classify_text(f"something went wrong with {TOLD_SECRET}"),
}
"""What hints tell of."""

WORDS: dict[str, Any] = {
    "progress": Note.PROGRESS,
    "output": Note.OUTPUT,
    "safe_tool": Note.SAFE_TOOL,
    "unsafe_tool": Note.UNSAFE_TOOL,
    "tool_finished": Note.TOOL_FINISHED,
    "limited": HandlerFailure(verdict=_LIMITED),
    "raised": HandlerFailure(verdict=_FAULT, message=f"The [tool] broke: {TOLD_SECRET}"),
    "sent": HandlerFailure(
        verdict=_FAULT, sent={"code": -32000, "message": "Log in", "data": None}
    ),
    "retrying": Retrying(verdict=_LIMITED, attempt=2, max_attempts=4, wait_seconds=3),
}
"""What a handler in this process may say of its prompt."""

ENDINGS = frozenset({"limited", "raised", "sent"})
"""The words that are the handler's answer."""

_DAWN = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
_STUCK_ROUNDS = 4
_END_ROUNDS = 40
_LONG_SECONDS = 20_000.0


def _raised(error: Exception) -> None:
    """What a shell passes on as a plain pipe breaks a promise here."""
    raise error


class Player:
    def __init__(self, options: dict[str, Any], core: Callable[[LinkOptions], Any] = Connection):
        self.now = 0.0
        settings = dict(options)
        if settings.pop("clock", False):
            settings["wall_clock"] = self._time_of_day
        settings["roll"] = Random(settings.get("retry", 0)).random
        self.options = LinkOptions(secrets=(TOLD_SECRET,), implementation="lastword", **settings)
        self.core = FailOpen(core(self.options), _raised)
        self.alive = True
        self.client_open = True
        self.ordered = False
        """The core asked for a new agent."""
        self.referee = Referee(self.options)
        self.trace: list[bytes] = []
        self.to_agent: list[bytes] = []
        """What the agent has not looked at yet."""
        self.to_client: list[bytes] = []
        self._out: list[Out] = []
        self._ends = Ends(
            client=_Peer(self, to_client=True),
            agent=_Peer(self, to_client=False),
            record=self._record,
            order=self._obey,
            dropped=lambda reason: self.trace.append(reason.encode()),
        )

    def _time_of_day(self) -> datetime:
        return _DAWN + timedelta(seconds=self.now)

    def play(self, event: Event) -> None:
        """Let one thing happen; raises `BrokenPromiseError` where a promise does not hold."""
        try:
            getattr(self, f"_{event[0]}")(*event[1:])
        except BrokenPromiseError:
            raise
        except Exception as error:
            raise BrokenPromiseError("raised", f"{type(error).__name__}: {error}") from error

    def _client(self, line: bytes) -> None:
        if not self.client_open:
            return
        frame = jsonrpc.decode(line)
        self.referee.now = self.now
        self._carry_out(self.core.receive(Side.CLIENT, frame, self.now), Side.CLIENT, frame)
        self.referee.client_line(line, self._taken(), self.now)

    def _agent(self, line: bytes) -> None:
        if self.alive:
            for part in glued.decode_parts(line, may_quote=True):
                self._agent_part(part, part.line)

    def _agent_part(self, frame: Any, line: bytes) -> None:
        self.referee.now = self.now
        self._carry_out(self.core.receive(Side.AGENT, frame, self.now), Side.AGENT, frame)
        self.referee.agent_line(line, self._taken())

    def _block(self, block: bytes) -> None:
        """A burst of the agent's, taken in as the relay takes it."""
        if not self.alive:
            return
        messages = jsonrpc.decode_block(block + b"\n")
        lines = jsonrpc.split_block(block, messages) if messages else None
        if messages is None or lines is None:
            for line in block.split(b"\n"):
                if line.strip():
                    self._agent(line)
            return
        at = 0
        while at < len(lines):
            taken = self.core.observe(messages, at, self.now)
            if taken:
                run = lines[at : at + taken]
                self.trace += run
                self.referee.agent_run(run)
                at += taken
            if at < len(lines):
                self._agent_part(jsonrpc.frame(lines[at], messages[at]), lines[at])
                at += 1

    def _time(self, seconds: float) -> None:
        """The clock moves on; what is due on the way happens at its time."""
        until = self.now + seconds
        for due in self._dues(until):
            self.now = max(self.now, due)
            self._handle()
        self.now = until
        self.referee.clock(self.now)

    def _dues(self, until: float) -> Iterator[float]:
        rounds, last = 0, -1.0
        while (due := self.core.next_timeout()) is not None and due <= until:
            rounds, last = (rounds + 1 if due <= last else 0), max(due, last)
            if rounds > _STUCK_ROUNDS:
                raise BrokenPromiseError("unbounded", f"still due at {due} after it was handled")
            yield due

    def _jump(self, seconds: float) -> None:
        """The clock moves, and nobody looked meanwhile."""
        self.referee.slept = True
        self.now += seconds
        self._handle()

    def _still(self, seconds: float) -> None:
        """Everything stood still, the clock did not."""
        self.referee.slept = True
        self.now += seconds
        self.core.stand_still(seconds)
        self.referee.stood_still(seconds)

    def _handle(self) -> None:
        self.referee.now = self.now
        self._nobodys(self.core.handle_timeout(self.now))

    def _die(self, code: int | None, signal: int | None) -> None:
        if self.alive:
            tail = self.core.stderr_tail()
            self._lose(
                lambda: classify.classify_exit(exit_code=code, exit_signal=signal, stderr_tail=tail)
            )

    def _hang_up(self) -> None:
        """The agent closes its output, and nothing more is known."""
        if self.alive:
            self._lose(None)

    def _lose(self, cause: Any) -> None:
        self.alive = False
        self.to_agent.clear()
        self.referee.agent_lost()
        self._nobodys(self.core.receive_eof(Side.AGENT, cause, self.now))

    def _start(self) -> None:
        if self.ordered and not self.alive:
            self.ordered, self.alive = False, True
            self.referee.agent_started()
            self._nobodys(self.core.agent_started(self.now))

    def _start_fails(self) -> None:
        if self.ordered and not self.alive:
            self.ordered = False
            self._lose(lambda: classify.classify_spawn_failure(2, "agent"))

    def _unstartable(self) -> None:
        if self.alive:
            self._lose(lambda: classify.classify_spawn_failure(2, "agent"))

    def _quiet(self) -> None:
        """The user answers what is asked, and time passes: the agent's silence ends everything."""
        for known in list(self.referee.shown):
            self._client(frames.result(known))
        self._time(_LONG_SECONDS)
        limits = self.options
        watched = limits.first_update_timeout_seconds and limits.idle_timeout_seconds
        if watched and limits.tool_timeout_seconds and self.alive and not self.referee.killed:
            self.referee.quiet()

    def _end(self) -> None:
        self._die(None, 9)
        for _ in range(_END_ROUNDS):
            if not self.ordered:
                self._time(_LONG_SECONDS)
            if not self.ordered:
                break
            self._start_fails()
        self.referee.end()
        check_bounds(self.core.connection, self.referee)

    def _sources(self, present: bool) -> None:
        """There are sources beside the pipes, or there are none."""
        self.core.expects_hints(present=present)

    def _hint(  # noqa: PLR0913, PLR0917 - what a hint has
        self,
        source: str,
        what: str,
        session: str | None,
        goes_on: bool | None,
        attempt: int | None,
        age: float,
        side: bool,
    ) -> None:
        """A source tells of a failed call, at once or late, rightly or not."""
        if not self.alive:
            return
        hint = Hint(
            source=HintSource[source],
            verdict=HINTED[what],
            attribution=Attribution.STRONG if source in {"STDERR", "LOG"} else Attribution.PROVEN,
            at_seconds=self.now - age,
            session_id=session,
            attempt=attempt,
            max_attempts=None if attempt is None else 11,
            wait_seconds=None if attempt is None else attempt / 2,
            goes_on=goes_on,
            side=side,
        )
        self._carry_out(self.core.receive_hint(hint, self.now))
        self.referee.hinted(self._taken())

    def _stderr(self, data: bytes) -> None:
        self.referee.failing = True
        if self.alive:
            self._nobodys(self.core.receive_stderr(data, self.now))

    def _word(self, request_id: bytes, word: str) -> None:
        if self.alive:
            self.referee.failing = True
            self._carry_out(self.core.receive_report(request_id, WORDS[word], self.now))
            if word in ENDINGS:
                self.referee.agent_answered(request_id)
            self.referee.nobodys_line(self._taken())

    def _broken(self, side: str, line: bytes, own: bytes, what: str) -> None:
        """A line that is no JSON."""
        frame = jsonrpc.decode(line)
        if not self._speaks(side) or not isinstance(frame, jsonrpc.Malformed):
            return
        due = self.referee.line_is_lost(side, own := frames.plain_id(own), what)
        came = Side(side)
        self._carry_out(self.core.receive(came, frame, self.now), came, frame)
        self.referee.lost_line(("broken", side, line, own, what), self._taken(), due=due)

    def _long(self, side: str, line: bytes, own: bytes, what: str) -> None:
        """A line over the limit, which was skipped."""
        if not self._speaks(side):
            return
        due = self.referee.line_is_lost(side, own := frames.plain_id(own), what)
        self._carry_out(self.core.receive_oversized(Side(side), ends_of(line), self.now))
        self.referee.lost_line(("long", side, line, own, what), self._taken(), due=due)

    def _speaks(self, side: str) -> bool:
        return self.alive if side == "agent" else self.client_open

    def _large(self, request_id: bytes, session: bytes, size: int) -> None:
        self._client(frames.prompt(request_id, session, b"z" * size))

    def _close(self) -> None:
        if self.client_open:
            self.client_open = False
            self.referee.client_left()
            self._nobodys(self.core.receive_eof(Side.CLIENT, None, self.now))

    def _carry_out(self, effects: list[Effect], *came: Any) -> None:
        self._ends.carry_out(effects, *came)

    def _nobodys(self, effects: list[Effect]) -> None:
        """Carry out what no frame has caused."""
        self._carry_out(effects)
        self.referee.nobodys_line(self._taken())

    def _record(self, entry: Entry) -> None:
        told = f"{entry.kind.value} {entry.session_id} {entry.facts}".encode()
        self.trace.append(told)
        if any(secret in told for secret in frames.SECRETS):
            raise BrokenPromiseError("G5", f"a secret in the record: {told[:200]!r}")

    def _obey(self, order: Order) -> None:
        if isinstance(order, Restart):
            self.trace.append(b"restart")
            self.ordered = True
            if self.alive:
                raise BrokenPromiseError("raised", "a second agent was ordered while one runs")
        else:
            self.trace.append(b"kill")
            self.referee.killed = True

    def deliver(self, tag: int, *, to_client: bool, frame: bytes) -> None:
        """A peer gets a frame: the other's as it came, one of the core's, or an answer."""
        self.trace.append(b"<" + frame if to_client else b">" + frame)
        self._out.append((tag, to_client, frame))
        if to_client:
            self.to_client.append(frame)
        elif self.alive:
            self.to_agent.append(frame)

    def _taken(self) -> list[Out]:
        out, self._out = self._out, []
        return out


class _Peer(FrameSink):
    """A side, by which of its verbs a frame reached it: the referee wants to know."""

    def __init__(self, player: Player, *, to_client: bool) -> None:
        super().__init__(lambda line: player.deliver(SEND, to_client=to_client, frame=line))
        self._player, self._to_client = player, to_client

    def forward(self, frame: jsonrpc.Frame | jsonrpc.Malformed) -> None:
        self._player.deliver(FORWARD, to_client=self._to_client, frame=frame.line)

    def answer(self, _: bytes, line: bytes) -> None:
        self._player.deliver(ANSWER, to_client=self._to_client, frame=line)
