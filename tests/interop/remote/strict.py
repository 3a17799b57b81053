"""A client without an SDK that takes nothing on trust: WebSocket and HTTP on bare sockets.

Owns what an official client could not tell: every byte of the upgrade and of each frame, every
header that the remote transport names, every message held against the official schema, every id
against those that were sent. What is not as it should be is an `AssertionError` at the place where
it came. It says nothing of itself that is not in the official schema, so it is owed nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import socket
from typing import TYPE_CHECKING, Any

from lastword.kit.check.schema import official
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Of RFC 6455, section 1.3."""
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
READ_BYTES = 64 * 1024
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{16,}")
SCHEMA = official(1)


class Ledger:
    """What was asked, what came, and whether it is what may come."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        """Every message as it came, in order."""
        self.messages: list[dict[str, Any]] = []
        self._open: dict[str, str] = {}
        """For each request without an answer, by its id's JSON, its method."""
        self._asked: set[str] = set()
        """The agent's requests, by their id's JSON."""

    def request(self, id_: Any, method: str, params: dict[str, Any]) -> bytes:
        """A request; its answer has to come once."""
        assert json.dumps(id_) not in self._open
        self._open[json.dumps(id_)] = method
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        return json.dumps(message).encode()

    def take(self, line: bytes) -> dict[str, Any]:
        """Take a message that came."""
        message = json.loads(line.decode("utf-8", "strict"))
        assert isinstance(message, dict), f"no single message: {line[:80]!r}"
        assert message["jsonrpc"] == "2.0"
        assert b"\n" not in line
        if "method" in message:
            self._called(message)
        else:
            self._answered(message)
        self.lines.append(line)
        self.messages.append(message)
        return message

    def _called(self, message: dict[str, Any]) -> None:
        assert set(message) <= {"jsonrpc", "id", "method", "params"}, message
        name = SCHEMA.calls.get(message["method"])
        assert name is not None, f"no method of the protocol's: {message}"
        assert not SCHEMA.departures(name, message["params"]), message
        assert not foreign_meta(message), message
        if "id" in message:
            assert isinstance(message["id"], str | int)
            assert json.dumps(message["id"]) not in self._asked, f"asked twice: {message}"
            self._asked.add(json.dumps(message["id"]))

    def _answered(self, message: dict[str, Any]) -> None:
        assert set(message) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), message
        method = self._open.pop(json.dumps(message["id"]), None)
        assert method is not None, f"an answer to nothing that is open: {message}"
        if "result" in message:
            assert not SCHEMA.departures(SCHEMA.answers[method], message["result"]), message
            # What is offered stands in the answer to initialize, and was not taken up.
            assert method == "initialize" or not foreign_meta(message["result"]), message

    def is_answered(self, id_: Any) -> bool:
        """Has this request its answer?"""
        return json.dumps(id_) not in self._open

    def result(self, id_: Any) -> dict[str, Any]:
        """The result of a request."""
        [answer] = [
            each
            for each in self.messages
            if "method" not in each and json.dumps(each["id"]) == json.dumps(id_)
        ]
        result: dict[str, Any] = answer["result"]
        return result

    def updates(self) -> list[bytes]:
        """Each `session/update`, byte for byte."""
        pairs = zip(self.lines, self.messages, strict=True)
        return [line for line, message in pairs if message.get("method") == "session/update"]


def foreign_meta(value: Any) -> list[str]:
    """The names in every `_meta` of a value that are not the agent's: it writes none."""
    if isinstance(value, list):
        return [name for each in value for name in foreign_meta(each)]
    if not isinstance(value, dict):
        return []
    own = list(value.get("_meta") or ())
    return own + [
        name for key, each in value.items() if key != "_meta" for name in foreign_meta(each)
    ]


def check_connection_headers(headers: http.client.HTTPMessage) -> str:
    """What `initialize` and the upgrade are answered with; gives the cookie to send back."""
    assert VISIBLE_ASCII.fullmatch(headers["Acp-Connection-Id"])
    cookie, *attributes = headers["Set-Cookie"].split("; ")
    assert re.fullmatch(r"[\w-]+=[\w-]+", cookie)
    assert {"Path=/", "HttpOnly"} <= set(attributes)
    return str(cookie)


