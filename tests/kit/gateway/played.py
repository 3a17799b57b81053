"""What all played gateways have in common: a session on the real hub, its viewers, and dice."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import jsonrpc
from lastword.gateway.holder.effects import Effects, Retell, ToAgent, ToViewer
from lastword.gateway.holder.hub import Hub
from lastword.gateway.viewing.reader import Role, Viewer
from lastword.gateway.viewing.render import Renderer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lastword.gateway.holder.effects import HubEffect, Message
    from lastword.gateway.log.entries import Cursor
    from lastword.gateway.log.store import Log
    from lastword.gateway.viewing.reader import Attachment

SESSION = "s1"
KINDS = (*["agent_message_chunk"] * 3, "agent_thought_chunk", "plan", "usage_update", "tool_call")
CRASH = {"code": -32603, "message": "gone", "data": {"agent_error": {"type": "agent_crash"}}}


class PlayedSession:
    """The real hub and its effects; who hears of them is `to_agent`'s and `to_viewer`'s."""

    hub: Hub
    effects: Effects

    def __init__(self) -> None:
        self.renderer = Renderer(SESSION)
        self.agent_open: list[int] = []
        """The prompts that the agent has not answered."""
        self._numbers = 0

    def serve(self, log: Log, **options: Any) -> None:
        """Begin, as a holder that knows nothing but the log."""
        self.hub = Hub(log, session_id=SESSION, numbers=self._number, **options)
        self._numbers = self.hub.last_number
        self.effects = Effects(log, self._send)
        self.agent_open.clear()

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def from_agent(self, *lines: bytes, now: float = 0.0) -> None:
        frames = [frame for frame in map(jsonrpc.decode, lines) if isinstance(frame, jsonrpc.Frame)]
        self.carry_out(self.hub.from_agent(frames, now, int(now * 1000)))

    def carry_out(self, effects: Iterable[HubEffect]) -> None:
        self.effects.carry_out(effects)

    def _send(self, message: Message) -> None:
        if isinstance(message, ToAgent):
            frame = jsonrpc.loads(message.line)
            if frame.get("method") == "session/prompt":
                self.agent_open.append(frame["id"])
            self.to_agent(frame)
        elif isinstance(message, ToViewer):
            self.to_viewer(message.attachment, [message.line])
        elif isinstance(message, Retell):
            lines = self.renderer.again(message.end, message.attachment)
            self.to_viewer(message.attachment, lines)

    def to_agent(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError

    def to_viewer(self, attachment: Attachment, lines: list[bytes]) -> None:
        """Give it what is not from the log."""
        raise NotImplementedError


class Seat:
    """A viewer as a client has it: what it applied, what it waits for, what is on its way to it."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer
        self.attachment: Attachment | None = None
        self.wire: list[Any] = []
        self.cursor: Cursor | None = None
        self.unanswered: dict[int, bytes] = {}
        self.next_id = 0


SeatT = TypeVar("SeatT", bound=Seat)


class Drawn:
    """What happens, drawn from a seed."""

    steps: ClassVar[tuple[tuple[float, Callable[[Any], None]], ...]]
    """What may happen, each with the throw below which it does."""

    def __init__(self, seed: str) -> None:
        self.dice = random.Random(seed).random

    def draw(self, count: int) -> int:
        return int(self.dice() * count)

    def step(self) -> None:
        throw = self.dice()
        next(act for limit, act in self.steps if throw < limit)(self)


class PlayedWorld(Drawn, Generic[SeatT]):
    """What the agents and the viewers of every world do."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.seats: list[SeatT] = []
        self.trace: list[bytes] = []
        self._tag = 0

    def viewer(self, index: int, *, replay: bool) -> Viewer:
        typed = self.dice() < 0.5
        role = Role.OBSERVER if index and self.dice() < 0.2 else Role.CONTROLLER
        profile = ClientProfile(typed=typed, retry=typed)
        return Viewer(id=f"v{index}", role=role, profile=profile, replay=replay)

    def update(self) -> bytes:
        """What an agent says next."""
        self._tag += 1
        kind = KINDS[self.draw(len(KINDS))]
        padding = self.padding()
        update: dict[str, Any] = {"sessionUpdate": kind}
        if kind.endswith("_chunk"):
            update["content"] = {"type": "text", "text": f"<{self._tag}>{padding or ''}"}
        else:
            update |= {"toolCallId": f"t{self._tag}", "tag": self._tag}
            update |= {} if padding is None else {"x": padding}
        return jsonrpc.notification("session/update", {"sessionId": SESSION, "update": update})

    def padding(self) -> str | None:
        """What an update has beside its number, if anything."""
        return None

    def any_seat(self) -> SeatT:
        return self.seats[self.draw(len(self.seats))]

    def prompt(self) -> None:
        seat = self.any_seat()
        if seat.attachment is not None:
            seat.next_id += 1
            self._tag += 1
            params = {"sessionId": SESSION, "prompt": [], "tag": self._tag}
            line = jsonrpc.request(b"%d" % seat.next_id, "session/prompt", params)
            seat.unanswered[seat.next_id] = line
            self.say(seat, line)

    def repeat(self) -> None:
        seat = self.any_seat()
        if seat.attachment is not None and seat.unanswered:
            self.say(seat, next(iter(seat.unanswered.values())))

    def pull(self) -> None:
        self.pull_of(self.any_seat())

    def arrive(self) -> None:
        seat = self.any_seat()
        self.deliver(seat, 1 + self.draw(len(seat.wire) + 1))

    def say(self, seat: SeatT, line: bytes) -> None:
        """Have a viewer say a line to the gateway."""
        raise NotImplementedError

    def pull_of(self, seat: SeatT) -> int:
        """Put on a viewer's wire what the log has for it; return how many frames that were."""
        raise NotImplementedError

    def deliver(self, seat: SeatT, count: int) -> None:
        """Have so many frames of a viewer's wire arrive."""
        raise NotImplementedError
