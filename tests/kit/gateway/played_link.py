"""A connector between an editor and a gateway's hub, over a link whose every frame may be the last.

Owns the players around `lastword.gateway.connecting.core`, all without I/O: an editor that applies
what it is given, a front as far as one session needs it, and the agent behind. What has to hold is
`PlayedLink.rests`'s.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from lastword.client.close_codes import Why
from lastword.client.reconnect import GiveUp
from lastword.core.link.handshake import read_client
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway.connecting.core import Connector
from lastword.gateway.connecting.positions import Greeted, NotGreeted, ToEditor, ToGateway
from lastword.gateway.holder.connection import _is_compact, _start_of
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import CursorError, Viewer, joined
from tests.kit.gateway.played import CRASH, SESSION, Drawn, PlayedSession
from tests.kit.simulation.ledger import BrokenPromiseError

if TYPE_CHECKING:
    from lastword.gateway.connecting.positions import ConnectEffect
    from lastword.gateway.viewing.reader import Attachment

END = GiveUp(
    Why.UNREACHABLE, "Gave up after 6 tries.", "Check that the gateway is running.", "Retry", ""
)


class PlayedFront(PlayedSession):
    """A gateway with one session, as one viewer's sockets see it."""

    def __init__(self) -> None:
        super().__init__()
        self.log = MemoryLog(epoch="e1")
        self.serve(self.log)
        self._viewers = 0
        self._attachment: Attachment | None = None
        self._viewer: Viewer | None = None
        self._due: tuple[int, bytes] | None = None
        self.down: list[bytes] = []
        self.is_open = False
        self.has_session = False
        self.prompts: list[int] = []
        self.answers: list[int] = []
        self.forgets_viewers = False
        self.refusal: dict[str, Any] | None = None

    def receive(self, line: bytes) -> None:
        frame = jsonrpc.decode(line)
        assert isinstance(frame, jsonrpc.Frame)
        method, request_id = frame.message.method, frame.message.request_id
        if method == "initialize":
            assert request_id is not None
            self._introduce(frame, request_id)
        elif method == "session/new":
            assert request_id is not None
            self._make(request_id)
        elif method in {"session/load", "session/resume"}:
            assert request_id is not None
            self._attach(frame, request_id)
        elif method == "_lastword/ping":
            self.down.append(jsonrpc.result(request_id or b"0", {}))
        elif self._attachment is not None:
            self.carry_out(self.hub.receive(self._attachment, frame, 0))
        elif request_id is not None and method is not None:
            self.down.append(jsonrpc.error(request_id, {"code": -32002, "message": "unknown"}))

    def _introduce(self, frame: jsonrpc.Frame, request_id: bytes) -> None:
        if self.refusal is not None:
            self.down.append(jsonrpc.error(request_id, self.refusal))
            return
        params = jsonrpc.params_of(frame)
        ours = object_of(object_of(params.get("_meta")).get("lastword"))
        name = ours.get("viewer")
        if self.forgets_viewers or not isinstance(name, str):
            self._viewers += 1
            name = f"v{self._viewers}"
        self.forgets_viewers = False
        self._viewer = Viewer(id=name, profile=read_client(frame.line), replay=True)
        meta = {"lastword": {"replay": 1, "viewer": name, "secret": "x"}}
        self.down.append(jsonrpc.result(request_id, {"protocolVersion": 1, "_meta": meta}))

    def _make(self, request_id: bytes) -> None:
        assert self._viewer is not None
        self.has_session = True
        self._attachment, _, effects = self.hub.attach(self._viewer, None, 0)
        self.carry_out(effects)
        place = {"epoch": self.log.epoch, "head": 0, "from": self._attachment.reader.pos + 1}
        result = {"sessionId": SESSION, "_meta": {"lastword": place}}
        self.down.append(jsonrpc.result(request_id, result))
        self._attachment.live_from = 0

    def _attach(self, frame: jsonrpc.Frame, request_id: bytes) -> None:
        assert self._viewer is not None
        if not self.has_session or frame.message.session_id != SESSION:
            self.down.append(jsonrpc.error(request_id, {"code": -32002, "message": "unknown"}))
            return
        params = jsonrpc.params_of(frame)
        try:
            cursor, replay = _start_of(params, loads=frame.message.method == "session/load")
            self.detach()
            compact = _is_compact(params, self._viewer)
            self._attachment, _, effects = self.hub.attach(
                self._viewer, cursor, 0, replay=replay, compact=compact
            )
            self.carry_out(effects)
        except CursorError:
            self.down.append(jsonrpc.error(request_id, {"code": -32602, "message": "cursor"}))
            return
        first = self._attachment.reader.pos + 1
        self.down.append(self.renderer.beginning(self.log.epoch, first))
        place = {"epoch": self.log.epoch, "head": self._attachment.live_from}
        result = {"modes": None, "_meta": {"lastword": place}}
        self._due = (self._attachment.live_from, jsonrpc.result(request_id, result))

    def detach(self) -> None:
        self._due = None
        if self._attachment is not None:
            self.carry_out(self.hub.detach(self._attachment, 0.0, 0, code=1006, cause="cut"))
            self._attachment = None

    def pull(self) -> int:
        """Send what the log has; gives how many frames that were."""
        if self._attachment is None:
            return 0
        pulled = self._attachment.reader.pull()
        if self._attachment.compact:
            pulled = joined(pulled, self._attachment.live_from)
        frames = self.renderer.pulled(pulled, self._attachment)
        if self._due is not None and self._attachment.reader.pos >= self._due[0]:
            frames.append(self._due[1])
            self._due = None
        self.down += frames
        return len(frames)

    # The agent.

    def to_viewer(self, attachment: Attachment, lines: list[bytes]) -> None:
        del attachment
        self.down += lines

    def to_agent(self, frame: dict[str, Any]) -> None:
        if frame.get("method") == "session/prompt":
            self.prompts.append(frame["params"]["tag"])
        elif "method" not in frame:
            self.answers.append(frame["id"])

    def die(self) -> None:
        self.serve(self.log)
        self._attachment = self._due = None
        self.carry_out(self.hub.lost_agent(CRASH, 0))


