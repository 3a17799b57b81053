"""A session of the gateway's with its agent and its viewers, drawn from a seed, on the real hub.

Owns the players: an agent that speaks, asks and answers; viewers that come, go, lag, repeat
themselves, and lose what was on its way to them; a process that dies; a log that forgets. What has
to hold whatever they do is `referee`'s.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import jsonrpc
from lastword.gateway.holder.effects import Commit, ToAgent, ToViewer
from lastword.gateway.log.entries import Cursor
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import CursorError, Role, Viewer, joined
from lastword.gateway.viewing.render import Form, LogPlace, Renderer, read_id, stream_events
from tests.kit.gateway.committing import CommittingHub
from tests.kit.gateway.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.holder.hub import Hub
    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.viewing.reader import Attachment, Pulled

SESSION = "s1"
BESIDE = "beside"
"""In the place of an event's id: what a stream brings that is not from the log."""
KINDS = (*["agent_message_chunk"] * 3, "agent_thought_chunk", "plan", "usage_update", "tool_call")
ERROR = {"code": -32603, "message": "gone", "data": {"agent_error": {"type": "agent_crash"}}}


class WatchedLog(MemoryLog):
    """A log whose entries the referee sees as they are committed."""

    def __init__(self, referee: Referee) -> None:
        super().__init__(epoch="e1")
        self._referee = referee

    def append(self, entries: Sequence[LogEntry]) -> int:
        head = super().append(entries)
        self._referee.committed(self.first, head, entries)
        return head

    def crash(self) -> None:
        """The process dies: what was committed stays."""


class Machine:
    """How the parts are put together; a mutant puts one of them together wrongly."""

    def log(self, referee: Referee) -> WatchedLog:
        return WatchedLog(referee)

    def hub(self, log: WatchedLog, numbers: Callable[[], int]) -> Hub:
        return CommittingHub(log, session_id=SESSION, numbers=numbers, unattended_seconds=50.0)

    def pulled(self, attachment: Attachment, renderer: Renderer) -> list[bytes]:
        return frames_of(attachment, renderer)


def _next(attachment: Attachment) -> Pulled:
    pulled = attachment.reader.pull()
    return joined(pulled, attachment.live_from) if attachment.compact else pulled


def frames_of(attachment: Attachment, renderer: Renderer) -> list[bytes]:
    pulled = _next(attachment)
    ready = renderer.for_all(pulled, attachment, Form.LINES)
    return renderer.pulled(pulled, attachment) if ready is None else ready


def events_of(attachment: Attachment, renderer: Renderer, epoch: str) -> list[tuple[str, bytes]]:
    """One pull of an attachment, as the events of a stream: their ids, and the frames."""
    placed = renderer.placed(_next(attachment), attachment)
    return [(event.id, event.frame) for event in stream_events(epoch, placed)]


class Seat:
    """A viewer as a client has it: what it applied, what it waits for, what is on its way to it."""

    def __init__(self, viewer: Viewer, *, reads_events: bool) -> None:
        self.viewer = viewer
        self.returns_at: float | None = None
        """When it comes back by itself: its policy has tests of its own."""
        self.reads_events = reads_events
        self.last_event = ""
        self.attachment: Attachment | None = None
        self.wire: list[tuple[str, bytes, Any]] = []
        """Frames, each with the id of its event where it is one, and decoded."""
        self.cursor: Cursor | None = None
        self.unanswered: dict[int, bytes] = {}
        self.questions: list[Any] = []
        self.next_id = 0
        self.comes = 0

    @property
    def position(self) -> int:
        return self.attachment.reader.pos if self.attachment else 0

    def say_beside(self, line: bytes) -> None:
        self.wire.append((BESIDE, line, jsonrpc.loads(line)))


