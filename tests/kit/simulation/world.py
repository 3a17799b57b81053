"""The people and programs around the core: what each has read, and what it may do next.

Owns the memory that an agent and a client have of their own conversation, and the dice. What they
do with it is `agents` and `clients` beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tests.kit.simulation import frames
from tests.kit.simulation.frames import members, plain_id, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from tests.kit.simulation.player import Event, Player

_T = TypeVar("_T")

_MAX_REMEMBERED = 12

_LONG, _TOO_LONG = b"i" * 500, b"i" * 5000
NAMINGS: tuple[tuple[bytes, ...], ...] = (
    *((b"%d",),) * 6,
    (b"%d", b'"c%d"'),
    (b'"%d"',),
    (b"%d.0",),
    (b"%d", b'"%d"', b'"%d.0"', b'"v%d.0"', b'"v%d"'),
    (b'"v%d"', b'"v%d.0"'),
    (b'"\\u00e9%d"', '"é%d "'.encode()),
    (b'"' + _LONG + b'%d"', b'"' + _TOO_LONG + b'%d"'),
)
"""How a side names its requests: by one form after the other, of one number each time."""


def named(forms: tuple[bytes, ...], number: int) -> bytes:
    return forms[number % len(forms)] % (number // len(forms))


class World:
    def __init__(self, player: Player, dice: Random, *, v2: bool, handler: bool) -> None:
        self.player = player
        self.roll: Callable[[], float] = dice.random
        self.v2 = v2
        self.handler = handler
        """The agent is a handler in the client's process, which also says words."""
        self.schedule: list[Event] = []
        self.sessions: list[bytes] = []
        self.todo: list[tuple[bytes, str, bytes]] = []
        """What the agent has been asked and has not dealt with: id, method, session."""
        self.begun: set[bytes] = set()
        """Prompts of `todo` that the agent has said something about."""
        self.cancelled: list[bytes] = []
        """Sessions whose work the agent was told to stop."""
        self.waiting: dict[bytes, bytes] = {}
        """The client's open prompts -> their sessions."""
        self.dialogs: list[tuple[bytes, str]] = []
        """The agent's requests that the client has open."""
        self.past_dialogs: list[bytes] = []
        self.past_prompts: list[tuple[bytes, bytes]] = []
        self.turns = 0
        self._client_ids = 0
        self._agent_ids = 0
        self._client_naming = self.pick(NAMINGS)
        self._agent_naming = self.pick(NAMINGS)
        self.opened = 0
        """How many sessions the agent of now has made: every agent counts from 1."""
        self.loaded: set[bytes] = set()
        """Those that it has besides, since it was asked to load them."""
        self.asked: list[bytes] = []
        """The agent's latest requests."""
        self.has_models = False
        """The agent offers models."""
        self.chosen: dict[bytes, bytes] = {}
        """The requests for a model that the agent has not dealt with -> the model."""

    def chance(self, probability: float) -> bool:
        return self.roll() < probability

    def pick(self, values: Sequence[_T]) -> _T:
        return values[int(self.roll() * len(values))]

    def do(self, *event: object) -> None:
        """Let something happen, and let both sides read what came of it."""
        self.schedule.append(event)
        player = self.player
        player.play(event)
        if player.to_client:
            self._client_reads(player.to_client)
            player.to_client.clear()
        if player.to_agent:
            self._agent_reads(player.to_agent)
            player.to_agent.clear()

    def client(self, line: bytes) -> None:
        self.do("client", line)

    def agent(self, *lines: bytes) -> None:
        """The agent sends lines, in one burst or one by one."""
        if len(lines) > 1 and self.roll() < 0.7:
            self.do("block", b"\n".join(lines))
            return
        for line in lines:
            self.do("agent", line)

    def _client_reads(self, lines: list[bytes]) -> None:
        for line in lines:
            frame = read(line)
            if frame is None:
                continue
            if frame.method is None:
                session = self.waiting.pop(frame.id or b"", None)
                if frame.result is not None and b'"sessionId"' in frame.result:
                    self._opens(frame.result)
                if session is not None:
                    self.past_prompts.append((frame.id or b"", session))
                    del self.past_prompts[:-_MAX_REMEMBERED]
            elif frame.id is not None:
                self.dialogs.append((frame.id, frame.method))
            elif frame.named is not None:
                gone = [dialog for dialog in self.dialogs if dialog[0] == frame.named]
                self.dialogs = [dialog for dialog in self.dialogs if dialog not in gone]
                self._remember(frame.named)

    def _opens(self, result: bytes) -> None:
        session = members(result)["sessionId"].encode()
        if session not in self.sessions:
            self.sessions.append(session)

    def _agent_reads(self, lines: list[bytes]) -> None:
        for line in lines:
            frame = read(line)
            if frame is None or frame.method is None:
                continue
            session = (frame.session or "").encode()
            if frame.id is not None and frame.model is not None:
                self.chosen[frame.id] = frame.model.encode()
            if frame.id is not None:
                self.todo.append((frame.id, frame.method, session))
            elif frame.method == "session/cancel":
                self.cancelled.append(session)

    def _remember(self, dialog: bytes) -> None:
        self.past_dialogs.append(dialog)
        del self.past_dialogs[:-_MAX_REMEMBERED]

    def dialog(self) -> tuple[bytes, str]:
        """One of the agent's requests, which the client answers now."""
        found = self.dialogs.pop(int(self.roll() * len(self.dialogs)))
        self._remember(found[0])
        return found

    def forget_agent(self) -> None:
        self.todo.clear()
        self.begun.clear()
        self.cancelled.clear()
        self._agent_ids = 0
        self.opened = 0
        self.loaded.clear()

    def models(self, current: bytes = b"big") -> bytes:
        """What an agent says of a session's models as it opens it, or when one is chosen."""
        return frames.models(current) if self.has_models else b""

    def client_id(self) -> bytes:
        self._client_ids += 1
        return named(self._client_naming, self._client_ids)

    def agent_id(self) -> bytes:
        """The agent's next id: every agent counts from 0, and so may the client."""
        self._agent_ids += 1
        request_id = named(self._agent_naming, self._agent_ids - 1)
        self.asked = [*self.asked[-2:], request_id]
        return request_id

    def prompt(self, session: bytes, text: bytes = b"hi", size: int = 0) -> bytes:
        """The client sends a prompt, one of so many bytes where `size` says so; gives its id."""
        request_id = self.client_id()
        self.turns += 1
        self.waiting[plain_id(request_id)] = session
        if size:
            self.do("large", request_id, session, size)
        else:
            self.client(frames.prompt(request_id, session, text))
        return request_id

    def opening(self, prompt: bytes, session: bytes) -> list[bytes]:
        if not self.v2 or prompt in self.begun:
            return []
        self.begun.add(prompt)
        accepted = frames.result(prompt, b'{"messageId":"m"}')
        return [accepted, frames.state(session, b"running")]

    def ending(self, prompt: bytes, session: bytes, reason: bytes = b"end_turn") -> list[bytes]:
        if self.v2:
            return [frames.state(session, b"idle", b',"stopReason":"%b"' % reason)]
        return [frames.stopped(prompt, reason)]
