"""A core under test, fed with frames as plain dicts, and what came out of it on either side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.effects import FORWARD, Ends, FrameSink
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from lastword.core.link.effects import Effect, Order
    from lastword.core.timeline.entry import Entry

MAX_TIMEOUTS = 1000
"""Timers that may fire at one moment before the clock counts as stuck."""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": {}},
}
INITIALIZED = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}


def request(request_id: Any, method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def reply(request_id: Any, /, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": members}


def prompt(request_id: Any = 1, session_id: str = "s", text: str = "hi") -> dict[str, Any]:
    params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": request_id, "method": "session/prompt", "params": params}


def update(session_id: str = "s", **members: Any) -> dict[str, Any]:
    params = {"sessionId": session_id, "update": members}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def chunk(text: str = "some text", session_id: str = "s") -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return update(session_id, sessionUpdate="agent_message_chunk", content=content)


def cancel(session_id: str = "s") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}}


def result(request_id: Any = 1, stop_reason: str = "end_turn", **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"stopReason": stop_reason, **members}}


def error(request_id: Any = 1, code: Any = -32603, message: Any = "boom") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def permission(request_id: Any = 9, session_id: str = "s") -> dict[str, Any]:
    params = {"sessionId": session_id, "toolCall": {"toolCallId": "t"}, "options": []}
    method = "session/request_permission"
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def fail(error: Exception) -> None:
    """What a shell passes on as a plain pipe, a test must see."""
    raise error


class Wire:
    """Feeds a core and keeps, in order, what each side would have read."""

    def __init__(self, **options: Any) -> None:
        self.core = FailOpen(Connection(LinkOptions(**options)), fail)
        self.now = 0.0
        self.to_client: list[bytes] = []
        self.to_agent: list[bytes] = []
        self.drops: list[str] = []
        self.kinds: list[str] = []
        self.entries: list[Entry] = []
        self.orders: list[Order] = []
        self._ends = Ends(
            client=FrameSink(self.to_client.append),
            agent=FrameSink(self.to_agent.append),
            record=self._record,
            order=self.orders.append,
            dropped=self.drops.append,
        )

    def client(self, *messages: dict[str, Any] | bytes) -> Self:
        """The client sends; what happens on a link can be told in one chain."""
        for message in messages:
            self._receive(Side.CLIENT, message)
        return self

    def agent(self, *messages: dict[str, Any] | bytes) -> Self:
        for message in messages:
            self._receive(Side.AGENT, message)
        return self

    def _receive(self, side: Side, message: dict[str, Any] | bytes) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        decoded = jsonrpc.decode(line)
        self.carry_out(self.core.receive(side, decoded, self.now), side, decoded)

    def _record(self, entry: Entry) -> None:
        self.kinds.append(entry.kind.value)
        self.entries.append(entry)

    def eof(self, side: Side) -> Self:
        self.carry_out(self.core.receive_eof(side, None, self.now))
        return self

    def stderr(self, data: bytes) -> Self:
        self.carry_out(self.core.receive_stderr(data, self.now))
        return self

    def time(self, now: float) -> Self:
        """The clock moves; what is due on the way happens at its time."""
        stuck = 0
        while (due := self.core.next_timeout()) is not None and due <= now:
            stuck = 0 if due > self.now else stuck + 1
            assert stuck < MAX_TIMEOUTS, f"the clock is stuck at {self.now}"
            self.now = max(self.now, due)
            self.carry_out(self.core.handle_timeout(self.now))
        self.now = now
        return self

    def carry_out(self, effects: list[Effect], *came: Any) -> None:
        """What the core asks for happens; `came` are the side and the frame that it is about."""
        assert came or FORWARD not in effects
        self._ends.carry_out(effects, *came)

    def answers(self, request_id: Any = 1) -> list[dict[str, Any]]:
        frames = [json.loads(frame) for frame in self.to_client]
        return [f for f in frames if "method" not in f and f.get("id") == request_id]

    def updates(self, kind: str = "") -> list[dict[str, Any]]:
        """What the client was told in updates, all or of one kind."""
        frames = [json.loads(frame) for frame in self.to_client]
        found = [f["params"]["update"] for f in frames if f.get("method") == "session/update"]
        return [each for each in found if kind in {"", each["sessionUpdate"]}]


def greeted(
    capabilities: dict[str, Any] | None = None,
    *,
    name: str = "",
    says: dict[str, Any] | None = None,
    **options: Any,
) -> Wire:
    """A link on which both ends have said hello; `says` is what the agent adds to its own."""
    params = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
    named = {"agentInfo": {"name": name, "version": "1"}} if name else {}
    wire = Wire(**options).client(INITIALIZE | {"params": params})
    return wire.agent(reply(0, protocolVersion=1, **named, **(says or {})))


def prompted(capabilities: dict[str, Any] | None = None, **options: Any) -> Wire:
    return greeted(capabilities, **options).client(prompt())


def failure(wire: Wire, request_id: Any = 1) -> dict[str, Any]:
    (answer,) = wire.answers(request_id)
    payload: dict[str, Any] = answer["error"]["data"]["agent_error"]
    return payload


def retries(wire: Wire) -> list[tuple[int, str]]:
    """The attempt and the type of each retry that the client was told of."""
    return [(u["attempt"], u["error"]["type"]) for u in wire.updates("agent_retry")]


def notices(wire: Wire) -> list[str]:
    return [each["title"] for each in wire.updates("notice")]


def thoughts(wire: Wire) -> list[str]:
    return [each["content"]["text"].strip() for each in wire.updates("agent_thought_chunk")]


def second_version() -> Wire:
    """A link of protocol version 2 with a prompt accepted and running."""
    wire = Wire()
    wire.client(INITIALIZE | {"params": {"protocolVersion": 2}})
    wire.agent({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 2}})
    wire.client(prompt())
    wire.agent({"jsonrpc": "2.0", "id": 1, "result": {"messageId": "m"}})
    wire.agent(update(sessionUpdate="state_update", state="running"))
    return wire
