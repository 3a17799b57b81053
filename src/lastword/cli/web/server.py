"""The record's page, served on the loopback interface by the standard library.

Owns the requests, their answers, and the limit of simultaneous connections. Access is in `door`,
the data in `answers`.
"""

from __future__ import annotations

import socketserver
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from lastword.cli.web import answers, frames
from lastword.cli.web.door import Door
from lastword.errors import StoreError
from lastword.web.files import SAFE, TYPES, record_files

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "127.0.0.1"
MAX_CONNECTIONS = 32
_LOOK_SECONDS = 0.5
_MAX_ID = 2**62
_TEXT = "text/plain; charset=utf-8"


class LogServer(ThreadingHTTPServer):
    """Serves one record to the browser that followed its link."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, path: str, port: int, frames: str | None = None) -> None:
        """Listen; port 0 is any free one. `frames` is a file of `lastword run --frames`.

        Raises:
            OSError: The port is not available.
        """
        super().__init__((HOST, port), _Request)
        self.path = path
        self.frames = frames
        self.door: Door = Door(self.server_address[1])
        self.timeout: float | None = _LOOK_SECONDS
        self.requested_at: float = time.monotonic()
        self._room = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def server_bind(self) -> None:
        """Bind the port without asking a name server for our name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name: str = HOST
        self.server_port: int = self.server_address[1]

    def serve_until_idle(self, idle_seconds: float) -> None:
        """Serve until there has been no request for this long."""
        while time.monotonic() - self.requested_at < idle_seconds:
            self.handle_request()

    def note_request(self) -> None:
        """Note a request of an admitted browser."""
        self.requested_at = time.monotonic()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its own thread, if there is room for one more."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, then make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a broken connection."""


class _Request(BaseHTTPRequestHandler):
    """One connection and its requests."""

    server: LogServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 30
    server_version = "lastword"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer."""
        if "content-length" in self.headers or "transfer-encoding" in self.headers:
            self.close_connection = True  # a body that nobody reads
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        if not self.server.door.knows(self.headers.get("host")):
            self._say(HTTPStatus.FORBIDDEN, "This machine is not known by that name.")
        elif url.path == "/" and "code" in query:
            self._follow(query["code"][0])
        elif url.path.startswith("/page/"):
            self._file(url.path.removeprefix("/page/"))
        elif not self.server.door.admits(self.headers.get("cookie")):
            self._say(HTTPStatus.UNAUTHORIZED, _NO_COOKIE)
        else:
            self.server.note_request()
            self._answer(url.path, {name: values[0] for name, values in query.items()})

    do_HEAD = do_GET  # noqa: N815 - the name that the library looks for

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with one line when the library refuses a request."""
        del message, explain
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:
            sentence = "This takes GET and HEAD alone."
            self._say(HTTPStatus.METHOD_NOT_ALLOWED, sentence, {"allow": "GET, HEAD"})
        else:
            self._say(code, f"{HTTPStatus(code).phrase}.")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Write nothing: the terminal shows the link."""

    def _follow(self, code: str) -> None:
        if self.command == "HEAD":  # whoever only looks where a link leads has not followed it
            self._send(HTTPStatus.OK, _TEXT, b"")
            return
        cookie = self.server.door.follow(code)
        if cookie is None and not self.server.door.admits(self.headers.get("cookie")):
            self._say(HTTPStatus.UNAUTHORIZED, _NO_COOKIE)
            return
        self.server.note_request()
        headers = {"location": "/"} | ({"set-cookie": cookie} if cookie else {})
        self._send(HTTPStatus.SEE_OTHER, _TEXT, b"", headers)

    def _file(self, name: str) -> None:
        file = record_files().get(name)
        suffix = PurePath(name).suffix
        if file is None or suffix not in TYPES:
            self._say(HTTPStatus.NOT_FOUND, "There is no such file.")
        else:
            self._send(HTTPStatus.OK, TYPES[suffix], file.body)

    def _answer(self, path: str, query: Mapping[str, str]) -> None:
        if path == "/":
            page = record_files()["record.html"].body
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", page)
            return
        try:
            answer = self._read(path, query)
        except StoreError as error:
            self._send_json({"error": f"{error}."}, HTTPStatus.SERVICE_UNAVAILABLE)
            return
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            self._send_json(
                {"error": f"The file of frames cannot be read: {reason}."},
                HTTPStatus.SERVICE_UNAVAILABLE,
            )
            return
        if answer is None:
            missing = "There is no such session in the record; it may have been cleared."
            self._send_json({"error": missing}, HTTPStatus.NOT_FOUND)
        else:
            self._send_json(answer, HTTPStatus.OK)

    def _read(self, path: str, query: Mapping[str, str]) -> dict[str, Any] | None:
        if path == "/record/sessions":
            return answers.sessions(self.server.path)
        if path == "/record/session":
            after = _number(query.get("after"))
            return answers.session(self.server.path, query.get("name", ""), after)
        if path == "/record/frames" and self.server.frames is not None:
            return frames.frames(self.server.frames, _number(query.get("after")))
        return None

    def _send_json(self, answer: dict[str, Any], status: int) -> None:
        self._send(status, "application/json", msgspec.json.encode(answer))

    def _say(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, _TEXT, f"{text}\n".encode(), headers or {})

    def _send(
        self, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        sent = {"content-type": kind, "content-length": str(len(body))}
        sent |= SAFE | {"cache-control": "no-store"} | dict(headers or {})
        for name, value in sent.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


_NO_COOKIE = (
    "This link has been followed already, or is of another `lastword log --web`.\n"
    "Type `lastword log --web` again for a new one."
)


def _number(text: str | None) -> int | None:
    """Return an entry's number; `None` if it is not one."""
    if not text or not text.isascii() or not text.isdigit():
        return None
    return min(int(text[:20]), _MAX_ID)
