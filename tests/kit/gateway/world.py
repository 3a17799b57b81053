"""A session of the gateway's with its agent and its viewers, drawn from a seed, on the real hub.

Owns the players: an agent that speaks, asks and answers; viewers that come, go, lag, repeat
themselves, and lose what was on its way to them; a process that dies; a log that forgets. What has
to hold whatever they do is `referee`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import jsonrpc
from lastword.gateway.log.entries import Cursor
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import CursorError, Viewer, joined
from lastword.gateway.viewing.render import Form, LogPlace, Renderer, read_id, stream_events
from tests.kit.gateway.played import CRASH, SESSION, PlayedSession, PlayedWorld, Seat
from tests.kit.gateway.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.viewing.reader import Attachment, Pulled

BESIDE = "beside"
"""In the place of an event's id: what a stream brings that is not from the log."""


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


class GatewaySeat(Seat):
    """One whose wire has frames, each with the id of its event where it is one, and decoded."""

    wire: list[tuple[str, bytes, Any]]

    def __init__(self, viewer: Viewer, *, reads_events: bool) -> None:
        super().__init__(viewer)
        self.returns_at: float | None = None
        """When it comes back by itself: its policy has tests of its own."""
        self.reads_events = reads_events
        self.last_event = ""
        self.questions: list[Any] = []
        self.comes = 0

    @property
    def position(self) -> int:
        return self.attachment.reader.pos if self.attachment else 0


