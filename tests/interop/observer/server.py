"""A loopback HTTP server whose paths answer as model providers do, well and badly."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITED = json.dumps({"error": {"code": "RESOURCE_EXHAUSTED"}}).encode()
PAGE = "<html>bad gateway é€".encode() * 1000
PACKED = json.dumps({"error": "packed " + "q" * 9000}).encode()
SECRET = "secret-of-an-answer"
PIECE_SECONDS = 0.05
"""Between two pieces of a stream."""


class Handler(BaseHTTPRequestHandler):
    """Answers by the last word of the path."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        getattr(self, self.path.partition("?")[0].rpartition("/")[2])()

    def ok(self) -> None:
        self._answer(200, b'{"ok":true}', "application/json")

    def nothing(self) -> None:
        self._answer(200, b"", "application/json")

    def no_events(self) -> None:
        self._begin_stream()
        self.wfile.write(b"0\r\n\r\n")

    def limited(self) -> None:
        waits = {"Retry-After": "7", "X-RateLimit-Remaining": "0", "Set-Cookie": SECRET}
        self._answer(429, LIMITED, "application/json; charset=utf-8", waits)

    def gateway(self) -> None:
        many = {f"X-RateLimit-{number}": "9" * 300 for number in range(40)}
        self._answer(502, PAGE, "text/html", many)

    def packed(self) -> None:
        coding = {"Content-Encoding": "gzip"}
        self._answer(503, gzip.compress(PACKED), "application/json", coding)

    def stream(self) -> None:
        self._begin_stream()
        self._send_piece()
        while not self.server.enough.wait(PIECE_SECONDS):
            self._send_piece()
        self.wfile.write(b"0\r\n\r\n")

    def broken(self) -> None:
        self._begin_stream()
        self._send_piece()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def started(self) -> None:
        self._begin_stream()
        self._send_piece()
        self.never()

    def never(self) -> None:
        self.rfile.read(1)  # until the client leaves
        self.close_connection = True

    def _answer(
        self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None
    ) -> None:
        sent = b"" if self.command == "HEAD" else body
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **(more or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.wfile.write(f"HTTP/1.1 {status} As asked\r\n{lines}\r\n".encode() + sent)  # in one

    def _begin_stream(self) -> None:
        headers = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked"
        self.wfile.write(f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode())

    def _send_piece(self) -> None:
        piece = f"data: {SECRET}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):
            self.close_connection = True  # the client left, or this side did

    def finish(self) -> None:
        try:
            super().finish()
        except (OSError, ValueError):
            return

    def log_message(self, *_: object) -> None:
        return


class Server(ThreadingHTTPServer):
    """The server; `enough` ends its streams."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.enough = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(PIECE_SECONDS,))
        thread.start()
        try:
            yield server
        finally:
            server.enough.set()
            server.shutdown()
            thread.join(FUSE_SECONDS)