class PlayedLink(Drawn):
    def __init__(self, seed: str = "", capabilities: dict[str, Any] | None = None) -> None:
        super().__init__(seed)
        self._tag = 0
        self.now = 100.0
        self.front = PlayedFront()
        self.connector = Connector()
        self._capabilities = capabilities or {}
        self.up: list[bytes] = []
        self.given: list[dict[str, Any]] = []
        self.others: list[ConnectEffect] = []
        self.asked: dict[int, str] = {}
        self.said = 0
        self._questions: list[Any] = []
        self._agent_asks = 5000
        self.decided = 0

    # The editor.

    def say(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.carry_out(self.connector.from_editor(line, self.now))

    def ask(self, method: str, params: dict[str, Any]) -> int:
        number = len(self.asked) + 1
        self.asked[number] = method
        self.say({"id": number, "method": method, "params": params})
        return number

    def introduce(self) -> int:
        params = {"protocolVersion": 1, "clientCapabilities": self._capabilities}
        return self.ask("initialize", params)

    def prompt(self) -> int:
        self._tag += 1
        return self.ask("session/prompt", {"sessionId": SESSION, "prompt": [], "tag": self._tag})

    def carry_out(self, effects: list[ConnectEffect]) -> None:
        for effect in effects:
            if isinstance(effect, ToEditor):
                self._take(json.loads(effect.line))
            elif isinstance(effect, ToGateway):
                assert self.front.is_open
                self.up.append(effect.line)
            else:
                self.others.append(effect)

    def _take(self, frame: dict[str, Any]) -> None:
        self.given.append(frame)
        if "method" in frame and "id" in frame:
            self._questions.append(frame["id"])
        elif frame.get("method") == "$/cancel_request":
            self._questions.remove(frame["params"]["requestId"])

    def answers(self, number: int) -> list[dict[str, Any]]:
        return [each for each in self.given if each.get("id") == number and "method" not in each]

    def decide(self) -> None:
        if self._questions:
            self.decided += 1
            self.say({"id": self._questions.pop(0), "result": {"outcome": {}}})

    def words(self) -> list[int]:
        """The numbers of what the agent said, as the editor was told them."""
        updates = [object_of(object_of(each.get("params")).get("update")) for each in self.given]
        return [update["word"] for update in updates if "word" in update]

    # The agent.

    def speak(self) -> None:
        lines = []
        for _ in range(1 + self.draw(4)):
            self.said += 1
            update = {"sessionUpdate": "agent_message_chunk", "word": self.said}
            lines.append(
                jsonrpc.notification("session/update", {"sessionId": SESSION, "update": update})
            )
        self.front.from_agent(*lines)

    def end_turn(self) -> None:
        if self.front.agent_open:
            number = b"%d" % self.front.agent_open.pop(0)
            fails = self.dice() < 0.3
            ended = jsonrpc.result(number, {"stopReason": "end_turn"})
            self.front.from_agent(jsonrpc.error(number, CRASH) if fails else ended)

    def question(self) -> None:
        self._agent_asks += 1
        params = {"sessionId": SESSION, "options": []}
        request = jsonrpc.request(b"%d" % self._agent_asks, "session/request_permission", params)
        self.front.from_agent(request)

    # The link.

    def open(self) -> None:
        if not self.front.is_open:
            self.front.is_open = True
            self.carry_out(self.connector.opened())

    def cut(self) -> None:
        if self.front.is_open:
            self._arrive(self.up, self.front.receive)
            self.front.is_open = False
            self.up.clear()
            self.front.down.clear()
            self.front.detach()
            self.connector.lost(self.now)

    def _arrive(self, lines: list[bytes], receive: Any) -> None:
        count = self.draw(len(lines) + 1)
        arriving, lines[:] = lines[:count], lines[count:]
        for line in arriving:
            receive(line)

    def _from_gateway(self, line: bytes) -> None:
        self.carry_out(self.connector.from_gateway(line, self.now))

    def give_up(self) -> None:
        if not self.front.is_open:
            self.carry_out(self.connector.gave_up(END))

    def die(self) -> None:
        self.cut()
        if self.front.has_session:
            self.front.die()

    def settle(self) -> None:
        self.open()
        while self.up or self.front.down or self.front.pull():
            while self.up:
                self.front.receive(self.up.pop(0))
            self.front.pull()
            while self.front.down:
                self._from_gateway(self.front.down.pop(0))

    def step(self) -> None:
        self.now += self.dice() * 3
        super().step()

    def step_link(self) -> None:
        acts = (self._up, self._down, self._pull, self._pull, self.open, self.open, self.cut)
        acts[self.draw(len(acts))]()

    def _up(self) -> None:
        self._arrive(self.up, self.front.receive)

    def _down(self) -> None:
        self._arrive(self.front.down, self._from_gateway)

    def _pull(self) -> None:
        if self.front.is_open:
            self.front.pull()

    def _flow(self) -> None:
        for act in (self._up, self._pull, self._down):
            act()

    def rests(self) -> None:
        """The link holds, the agent ends its turns: look what has become of everything.

        Raises:
            AssertionError: A promise did not hold.
        """
        self.settle()
        while self._questions:
            self.decide()
        self.settle()
        while self.front.agent_open:
            self.end_turn()
        self.settle()
        assert self.words() == list(range(1, self.said + 1))
        for number in self.asked:
            assert len(self.answers(number)) == 1, (number, self.asked[number])
        assert max(Counter(self.front.prompts).values(), default=1) == 1
        shown = Counter(each["id"] for each in self.given if "id" in each and "method" in each)
        assert max(shown.values(), default=1) == 1
        assert max(Counter(self.front.answers).values(), default=1) == 1
        assert self.front.hub.open_questions == 0
        assert not any(
            "lastword" in json.dumps(each.get("params", {}).get("_meta", {})) for each in self.given
        )
        assert not any(isinstance(each, NotGreeted) for each in self.others)
        assert self.connector.has_open is False

    @property
    def greeted(self) -> list[int]:
        """How many updates were caught up, for each time that the link was whole."""
        return [each.updates for each in self.others if isinstance(each, Greeted)]


PlayedLink.steps = (
    (0.10, PlayedLink.speak),
    (0.15, PlayedLink.end_turn),
    (0.20, PlayedLink.question),
    (0.27, PlayedLink.decide),
    (0.32, PlayedLink.prompt),
    (0.39, PlayedLink._up),
    (0.47, PlayedLink._down),
    (0.53, PlayedLink._pull),
    (0.78, PlayedLink._flow),
    (0.83, PlayedLink.cut),
    (0.97, PlayedLink.open),
    (0.98, PlayedLink.give_up),
    (1.01, PlayedLink.die),
)


def begun(seed: str = "", capabilities: dict[str, Any] | None = None) -> PlayedLink:
    link = PlayedLink(seed, capabilities)
    link.introduce()
    link.settle()
    link.ask("session/new", {"cwd": "/w", "mcpServers": []})
    link.settle()
    return link


def is_typed(answer: dict[str, Any]) -> dict[str, Any]:
    """The failure that an answer tells."""
    payload: dict[str, Any] = answer["error"]["data"]["agent_error"]
    return payload


def play(seed: str, steps: int = 150) -> PlayedLink:
    """One schedule: whatever was cut, all is well at its end."""
    link = begun(seed)
    for _ in range(steps):
        link.step()
    link.rests()
    return link


class ConnectingWorld:
    """The same as the other worlds have it."""

    def __init__(self, seed: int, number: int) -> None:
        self._seed = f"{seed}/{number}"
        self.trace: list[bytes] = []

    def run(self) -> None:
        try:
            self.trace = [jsonrpc.dumps(frame) for frame in play(self._seed).given]
        except AssertionError as error:
            raise BrokenPromiseError("lost", str(error)) from error
