"""A session of a fleet with its nodes, its agents and its viewers, drawn from a seed.

Owns the players and their accidents: processes that die, that are stopped and go on, nodes that
are cut from the broker, a broker that loses what it had acknowledged. The hub, the effects, the
replication and the readers are the real ones.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import jsonrpc
from lastword.gateway.log.entries import Cursor
from lastword.gateway.viewing.reader import CursorError, Viewer
from tests.kit.fleet.simulation.broker import ALL, Broker, Clock
from tests.kit.fleet.simulation.owner import Owner
from tests.kit.fleet.simulation.referee import FleetReferee
from tests.kit.gateway.played import SESSION, PlayedWorld, Seat
from tests.kit.gateway.world import frames_of

if TYPE_CHECKING:
    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.viewing.reader import Attachment
    from tests.kit.fleet.simulation.owner import LocalFile

BEGINS: dict[str, Any] = {}
"""Says to a viewer that everything comes from the oldest entry on."""

REST_SECONDS = 30.0
LATEST_SECONDS = 30.0
"""After it nothing is under way that was sent before."""


class Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_gone = False
        self.file: LocalFile | None = None
        self.owner: Owner | None = None


class FleetSeat(Seat):
    def __init__(self, viewer: Viewer) -> None:
        super().__init__(viewer)
        self.owner: Owner | None = None
        self.epoch = ""
        self.sent: dict[int, int] = {}


class FleetWorld(PlayedWorld[FleetSeat]):
    def __init__(self, seed: int, number: int) -> None:
        super().__init__(f"fleet/{seed}/{number}")
        self.clock = Clock()
        self.referee = FleetReferee()
        self.broker = Broker(self.clock, self.dice, self.referee)
        self.goes_on_without = self.dice() < 0.1
        self.nodes = [Node(name) for name in "abc"[: 2 + self.draw(2)]]
        self._epochs = 0
        self.seats = [self._seat(index) for index in range(1 + self.draw(3))]
        self._watch()

    def epoch(self) -> str:
        self._epochs += 1
        return f"e{self._epochs}"

    def _seat(self, index: int) -> FleetSeat:
        seat = FleetSeat(self.viewer(index, replay=True))
        self.referee.begins_again(seat.viewer.id)
        return seat

    # Time.

    def run(self) -> None:
        """Play it to its end, and let everything come to rest.

        Raises:
            BrokenPromiseError: A promise did not hold.
        """
        self.clock.run(2.0)
        for _ in range(40 + self.draw(160)):
            self.clock.run(self.dice() ** 3 * 2.0)
            self.step()
        self.rest()

    # Nodes.

    def owners(self) -> list[Owner]:
        return [node.owner for node in self.nodes if node.owner and not node.owner.is_over]

    def serving(self) -> list[Owner]:
        return [owner for owner in self.owners() if owner.serves]

    def _a_serving(self) -> Owner | None:
        serving = self.serving()
        return serving[self.draw(len(serving))] if serving else None

    def _watch(self) -> None:
        """The nodes' fronts see whether the session has an owner."""
        if self.broker.lease is None:
            able = [
                node
                for node in self.nodes
                if not node.is_gone
                and (node.owner is None or node.owner.is_over)
                and not self.broker.is_cut(node.name)
            ]
            for node in able:
                if self.dice() < 0.9:
                    node.owner = Owner(self, node)
        self.clock.later(0.5 + self.dice(), self._watch)

    def ended(self, owner: Owner) -> None:
        replication = owner.replication
        if replication is not None and not replication.is_fenced:
            own, end = replication.end, self.broker.end
            is_last = (own.term, own.node) == (end.term, end.node)
            is_last = is_last and end.last >= replication.visible
            self.referee.lost_copy(is_last=is_last)
        self.shut_viewers(owner)

    def shut_viewers(self, owner: Owner) -> None:
        for seat in self.seats:
            if seat.owner is owner:
                self.deliver(seat, self.draw(len(seat.wire) + 1))
                self._cut(seat)

    def note_divergence(self, fenced: Owner, visible: int) -> None:
        """Look whether the stream has a former owner's last visible entry, and note if not.

        The broker has lost it, then, and no later owner can know of it.
        """
        batches = self.broker.replicas.read(SESSION, visible - 1, ALL)
        own = (fenced.term, fenced.node.name)
        if visible and not any(
            each.first <= visible <= each.end.last
            and (each.end.term < own[0] or (each.end.term, each.end.node) == own)
            for each in batches
        ):
            self.referee.is_excused = True

    # Agents.

    def _speak(self) -> None:
        owner = self._a_serving()
        if owner is not None:
            owner.from_agent(*[self.update() for _ in range(1 + self.draw(5))], now=self.clock.now)

    def _answer(self) -> None:
        owner = self._a_serving()
        if owner is not None:
            self._answer_of(owner)

    def _answer_of(self, owner: Owner) -> None:
        if not owner.agent_open:
            return
        number = owner.agent_open.pop(self.draw(len(owner.agent_open)))
        lines = [self.update()] if self.dice() < 0.5 else []
        result = jsonrpc.result(b"%d" % number, {"stopReason": "end_turn"})
        owner.from_agent(*lines, result, now=self.clock.now)

    # Viewers.

    def _come(self) -> None:
        for seat in self.seats:
            if seat.attachment is None:
                self._attach(seat)

    def _attach(self, seat: FleetSeat) -> None:
        """A viewer connects at some front, which knows the owner by its record or its node."""
        lease = self.broker.lease
        serving = self.serving()
        if lease is not None and self.dice() < 0.9:
            serving = [owner for owner in serving if owner.node.name == lease.node]
        if not serving:
            return
        owner = serving[self.draw(len(serving))]
        assert owner.log is not None
        now_ms = self.clock.now_ms
        try:
            attachment, is_reset, effects = owner.hub.attach(seat.viewer, seat.cursor, now_ms)
        except CursorError:
            seat.cursor = None
            return
        if is_reset or seat.cursor is None:
            seat.wire.append(BEGINS)
        seat.owner, seat.attachment, seat.epoch = owner, attachment, owner.log.epoch
        owner.carry_out(effects)
        for line in list(seat.unanswered.values()):
            self.say(seat, line)

    def _cut(self, seat: FleetSeat) -> None:
        seat.attachment = seat.owner = None
        seat.wire.clear()

    def _go(self) -> None:
        """A link is cut, or the front that it went through dies."""
        seat = self.any_seat()
        owner = seat.owner
        if owner is None or seat.attachment is None:
            return
        self.deliver(seat, self.draw(len(seat.wire) + 1))
        attachment = seat.attachment
        self._cut(seat)
        owner.does(partial(self._detach, owner, attachment))

    def _detach(self, owner: Owner, attachment: Attachment) -> None:
        clock = self.clock
        effects = owner.hub.detach(attachment, clock.now, clock.now_ms, code=1006, cause="cut")
        owner.carry_out(effects)

    def say(self, seat: FleetSeat, line: bytes) -> None:
        owner, attachment = seat.owner, seat.attachment
        frame = jsonrpc.decode(line)
        if owner is None or attachment is None or not isinstance(frame, jsonrpc.Frame):
            return
        request = int(frame.message.request_id or b"0")
        seat.sent[request] = seat.sent.get(request, 0) + 1

        def arrives() -> None:
            if attachment in owner.hub.attached:
                owner.carry_out(owner.hub.receive(attachment, frame, self.clock.now_ms))

        owner.does(arrives)

    def pull_of(self, seat: FleetSeat) -> int:
        if seat.attachment is None or seat.owner is None or seat.owner.is_stopped:
            return 0
        frames = [jsonrpc.loads(line) for line in frames_of(seat.attachment, seat.owner.renderer)]
        self.referee.sent(frames)
        seat.wire += frames
        return len(frames)

    def deliver(self, seat: FleetSeat, count: int) -> None:
        arriving, seat.wire[:] = seat.wire[:count], seat.wire[count:]
        for frame in arriving:
            if frame is BEGINS:
                seat.cursor = None
                self.referee.begins_again(seat.viewer.id)
                continue
            self.trace.append(jsonrpc.dumps(frame))
            seq = self.referee.applied(seat.viewer.id, frame)
            if seq:
                seat.cursor = Cursor(seat.epoch, seq)
            if "method" not in frame:
                self.referee.answered(seat.viewer.id, frame["id"], seat.sent.get(frame["id"], 0))
                seat.unanswered.pop(frame["id"], None)

    # Accidents.

    def _kill(self) -> None:
        owners = self.owners()
        if owners:
            owners[self.draw(len(owners))].die()

    def _lose_node(self) -> None:
        """A machine is gone, or comes back with its disk, or with one that is damaged."""
        there = [node for node in self.nodes if not node.is_gone]
        gone = [node for node in self.nodes if node.is_gone]
        if gone and self.dice() < 0.6:
            node = gone[self.draw(len(gone))]
            node.is_gone = False
            if node.file is not None and self.dice() < 0.5:
                node.file.is_damaged = True
        elif len(there) > 1:
            node = there[self.draw(len(there))]
            node.is_gone = True
            if node.owner is not None:
                node.owner.die()

    def _stop(self) -> None:
        owners = [owner for owner in self.owners() if not owner.is_stopped]
        if owners:
            owners[self.draw(len(owners))].suspend(self.dice() ** 2 * 60.0)

    def _cut_node(self) -> None:
        """Nothing passes between a node and the broker for a while."""
        node, seconds = self.nodes[self.draw(len(self.nodes))], self.dice() ** 2 * 60.0
        self.broker.cut_until[node.name] = self.clock.now + seconds
        self.clock.later(min(4.0, seconds), partial(self._notices, node, connected=False))
        self.clock.later(seconds + 0.1, partial(self._notices, node, connected=True))

    def _notices(self, node: Node, *, connected: bool) -> None:
        owner = node.owner
        if owner is None or owner.replication is None or owner.is_over:
            return
        replication = owner.replication
        if not connected and self.broker.is_cut(node.name):
            owner.does(lambda: owner.do(replication.disconnected(self.clock.now)))
        elif connected and not self.broker.is_cut(node.name):
            owner.does(lambda: owner.do(replication.connected()))

    def _lose_leader(self) -> None:
        self.broker.away_until = self.clock.now + 3.0 + self.dice() * 4.0

    def _fill(self) -> None:
        self.broker.full_until = self.clock.now + self.dice() * 12.0

    def _expire(self) -> None:
        self.broker.expire()

    def _lose_tail(self) -> None:
        if self.dice() > 0.3:
            return
        before = self.broker.end
        self.broker.lose_tail(1 + self.draw(4))
        copies = [each.replication for each in self.owners() if each.replication is not None]
        if all(each.end.last < before.last or each.end.term < before.term for each in copies):
            self.referee.is_excused = True

    def _tick(self) -> None:
        owner = self._a_serving()
        if owner is not None:
            clock = self.clock
            owner.carry_out(owner.hub.handle_timeout(clock.now, clock.now_ms))

    # The end.

    def rest(self) -> None:
        """No more accidents: everybody comes to have everything."""
        self.broker.are_faults_over = True
        self.broker.cut_until.clear()
        self.broker.away_until = self.broker.full_until = 0.0
        for node in self.nodes:
            self._notices(node, connected=True)
        self.clock.run(LATEST_SECONDS)
        self._settle(self._is_finished)
        (owner,) = self.serving()
        assert owner.log is not None
        log: list[Numbered] = owner.log.read(0, max_entries=ALL, max_bytes=ALL)
        for seat in self.seats:
            self.referee.rests(seat.viewer.id, log, set(seat.unanswered))
        if [entry for _, entry in log] != self.referee.stream:
            self.referee.broken("mixed", "the owner's log is not what the stream has")

    def _is_finished(self) -> bool:
        """Let the agent answer, and the viewers read; return whether there is no more to do."""
        owners = self.owners()
        if len(owners) != 1 or not owners[0].serves:
            return False
        (owner,) = owners
        for seat in self.seats:
            if seat.owner is not owner:
                self._cut(seat)
        self._come()
        while owner.agent_open:
            self._answer_of(owner)
        for seat in self.seats:
            while self.pull_of(seat) or seat.wire:
                self.deliver(seat, len(seat.wire))
        assert owner.replication is not None
        if owner.replication.end.sequence != self.broker.end.sequence:
            owner.do(owner.replication.connected())  # an idle owner knows of no loss
            return False
        is_whole = not owner.replication.behind
        are_there = all(seat.owner is owner and not seat.unanswered for seat in self.seats)
        return is_whole and are_there and not owner.agent_open and not owner.is_over

    def _settle(self, done: Any) -> None:
        until = self.clock.now + REST_SECONDS
        while not done():
            if self.clock.now > until:
                self.referee.broken("late", "no owner, or one that does not get on")
            self.clock.run(0.5)


FleetWorld.steps = (
    (0.20, FleetWorld._speak),
    (0.29, FleetWorld._answer),
    (0.37, FleetWorld._come),
    (0.41, FleetWorld._go),
    (0.51, FleetWorld.prompt),
    (0.54, FleetWorld.repeat),
    (0.75, FleetWorld.pull),
    (0.87, FleetWorld.arrive),
    (0.89, FleetWorld._kill),
    (0.905, FleetWorld._lose_node),
    (0.925, FleetWorld._stop),
    (0.945, FleetWorld._cut_node),
    (0.955, FleetWorld._lose_leader),
    (0.965, FleetWorld._fill),
    (0.975, FleetWorld._expire),
    (0.98, FleetWorld._lose_tail),
    (1.01, FleetWorld._tick),
)
