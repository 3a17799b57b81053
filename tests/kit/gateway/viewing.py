"""A viewer's connection to a gateway, as a test has it: WebSocket frames, in and out.

Owns what a client of one kind says of itself, and the reading of frames under a fuse.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

TYPED = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
STOCK: dict[str, Any] = {}
_LOGGER = logging.getLogger("a viewer")
_LOGGER.disabled = True  # a gateway in the same process keeps its own log


def failure_of(answer: dict[str, Any]) -> dict[str, Any]:
    failure: dict[str, Any] = answer["error"]["data"]["agent_error"]
    return failure


def has_ended_well(answer: dict[str, Any]) -> bool:
    return "result" in answer and answer["result"]["stopReason"] == "end_turn"


class ViewerClient:
    def __init__(  # noqa: PLR0913 - what a client brings
        self,
        gateway: Gateway,
        *,
        capabilities: dict[str, Any] | None = None,
        replay: bool = False,
        known: dict[str, Any] | None = None,
        token: str | None = None,
        session: str = "",
        receive_bytes: int = 0,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """Connect and initialize; `known` is what an earlier socket of the viewer's was told.

        `receive_bytes` is what its kernel takes in while nobody reads, which may be megabytes.
        """
        url = gateway.url
        if session:
            url = f"ws://127.0.0.1:{gateway.port}/v1/sessions/{session}/ws"
        self._stack = contextlib.ExitStack()
        self._socket = self._stack.enter_context(
            connect(
                url,
                additional_headers={"Authorization": f"Bearer {token or gateway.token()}"},
                open_timeout=FUSE_SECONDS,
                max_size=None,
                logger=_LOGGER,
                ssl=trust,
                ping_interval=None,  # a viewer that does not read hears no answer to its pings
                sock=_socket_to(gateway.port, receive_bytes) if receive_bytes else None,
            )
        )
        self.frames: list[dict[str, Any]] = []
        self.messages = 0
        """How many came with those frames, which is fewer for whoever asked for lines."""
        self._lines: deque[str] = deque()
        self._last = 0
        ours = ({"replay": 1} if replay else {}) | (known or {})
        params = {
            "protocolVersion": 1,
            "clientCapabilities": STOCK if capabilities is None else capabilities,
            "clientInfo": {"name": "a test", "version": "1"},
        } | ({"_meta": {"lastword": ours}} if ours else {})
        greeting = self.result("initialize", params)
        met = greeting["_meta"]["lastword"]
        self.known = {key: met[key] for key in ("viewer", "secret")}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def is_compressed(self) -> bool:
        """Are its frames?"""
        return bool(self._socket.protocol.extensions)

    def cut(self) -> None:
        """Be gone without a word, as a machine that goes to sleep."""
        self._socket.socket.shutdown(socket.SHUT_RDWR)
        self._stack.close()

    def leave(self, code: int) -> None:
        """Close the socket with a code: 1001 is how a browser closes that of a tab."""
        self._socket.close(code)
        self._stack.close()

    def send(self, frame: dict[str, Any]) -> None:
        self._socket.send(msgspec.json.encode({"jsonrpc": "2.0"} | frame).decode())

    def request(self, method: str, params: dict[str, Any], *, id_: int = 0) -> int:
        self._last = max(self._last + 1, id_)
        number = id_ or self._last
        self.send({"id": number, "method": method, "params": params})
        return number

    def next(self) -> dict[str, Any]:
        if not self._lines:
            self._lines.extend(str(self._socket.recv(FUSE_SECONDS)).split("\n"))
            self.messages += 1
        frame: dict[str, Any] = msgspec.json.decode(self._lines.popleft())
        self.frames.append(frame)
        return frame

    def find(self, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The first frame that is so, of those that came and those that come."""
        burns_at = time.monotonic() + FUSE_SECONDS
        for frame in self.frames:
            if holds(frame):
                return frame
        while time.monotonic() < burns_at:
            frame = self.next()
            if holds(frame):
                return frame
        raise AssertionError(f"the fuse burned: {self.frames}")

    def answer(self, request: int) -> dict[str, Any]:
        return self.find(lambda frame: frame.get("id") == request and "method" not in frame)

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = self.answer(self.request(method, params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def new(self, folder: Path) -> str:
        result = self.result("session/new", {"cwd": str(folder), "mcpServers": []})
        session_id: str = result["sessionId"]
        return session_id

    def load(self, session: str, folder: Path, **more: Any) -> dict[str, Any]:
        params = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        return self.result("session/load", params | more)

    def prompt(self, session: str, text: str = "go", *, id_: int = 0) -> int:
        blocks = [{"type": "text", "text": text}]
        return self.request("session/prompt", {"sessionId": session, "prompt": blocks}, id_=id_)

    def turn(self, session: str, text: str = "go") -> dict[str, Any]:
        """The answer to a prompt."""
        return self.answer(self.prompt(session, text))

    def cancel(self, session: str) -> None:
        self.send({"method": "session/cancel", "params": {"sessionId": session}})

    def failure(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The typed failure with which a request is refused."""
        return failure_of(self.answer(self.request(method, params)))

    def question(self) -> dict[str, Any]:
        return self.find(lambda frame: frame.get("method") == "session/request_permission")

    def allow(self, asked: dict[str, Any]) -> None:
        option = asked["params"]["options"][0]["optionId"]
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        self.send({"id": asked["id"], "result": outcome})

    def updates(self, kind: str) -> list[dict[str, Any]]:
        found = [frame.get("params", {}).get("update", {}) for frame in self.frames]
        return [update for update in found if update.get("sessionUpdate") == kind]

    @property
    def said(self) -> list[str]:
        """What the agent has written, piece by piece."""
        return [update["content"]["text"] for update in self.updates("agent_message_chunk")]

    def seqs(self) -> list[int]:
        metas = [frame.get("params", {}).get("_meta", {}) for frame in self.frames]
        return [meta["lastword"]["seq"] for meta in metas if "seq" in meta.get("lastword", {})]

    def closed(self) -> tuple[int, str]:
        """Read until the socket is closed; gives the code and the reason, 1006 where it is cut."""
        with contextlib.closing(self._stack):
            while True:
                try:
                    self.next()
                except ConnectionClosed as closed:
                    return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")


@contextlib.contextmanager
def opened(gateway: Gateway, **how: Any) -> Iterator[tuple[ViewerClient, str]]:
    """A viewer, and a session that it has opened."""
    with ViewerClient(gateway, **how) as viewer:
        yield viewer, viewer.new(gateway.root)


@contextlib.contextmanager
def attached(gateway: Gateway, session: str, /, **how: Any) -> Iterator[ViewerClient]:
    """A viewer of a session that there is."""
    with ViewerClient(gateway, **how) as viewer:
        viewer.load(session, gateway.root)
        yield viewer


def is_life(word: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a frame is an event of a session's life."""
    return lambda frame: frame.get("params", {}).get("word") == word


def _socket_to(port: int, receive_bytes: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    made.settimeout(FUSE_SECONDS)
    made.connect(("127.0.0.1", port))
    return made