class World(PlayedWorld[GatewaySeat], PlayedSession):
    def __init__(self, seed: int, number: int) -> None:
        PlayedWorld.__init__(self, f"{seed}/{number}")
        PlayedSession.__init__(self)
        self.referee = Referee()
        self._log = WatchedLog(self.referee)
        self._now = 1.0
        self._begin()
        self._agent_asks = 0
        self.seats = [self._seat(index) for index in range(1 + self.draw(3))]

    def _begin(self) -> None:
        self.serve(self._log, unattended_seconds=50.0)

    def _seat(self, index: int) -> GatewaySeat:
        viewer = self.viewer(index, replay=self.dice() < 0.7)
        seat = GatewaySeat(viewer, reads_events=self.dice() < 0.3)
        self.referee.sits(seat.viewer)
        return seat

    def run(self) -> None:
        """Play it to its end, and let everything come to rest.

        Raises:
            BrokenPromiseError: A promise did not hold.
        """
        for _ in range(10 + self.draw(50)):
            self._now += self.dice() * 3.0
            self._return()
            self.step()
        self._rest()

    @property
    def _now_ms(self) -> int:
        return int(self._now * 1000)

    # The agent.

    def _speak(self) -> None:
        self.from_agent(*[self.update() for _ in range(1 + self.draw(5))], now=self._now)

    def padding(self) -> str:
        return "x" * (200_000 if self.dice() < 0.01 else self.draw(40))

    def _answer(self) -> None:
        if self.agent_open:
            number = self.agent_open.pop(self.draw(len(self.agent_open)))
            fails = self.dice() < 0.3
            result = jsonrpc.result(b"%d" % number, {"stopReason": "end_turn"})
            lines = [self.update()] if self.dice() < 0.5 else []
            last = [jsonrpc.error(b"%d" % number, CRASH) if fails else result]
            again = last if self.dice() < 0.1 else []
            self.from_agent(*lines, *last, *again, now=self._now)

    def _ask(self) -> None:
        self._agent_asks += 1
        self.referee.asked(self._agent_asks)
        params = {"sessionId": SESSION, "options": [{"kind": "reject_once", "optionId": "no"}]}
        request = jsonrpc.request(b"%d" % self._agent_asks, "session/request_permission", params)
        self.from_agent(request, now=self._now)

    def to_agent(self, frame: dict[str, Any]) -> None:
        if frame.get("method") == "session/prompt":
            self.referee.reached_agent(frame["params"]["tag"])
        elif "method" not in frame:
            self.referee.agent_was_answered(frame["id"])

    def to_viewer(self, attachment: Attachment, lines: list[bytes]) -> None:
        for seat in self.seats:
            if seat.attachment is attachment:
                seat.wire += [(BESIDE, line, jsonrpc.loads(line)) for line in lines]

    # Viewers.

    def _come(self) -> None:
        seat = self.any_seat()
        if seat.attachment is not None:
            self._detach(seat, 4409, "superseded")
        self._attach_from(seat)

    def _attach_from(self, seat: GatewaySeat) -> None:
        """Attach with the cursor that a viewer has, or with one that is none."""
        seat.returns_at = None
        cursor = seat.cursor
        if cursor is not None and self.dice() < 0.05:
            cursor = Cursor("another", cursor.seq)
            seat.cursor = None
            self.referee.begins_again(seat.viewer)
        if cursor is not None and self.dice() < 0.02:
            cursor = Cursor(cursor.epoch, self._log.head + 1 + self.draw(5))
        try:
            self._attach(seat, cursor)
        except CursorError:
            self.referee.refused_cursor(cursor, self._log.head)

    def _attach(self, seat: GatewaySeat, cursor: Cursor | None) -> None:
        place: LogPlace | None = None
        if not seat.viewer.replay:
            # A client that knows nothing of viewers is a new one each time, and asks anew.
            seat.comes += 1
            name = f"{seat.viewer.id.partition('.')[0]}.{seat.comes}"
            before, seat.viewer = seat.viewer, msgspec.structs.replace(seat.viewer, id=name)
            self.referee.sits(seat.viewer)
            seat.unanswered.clear()
            if seat.last_event and self.dice() < 0.5:
                place = read_id(seat.last_event)
                cursor = place.cursor
                self.referee.goes_on(before, seat.viewer)
        seat.last_event = ""
        compact = self.dice() < 0.5
        seat.attachment, _, effects = self.hub.attach(
            seat.viewer, cursor, self._now_ms, compact=compact
        )
        self.carry_out(effects)
        if place is not None:
            self.hub.go_back(seat.attachment, *place)
        self.referee.attached(seat.viewer, seat.attachment.live_from, compact=compact)
        for line in list(seat.unanswered.values()):
            self.say(seat, line)

    def _go(self) -> None:
        seat = self.any_seat()
        if seat.attachment is not None:
            self.deliver(seat, self.draw(len(seat.wire) + 1))
            self._detach(seat, 1006, "cut")
            self._lose(seat)

    def _lose(self, seat: GatewaySeat) -> None:
        seat.returns_at = self._now + self.dice() * 10.0

    def _return(self) -> None:
        for seat in self.seats:
            if seat.returns_at is not None and seat.returns_at <= self._now:
                self._attach_from(seat)

    def _break_stream(self) -> None:
        """A stream of events is cut, and goes on after the last event that came."""
        reads = [each for each in self.seats if each.attachment is not None and each.reads_events]
        if not reads:
            return
        seat = reads[self.draw(len(reads))]
        self.pull_of(seat)
        self.deliver(seat, self.draw(len(seat.wire) + 1))
        if not seat.last_event:
            return  # what waits for a reader is read by the next one
        seat.wire = [each for each in seat.wire if each[0] == BESIDE]
        cursor, parts = read_id(seat.last_event)
        throw = self.dice()
        if throw < 0.05:
            cursor = Cursor("another", cursor.seq)
            self.deliver(seat, len(seat.wire))  # what it had been answered already
            seat.cursor, seat.last_event = None, ""
            self.referee.begins_again(seat.viewer, forgets_answers=True)
        elif throw < 0.1:
            try:
                beyond = Cursor(cursor.epoch, self._log.head + 1 + self.draw(5))
                self.hub.go_back(seat.attachment, beyond)
            except CursorError:
                self.referee.refused_cursor(beyond, self._log.head)
        self.hub.go_back(seat.attachment, cursor, parts)

    def _detach(self, seat: GatewaySeat, code: int, cause: str) -> None:
        assert seat.attachment is not None
        self.carry_out(
            self.hub.detach(seat.attachment, self._now, self._now_ms, code=code, cause=cause)
        )
        self._cut(seat)

    def _cut(self, seat: GatewaySeat) -> None:
        seat.attachment = None
        seat.wire.clear()
        seat.questions.clear()

    def _decide(self) -> None:
        seat = self.any_seat()
        if seat.attachment is not None and seat.questions:
            request_id = seat.questions[self.draw(len(seat.questions))]
            line = jsonrpc.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"outcome": {}}})
            self.say(seat, line)
            if self.dice() < 0.7:
                seat.questions.remove(request_id)

    def say(self, seat: GatewaySeat, line: bytes) -> None:
        frame = jsonrpc.decode(line)
        assert isinstance(frame, jsonrpc.Frame)
        if seat.attachment is not None:
            self.carry_out(self.hub.receive(seat.attachment, frame, self._now_ms))

    def pull_of(self, seat: GatewaySeat) -> int:
        if seat.attachment is None:
            return 0
        if seat.reads_events:
            told = events_of(seat.attachment, self.renderer, self._log.epoch)
        else:
            frames = frames_of(seat.attachment, self.renderer)
            told = [("", frame) for frame in frames]
        read = [(name, line, jsonrpc.loads(line)) for name, line in told]
        size = sum(len(line) for _, line in told)
        self.referee.sent(self._log.head, size, [frame for _, _, frame in read])
        seat.wire += read
        return len(told)

    def deliver(self, seat: GatewaySeat, count: int) -> None:
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
        self._log.trim(limit_bytes=self.draw(2000))
        self.referee.trimmed(self._log.first)

    def _lose_front(self) -> None:
        there = [seat for seat in self.seats if seat.attachment is not None]
        for seat in there:
            self.deliver(seat, self.draw(len(seat.wire) + 1))
            self._detach(seat, 1006, "front")
        for seat in there:
            self._lose(seat)

    def _die(self) -> None:
        there = [seat for seat in self.seats if seat.attachment is not None]
        for seat in self.seats:
            self.deliver(seat, self.draw(len(seat.wire) + 1))
            self._cut(seat)
        self._log.crash()
        self._begin()
        self.referee.agent_died()
        self.carry_out(self.hub.lost_agent(CRASH, self._now_ms))
        for seat in there:
            self._lose(seat)

    def _tick(self) -> None:
        self._now += self.dice() * 60.0
        self.carry_out(self.hub.handle_timeout(self._now, self._now_ms))

    def _rest(self) -> None:
        """The links hold, the agent answers all, everybody reads on."""
        while self.agent_open:
            self._answer()
        for seat in self.seats:
            if seat.attachment is None:
                self._attach(seat, seat.cursor)
        while self.agent_open:  # what was asked for by those who came back
            self._answer()
        for seat in self.seats:
            position = -1
            while self.pull_of(seat) or seat.wire or seat.position != position:
                position = seat.position  # of what is pulled, some viewers are shown nothing
                self.deliver(seat, len(seat.wire))
        for seat in self.seats:
            self.referee.rests(seat.viewer, seat.position, self._log.head, set(seat.unanswered))
        for seat in self.seats:
            if seat.attachment is not None:
                self._detach(seat, 1000, "left")
        self.carry_out(self.hub.handle_timeout(self._now + 1000.0, self._now_ms))
        self.referee.is_over()


World.steps = (
    (0.1, World._speak),
    (0.21, World._break_stream),
    (0.28, World._answer),
    (0.33, World._ask),
    (0.41, World._come),
    (0.46, World._go),
    (0.55, World.prompt),
    (0.58, World.repeat),
    (0.63, World._decide),
    (0.78, World.pull),
    (0.90, World.arrive),
    (0.94, World._forget),
    (0.96, World._lose_front),
    (0.98, World._die),
    (1.01, World._tick),
)