class World:
    def __init__(self, seed: int, number: int, machine: Machine | None = None) -> None:
        self._dice = random.Random(f"{seed}/{number}").random
        self._machine = machine or Machine()
        self.referee = Referee()
        self._log = self._machine.log(self.referee)
        self._numbers = 0
        self._now = 1.0
        self._tag = 0
        self._hub = self._machine.hub(self._log, self._number)
        self._renderer = Renderer(SESSION)
        self._agent_open: list[int] = []
        self._agent_asks = 0
        self.seats = [self._seat(index) for index in range(1 + self._draw(3))]
        self.trace: list[bytes] = []

    def _draw(self, count: int) -> int:
        return int(self._dice() * count)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _seat(self, index: int) -> Seat:
        replay = self._dice() < 0.7
        typed = self._dice() < 0.5
        role = Role.OBSERVER if index and self._dice() < 0.2 else Role.CONTROLLER
        profile = ClientProfile(typed=typed, retry=typed)
        seat = Seat(
            Viewer(id=f"v{index}", role=role, profile=profile, replay=replay),
            reads_events=self._dice() < 0.3,
        )
        self.referee.sits(seat.viewer)
        return seat

    def run(self) -> None:
        """Play it to its end, and let everything come to rest.

        Raises:
            BrokenPromiseError: A promise did not hold.
        """
        for _ in range(10 + self._draw(50)):
            self._now += self._dice() * 3.0
            self._return()
            self._step()
        self._rest()

    def _step(self) -> None:
        throw = self._dice()
        for limit, act in STEPS:
            if throw < limit:
                act(self)
                return

    def _any_seat(self) -> Seat:
        return self.seats[self._draw(len(self.seats))]

    @property
    def _now_ms(self) -> int:
        return int(self._now * 1000)

    # The agent.

    def _speak(self) -> None:
        self._from_agent([self._update() for _ in range(1 + self._draw(5))])

    def _update(self) -> bytes:
        self._tag += 1
        kind = KINDS[self._draw(len(KINDS))]
        size = 200_000 if self._dice() < 0.01 else self._draw(40)
        update: dict[str, Any] = {"sessionUpdate": kind}
        if kind.endswith("_chunk"):
            update["content"] = {"type": "text", "text": f"<{self._tag}>{'x' * size}"}
        else:
            update |= {"toolCallId": f"t{self._tag}", "tag": self._tag, "x": "x" * size}
        return jsonrpc.notification("session/update", {"sessionId": SESSION, "update": update})

    def _answer(self) -> None:
        if self._agent_open:
            number = self._agent_open.pop(self._draw(len(self._agent_open)))
            fails = self._dice() < 0.3
            result = jsonrpc.result(b"%d" % number, {"stopReason": "end_turn"})
            lines = [self._update()] if self._dice() < 0.5 else []
            last = [jsonrpc.error(b"%d" % number, ERROR) if fails else result]
            again = last if self._dice() < 0.1 else []
            self._from_agent(lines + last + again)

    def _ask(self) -> None:
        self._agent_asks += 1
        self.referee.asked(self._agent_asks)
        params = {"sessionId": SESSION, "options": [{"kind": "reject_once", "optionId": "no"}]}
        request_id = b"%d" % self._agent_asks
        self._from_agent([jsonrpc.request(request_id, "session/request_permission", params)])

    def _from_agent(self, lines: list[bytes]) -> None:
        frames = [frame for frame in map(jsonrpc.decode, lines) if isinstance(frame, jsonrpc.Frame)]
        self._carry_out(self._hub.from_agent(frames, self._now, self._now_ms))

    def _carry_out(self, effects: list[HubEffect]) -> None:
        for effect in effects:
            if isinstance(effect, ToAgent):
                self._to_agent(effect.line)
            elif isinstance(effect, ToViewer):
                seat = self._seat_of(effect.attachment)
                if seat is not None:
                    seat.say_beside(effect.line)
            elif not isinstance(effect, Commit):
                seat = self._seat_of(effect.attachment)
                if seat is not None:
                    for line in self._renderer.again(effect.end, effect.attachment):
                        seat.say_beside(line)

    def _seat_of(self, attachment: Attachment) -> Seat | None:
        return next((seat for seat in self.seats if seat.attachment is attachment), None)

    def _to_agent(self, line: bytes) -> None:
        frame = jsonrpc.loads(line)
        if frame.get("method") == "session/prompt":
            self.referee.reached_agent(frame["params"]["tag"])
            self._agent_open.append(frame["id"])
        elif "method" not in frame:
            self.referee.agent_was_answered(frame["id"])

    # Viewers.

    def _come(self) -> None:
        seat = self._any_seat()
        if seat.attachment is not None:
            self._hub.detach(
                seat.attachment, self._now, self._now_ms, code=4409, cause="superseded"
            )
            self._cut(seat)
        self._attach_from(seat)

    def _attach_from(self, seat: Seat) -> None:
        """Attach with the cursor that a viewer has, or with one that is none."""
        seat.returns_at = None
        cursor = seat.cursor
        if cursor is not None and self._dice() < 0.05:
            cursor = Cursor("another", cursor.seq)
            seat.cursor = None
            self.referee.begins_again(seat.viewer)
        if cursor is not None and self._dice() < 0.02:
            cursor = Cursor(cursor.epoch, self._log.head + 1 + self._draw(5))
        try:
            self._attach(seat, cursor)
        except CursorError:
            self.referee.refused_cursor(cursor, self._log.head)

    def _attach(self, seat: Seat, cursor: Cursor | None) -> None:
        place: LogPlace | None = None
        if not seat.viewer.replay:
            # A client that knows nothing of viewers is a new one each time, and asks anew.
            seat.comes += 1
            name = f"{seat.viewer.id.partition('.')[0]}.{seat.comes}"
            before, seat.viewer = seat.viewer, msgspec.structs.replace(seat.viewer, id=name)
            self.referee.sits(seat.viewer)
            seat.unanswered.clear()
            if seat.last_event and self._dice() < 0.5:
                place = read_id(seat.last_event)
                cursor = place.cursor
                self.referee.goes_on(before, seat.viewer)
        seat.last_event = ""
        compact = self._dice() < 0.5
        seat.attachment, _, _ = self._hub.attach(seat.viewer, cursor, self._now_ms, compact=compact)
        if place is not None:
            self._hub.go_back(seat.attachment, *place)
        self.referee.attached(seat.viewer, seat.attachment.live_from, compact=compact)
        for line in list(seat.unanswered.values()):
            self._say(seat, line)

    def _go(self) -> None:
        seat = self._any_seat()
        if seat.attachment is not None:
            self._deliver(seat, self._draw(len(seat.wire) + 1))
            self._hub.detach(seat.attachment, self._now, self._now_ms, code=1006, cause="cut")
            self._cut(seat)
            self._lose(seat)

    def _lose(self, seat: Seat) -> None:
        seat.returns_at = self._now + self._dice() * 10.0

    def _return(self) -> None:
        for seat in self.seats:
            if seat.returns_at is not None and seat.returns_at <= self._now:
                self._attach_from(seat)

    def _break_stream(self) -> None:
        """A stream of events is cut, and goes on after the last event that came."""
        reads = [each for each in self.seats if each.attachment is not None and each.reads_events]
        if not reads:
            return
        seat = reads[self._draw(len(reads))]
        self._pull_of(seat)
        self._deliver(seat, self._draw(len(seat.wire) + 1))
        if not seat.last_event:
            return  # what waits for a reader is read by the next one
        seat.wire = [each for each in seat.wire if each[0] == BESIDE]
        cursor, parts = read_id(seat.last_event)
        throw = self._dice()
        if throw < 0.05:
            cursor = Cursor("another", cursor.seq)
            self._deliver(seat, len(seat.wire))  # what it had been answered already
            seat.cursor, seat.last_event = None, ""
            self.referee.begins_again(seat.viewer, forgets_answers=True)
        elif throw < 0.1:
            try:
                beyond = Cursor(cursor.epoch, self._log.head + 1 + self._draw(5))
                self._hub.go_back(seat.attachment, beyond)
            except CursorError:
                self.referee.refused_cursor(beyond, self._log.head)
        self._hub.go_back(seat.attachment, cursor, parts)

    def _cut(self, seat: Seat) -> None:
        seat.attachment = None
        seat.wire.clear()
        seat.questions.clear()

    def _prompt(self) -> None:
        seat = self._any_seat()
        if seat.attachment is None:
            return
        seat.next_id += 1
        self._tag += 1
        params = {"sessionId": SESSION, "prompt": [], "tag": self._tag}
        line = jsonrpc.request(b"%d" % seat.next_id, "session/prompt", params)
        seat.unanswered[seat.next_id] = line
        self.referee.prompted(seat.viewer, seat.next_id, self._tag)
        self._say(seat, line)

    def _repeat(self) -> None:
        seat = self._any_seat()
        if seat.attachment is not None and seat.unanswered:
            self._say(seat, next(iter(seat.unanswered.values())))

    def _decide(self) -> None:
        seat = self._any_seat()
        if seat.attachment is not None and seat.questions:
            request_id = seat.questions[self._draw(len(seat.questions))]
            line = jsonrpc.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"outcome": {}}})
            self._say(seat, line)
            if self._dice() < 0.7:
                seat.questions.remove(request_id)

    def _say(self, seat: Seat, line: bytes) -> None:
        frame = jsonrpc.decode(line)
        assert isinstance(frame, jsonrpc.Frame)
        if seat.attachment is not None:
            self._carry_out(self._hub.receive(seat.attachment, frame, self._now_ms))

    def _pull(self) -> None:
        self._pull_of(self._any_seat())

    def _pull_of(self, seat: Seat) -> int:
        if seat.attachment is None:
            return 0
        if seat.reads_events:
            told = events_of(seat.attachment, self._renderer, self._log.epoch)
        else:
            frames = self._machine.pulled(seat.attachment, self._renderer)
            told = [("", frame) for frame in frames]
        read = [(name, line, jsonrpc.loads(line)) for name, line in told]
        size = sum(len(line) for _, line in told)
        self.referee.sent(self._log.head, size, [frame for _, _, frame in read])
        seat.wire += read
        return len(told)

    def _arrive(self) -> None:
        seat = self._any_seat()
        self._deliver(seat, 1 + self._draw(len(seat.wire) + 1))

    def _deliver(self, seat: Seat, count: int) -> None:
        arriving, seat.wire[:] = seat.wire[:count], seat.wire[count:]
        for name, line, frame in arriving:
            self.trace.append(line)
            if name and name != BESIDE:
                seat.last_event = name
            seq = self.referee.applied(seat.viewer, frame)
            if seq and seat.viewer.replay:
                seat.cursor = Cursor(self._log.epoch, seq)
            method = frame.get("method")
            if method is None:
                seat.unanswered.pop(frame["id"], None)
            elif method == "$/cancel_request":
                if frame["params"]["requestId"] in seat.questions:
                    seat.questions.remove(frame["params"]["requestId"])
            elif "id" in frame:
                seat.questions.append(frame["id"])

    # The machine.

    def _forget(self) -> None:
        self._log.trim(limit_bytes=self._draw(2000))
        self.referee.trimmed(self._log.first)

    def _lose_front(self) -> None:
        there = [seat for seat in self.seats if seat.attachment is not None]
        for seat in there:
            self._deliver(seat, self._draw(len(seat.wire) + 1))
            if seat.attachment is not None:
                self._hub.detach(seat.attachment, self._now, self._now_ms, code=1006, cause="front")
            self._cut(seat)
        for seat in there:
            self._lose(seat)

    def _die(self) -> None:
        there = [seat for seat in self.seats if seat.attachment is not None]
        for seat in self.seats:
            self._deliver(seat, self._draw(len(seat.wire) + 1))
            self._cut(seat)
        self._log.crash()
        self._hub = self._machine.hub(self._log, self._number)
        self._numbers = self._hub.last_number  # as a holder that knows nothing but the log
        self._agent_open.clear()
        self.referee.agent_died()
        self._hub.lost_agent(ERROR, self._now_ms)
        for seat in there:
            self._lose(seat)

    def _tick(self) -> None:
        self._now += self._dice() * 60.0
        self._carry_out(self._hub.handle_timeout(self._now, self._now_ms))

    def _rest(self) -> None:
        """The links hold, the agent answers all, everybody reads on."""
        while self._agent_open:
            self._answer()
        for seat in self.seats:
            if seat.attachment is None:
                self._attach(seat, seat.cursor)
        while self._agent_open:  # what was asked for by those who came back
            self._answer()
        for seat in self.seats:
            position = -1
            while self._pull_of(seat) or seat.wire or seat.position != position:
                position = seat.position  # of what is pulled, some viewers are shown nothing
                self._deliver(seat, len(seat.wire))
        for seat in self.seats:
            self.referee.rests(seat.viewer, seat.position, self._log.head, set(seat.unanswered))
        for seat in self.seats:
            if seat.attachment is not None:
                self._hub.detach(seat.attachment, self._now, self._now_ms, code=1000, cause="left")
        self._carry_out(self._hub.handle_timeout(self._now + 1000.0, self._now_ms))
        self.referee.is_over()


STEPS = (
    (0.1, World._speak),
    (0.21, World._break_stream),
    (0.28, World._answer),
    (0.33, World._ask),
    (0.41, World._come),
    (0.46, World._go),
    (0.55, World._prompt),
    (0.58, World._repeat),
    (0.63, World._decide),
    (0.78, World._pull),
    (0.90, World._arrive),
    (0.94, World._forget),
    (0.96, World._lose_front),
    (0.98, World._die),
    (1.01, World._tick),
)