class StrictSocket:
    """A WebSocket by hand (RFC 6455), without extension and subprotocol."""

    def __init__(self, port: int, token: str, cookie: str = "") -> None:
        self.ledger = Ledger()
        self._socket = socket.create_connection(("127.0.0.1", port), FUSE_SECONDS)
        self._file = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16))
        lines = [
            *("GET /acp HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket"),
            *("Connection: Upgrade", f"Sec-WebSocket-Key: {key.decode()}"),
            *("Sec-WebSocket-Version: 13", f"Authorization: Bearer {token}"),
            *([f"Cookie: {cookie}"] if cookie else []),
        ]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        status = self._file.readline().split()
        assert status[:2] == [b"HTTP/1.1", b"101"], status
        headers = http.client.parse_headers(self._file)
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        assert headers["Sec-WebSocket-Accept"] == accept
        assert headers["Upgrade"].lower() == "websocket"
        assert headers["Connection"].lower() == "upgrade"
        # A strict client ends at an extension or a subprotocol that it has not asked for.
        assert headers["Sec-WebSocket-Extensions"] is None
        assert headers["Sec-WebSocket-Protocol"] is None
        self.cookie = check_connection_headers(headers)

    def _send(self, opcode: int, data: bytes) -> None:
        mask = os.urandom(4)
        size = len(data)
        if size < 126:
            head = bytes([0x80 | opcode, 0x80 | size])
        else:
            head = bytes([0x80 | opcode, 0xFE]) + size.to_bytes(2, "big")
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self._socket.sendall(head + mask + masked)

    def _frame(self) -> tuple[int, bytes]:
        first, second = self._read(2)
        assert first & 0xF0 == 0x80, "a fragment, or a bit of an extension"
        assert not second & 0x80, "a server masks nothing"
        size = second
        if second >= 126:
            octets = 2 if second == 126 else 8
            size = int.from_bytes(self._read(octets), "big")
            assert size >= (126 if octets == 2 else 1 << 16), "not the shortest length"
        return first & 0x0F, self._read(size)

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        assert len(data) == size, "the connection has ended"
        return data

    def next(self) -> dict[str, Any]:
        """The next message."""
        while True:
            opcode, data = self._frame()
            assert opcode in {TEXT, PING}, f"a frame of the kind {opcode}: {data!r}"
            if opcode == TEXT:
                return self.ledger.take(data)
            self._send(PONG, data)

    def next_line(self) -> bytes:
        """The next message, as it came."""
        self.next()
        return self.ledger.lines[-1]

    def ask(self, id_: Any, method: str, params: dict[str, Any]) -> None:
        """Send a request."""
        self._send(TEXT, self.ledger.request(id_, method, params))

    def say(self, message: dict[str, Any]) -> None:
        """Send an answer or a notification."""
        self._send(TEXT, json.dumps({"jsonrpc": "2.0"} | message).encode())

    def call(self, id_: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and take what comes up to its answer."""
        self.ask(id_, method, params)
        while not self.ledger.is_answered(id_):
            self.next()
        return self.ledger.result(id_)

    def cut(self) -> None:
        """Be gone without a word."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._file.close()
        self._socket.close()

    def close(self) -> None:
        """Close as the protocol has it: the server answers with the same code, and then ends."""
        self._send(CLOSE, (1000).to_bytes(2, "big"))
        while (frame := self._frame())[0] != CLOSE:
            assert frame[0] in {TEXT, PING}
        assert frame[1][:2] == (1000).to_bytes(2, "big")
        assert self._file.read() == b""
        self.cut_quietly()

    def cut_quietly(self) -> None:
        """Give the descriptors back."""
        self._file.close()
        self._socket.close()


class StrictHttp:
    """Posts and streams of events by hand."""

    def __init__(self, port: int, token: str) -> None:
        self.ledger = Ledger()
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}"}
        self._open: list[http.client.HTTPConnection | http.client.HTTPResponse] = []

    def ask(self, method: str, body: bytes, headers: dict[str, str]) -> http.client.HTTPResponse:
        """The answer to a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=FUSE_SECONDS)
        self._open.append(connection)
        connection.request(method, "/acp", body, self._headers | headers)
        answer = connection.getresponse()
        self._open.append(answer)
        return answer

    def initialize(self, id_: Any, params: dict[str, Any]) -> None:
        """Be greeted: the one answer that comes in a response's body."""
        body = self.ledger.request(id_, "initialize", params)
        answer = self.ask("POST", body, {"Content-Type": "application/json"})
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
        cookie = check_connection_headers(answer.headers)
        self._headers |= {"Acp-Connection-Id": answer.headers["Acp-Connection-Id"]}
        self._headers |= {"Cookie": cookie}
        self.ledger.take(answer.read())

    def post(self, body: bytes, session: str = "") -> None:
        """Post a message: it is taken, and answered elsewhere."""
        named = {"Acp-Session-Id": session} if session else {}
        answer = self.ask("POST", body, {"Content-Type": "application/json"} | named)
        assert (answer.status, answer.read()) == (202, b"")

    def stream(self, session: str = "") -> http.client.HTTPResponse:
        """Open a stream of events: of a session, or the connection's own."""
        named = {"Acp-Session-Id": session} if session else {}
        answer = self.ask("GET", b"", {"Accept": "text/event-stream"} | named)
        assert answer.status == 200
        assert answer.headers.get_content_type() == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.readline().startswith(b": ")  # a comment opens it, and proxies pass it on
        assert answer.readline() == b"\n"
        return answer

    def next(self, stream: http.client.HTTPResponse) -> dict[str, Any]:
        """The next message of a stream."""
        while True:
            line = stream.readline()
            assert line.endswith(b"\n"), "the stream has ended"
            if line.startswith(b"id: "):  # of an event that has a place in the log
                line = stream.readline()
            assert stream.readline() == b"\n"
            if not line.startswith(b": "):
                assert line.startswith(b"data: "), line
                return self.ledger.take(line.removeprefix(b"data: ").removesuffix(b"\n"))

    def until(self, stream: http.client.HTTPResponse, id_: Any) -> dict[str, Any]:
        """Take what comes on a stream up to an answer."""
        while not self.ledger.is_answered(id_):
            self.next(stream)
        return self.ledger.result(id_)

    def delete(self) -> None:
        """End the connection."""
        assert self.ask("DELETE", b"", {}).status == 202
        self.close()

    def close(self) -> None:
        """Give the descriptors back."""
        for each in self._open:
            each.close()


def written_updates(folder: Path) -> list[bytes]:
    """Every `session/update` as the agent wrote it; the processes kept ready wrote none."""
    lines = [line for path in folder.glob("tee.*.out") for line in path.read_bytes().splitlines()]
    return [line for line in lines if json.loads(line).get("method") == "session/update"]
