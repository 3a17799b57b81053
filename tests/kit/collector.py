"""A collector on loopback: takes reports over real sockets, and answers as a test says.

Owns what came, request by request, and each way in which a collector misbehaves.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import TYPE_CHECKING, Any, Self

import msgspec

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

_HEAD_BYTES = 64 * 1024


class Came(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def record(self) -> dict[str, Any]:
        (logs,) = json.loads(self.body)["resourceLogs"]
        (scope,) = logs["scopeLogs"]
        (record,) = scope["logRecords"]
        assert isinstance(record, dict)
        return record

    @property
    def facts(self) -> dict[str, Any]:
        return {
            each["key"]: next(iter(each["value"].values())) for each in self.record["attributes"]
        }

    @property
    def report_id(self) -> str:
        return str(self.headers["idempotency-key"])


def answer(status: int, body: bytes = b"{}", **headers: str) -> bytes:
    named = {"content-length": str(len(body)), "connection": "close"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} PastLine\r\n{head}\r\n".encode() + body


OK = answer(200)


class Collector:
    """Serves until it is left; `answers` are given one by one, the last for ever.

    An answer is bytes, or a function that plays with the socket.
    """

    def __init__(
        self,
        *answers: bytes | Callable[[socket.socket], None],
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.came: list[Came] = []
        self.accepted: list[Came] = []
        """Those of them that were answered with `OK`."""
        self.connections = 0
        self._answers = list(answers) or [OK]
        self._news = threading.Condition()
        self._context = context
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.closed = threading.Event()
        """Lets who plays with a socket leave off."""
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._context else ''}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in (self._accepting, *self._threads):
            thread.join(FUSE_SECONDS)

    def turn_to(self, *answers: bytes | Callable[[socket.socket], None]) -> None:
        with self._news:
            self._answers = list(answers)

    def expect(self, count: int) -> list[Came]:
        """The first of what came, once it is so much; what was refused may come again."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.came) >= count, FUSE_SECONDS), self.came
            return self.came[:count]

    def ids(self) -> Sequence[str]:
        """The reports that came, each as often as it did."""
        with self._news:
            return [each.report_id for each in self.came]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with self._news:
                self.connections += 1
                self._news.notify_all()
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            self._open.add(connection)
            with connection:
                came = _read(connection)
                if came is None:
                    return
                with self._news:
                    answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                    self.came.append(came)
                    if answer is OK:
                        self.accepted.append(came)
                    self._news.notify_all()
                if callable(answer):
                    answer(connection)
                else:
                    connection.sendall(answer)
        self._open.discard(connection)

    # Ways to misbehave.

    def never(self, _: socket.socket) -> None:
        self.closed.wait(FUSE_SECONDS)

    def slowly(self, connection: socket.socket) -> None:
        for byte in answer(200, b" " * _HEAD_BYTES):
            connection.sendall(bytes([byte]))
            if self.closed.wait(0.05):
                return


def cut(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n{")


def gone(_: socket.socket) -> None:
    """Close without an answer."""


def _read(connection: socket.socket) -> Came | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(_HEAD_BYTES)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        more = connection.recv(_HEAD_BYTES)
        if not more:
            return None
        body += more
    method, path, _ = first.split(" ", 2)
    return Came(method, path, headers, body)
