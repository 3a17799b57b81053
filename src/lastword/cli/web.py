"""`lastword log --web`: the record in a browser on this machine, served by the standard library.

Owns access (a printed link that works once, the cookie that it sets, and the accepted host names: a
foreign name that resolves to this machine, DNS rebinding, is not), the requests with their queries
and limits, the limit of simultaneous connections, the messages on the terminal, whether a browser
is opened, and the end: Ctrl-C, or half an hour without a request.
"""

from __future__ import annotations

import errno
import os
import secrets
import socketserver
import sys
import threading
import time
import webbrowser
from heapq import merge
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice, repeat
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

from lastword.cli.record_access import UnusableError, chosen_session, frame_lines
from lastword.errors import StoreError
from lastword.record import reader
from lastword.record.present import documents
from lastword.record.present.documents import ShownPart, ShownTurn, page_event
from lastword.record.reader import total
from lastword.web.files import SAFE, TYPES, record_files

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


_SECRET_BYTES = 24


class Door:
    """Admits the browser that followed the link."""

    def __init__(self, port: int) -> None:
        """Begin with a new link, for a port of this machine."""
        self._cookie = f"lastword_log_{port}"  # cookies are shared by all ports of a host
        self._port = port
        self._code = secrets.token_urlsafe(_SECRET_BYTES)
        self._token = secrets.token_urlsafe(_SECRET_BYTES)
        self._is_used = False
        self._lock = threading.Lock()

    def link(self, place: str = "") -> str:
        return f"http://127.0.0.1:{self._port}/?code={self._code}{place}"

    def knows(self, host: str | None) -> bool:
        """Return whether a host name is one of this server's."""
        return host in {f"127.0.0.1:{self._port}", f"localhost:{self._port}"}

    def follow(self, code: str) -> str | None:
        """Follow the link; return the cookie to set, or nothing if the link is not valid."""
        with self._lock:
            if self._is_used or not _same(code, self._code):
                return None
            self._is_used = True
        return f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"

    def admits(self, cookies: str | None) -> bool:
        for each in (cookies or "").split(";"):
            name, _, value = each.strip().partition("=")
            if name == self._cookie and _same(value, self._token):
                return True
        return False


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), expected.encode())


LISTED_SESSIONS = 200
MAX_ENTRIES = 20_000
"""At most this many of a session, the latest: a browser has to hold them all."""

ENTRIES_AT_ONCE = 5000
"""About a megabyte, which takes 50 ms to read."""


def sessions(path: str) -> dict[str, Any]:
    """Return the latest sessions, each with its last turn.

    Raises:
        StoreError: The record cannot be read.
    """
    with reader.reading(path) as record:
        parts, more = reader.latest_parts(record, LISTED_SESSIONS)
        rows = []
        for part in parts:
            turns = tuple(ShownTurn(turn) for turn in reader.turns_of(record, part, limit=1))
            failures = () if turns else tuple(reader.failures_of(record, part))
            run = reader.run_of(record, part.run)
            failed = reader.last_failed(record, part)
            count = reader.count_turns(record, part)
            costs = total(reader.costs_of(record, part).values())
            shown = ShownPart(
                part, run, turns, (), count, failures, last_failed=failed, costs=costs
            )
            row = documents.part(shown)
            rows.append(row | {"name": part.name, "last_epoch_ms": part.last_epoch_ms})
        return {"sessions": rows, "more": more}


def session(path: str, name: str, after: int | None) -> dict[str, Any] | None:
    """Return a session's entries after a given one, or its latest; nothing if unknown.

    Raises:
        StoreError: The record cannot be read.
    """
    with reader.reading(path) as record:
        matches = [part for part in reader.find(record, name) if part.name == name]
        if not matches:
            return None
        parts = reader.with_earlier_parts(record, matches[0])
        left_out = 0
        if after is None:
            # The entry before the latest ones that there is room for.
            after, room = 0, MAX_ENTRIES
            for part in reversed(parts):
                count, older, last = reader.older_entries(record, part, room)
                after, left_out, room = max(after, last), left_out + older, room - count + older
        # In the order in which they were written, with their run's number from 1.
        each = [
            zip(repeat(number), reader.entries_since(record, part, after))
            for number, part in enumerate(parts, 1)
        ]
        entries = list(islice(merge(*each, key=lambda one: one[1].id), ENTRIES_AT_ONCE))
        return {
            "run": documents.run(reader.run_of(record, matches[0].run)),
            "events": [
                page_event(recorded, number)
                for number, recorded in sorted(entries, key=lambda one: reader.in_time(one[1]))
            ],
            "next": entries[-1][1].id if entries else after,  # as written: none is passed over
            "more": len(entries) == ENTRIES_AT_ONCE,
            "left_out": left_out,
        }


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

    def note_request(self) -> None:
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
        if "content-length" in self.headers or "transfer-encoding" in self.headers:
            self.close_connection = True  # a body that nobody reads
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        if not self.server.door.knows(self.headers.get("host")):
            self._say(HTTPStatus.FORBIDDEN, "This machine is not known by that name.")
        elif url.path == "/" and "code" in query:
            self._follow(query["code"][0])
        elif url.path.startswith("/page/"):
            name = url.path.removeprefix("/page/")
            file, suffix = record_files().get(name), PurePath(name).suffix
            if file is None or suffix not in TYPES:
                self._say(HTTPStatus.NOT_FOUND, "There is no such file.")
            else:
                self._send(HTTPStatus.OK, TYPES[suffix], file.body)
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
            sentence = "Only GET and HEAD are allowed here."
            self._say(HTTPStatus.METHOD_NOT_ALLOWED, sentence, {"allow": "GET, HEAD"})
        else:
            self._say(code, f"{HTTPStatus(code).phrase}.")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Write nothing: the terminal shows the link."""

    def _follow(self, code: str) -> None:
        if self.command == "HEAD":  # a preview of the link does not use it up
            self._send(HTTPStatus.OK, _TEXT, b"")
            return
        cookie = self.server.door.follow(code)
        if cookie is None and not self.server.door.admits(self.headers.get("cookie")):
            self._say(HTTPStatus.UNAUTHORIZED, _NO_COOKIE)
            return
        self.server.note_request()
        headers = {"location": "/"} | ({"set-cookie": cookie} if cookie else {})
        self._send(HTTPStatus.SEE_OTHER, _TEXT, b"", headers)

    def _answer(self, path: str, query: Mapping[str, str]) -> None:
        if path == "/":
            page = record_files()["record.html"].body
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", page)
            return
        answer: dict[str, Any] | None = None
        after = _number(query.get("after"))
        try:
            if path == "/record/sessions":
                answer = sessions(self.server.path)
            elif path == "/record/session":
                answer = session(self.server.path, query.get("name", ""), after)
            elif path == "/record/frames" and self.server.frames is not None:
                answer = frame_lines(self.server.frames, after)
        except (StoreError, OSError) as error:
            text = str(error)
            if isinstance(error, OSError):
                reason = (error.strerror or "failed").lower()
                text = f"The file of frames cannot be read: {reason}"
            self._send_json({"error": f"{text}."}, HTTPStatus.SERVICE_UNAVAILABLE)
            return
        if answer is None:
            missing = "There is no such session in the record; it may have been cleared."
            self._send_json({"error": missing}, HTTPStatus.NOT_FOUND)
        else:
            self._send_json(answer, HTTPStatus.OK)

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
    "This link has already been used, or belongs to another `lastword log --web`.\n"
    "Type `lastword log --web` again for a new one."
)


def _number(text: str | None) -> int | None:
    """Return an entry's number; `None` if it is not one."""
    if not text or not text.isascii() or not text.isdigit():
        return None
    return min(int(text[:20]), _MAX_ID)


IDLE_SECONDS = 30 * 60
"""A page that is open asks each second."""


def serve(options: argparse.Namespace, path: str, *, idle_seconds: float = IDLE_SECONDS) -> int:
    """Serve the record until the user stops it; return the exit status.

    Raises:
        UnusableError: The session does not exist, or the port is not available.
        StoreError: The record cannot be read.
    """
    place = "#/frames" if options.frames else ""
    if not options.frames:
        with reader.reading(path) as record:
            if options.session is None and not options.last:
                reader.latest_parts(record, 1)  # report a damaged record now
            else:
                name, named = chosen_session(record, options).name, options.session or ""
                place = f"#/session/{quote(name, safe='')}"
                if named and not name.startswith(named) and f"/{named}" not in name:
                    place += f"?incident={quote(named, safe='')}"
    port = options.port
    try:
        server = LogServer(path, port or 0, options.frames)
    except OSError as error:
        problem = f"cannot listen on port {port or 'any'}: {(error.strerror or 'failed').lower()}"
        if error.errno == errno.EADDRINUSE:
            problem = f"port {port} is in use; leave --port out for one that is free"
        raise UnusableError(problem) from None
    with server:
        try:
            link = server.door.link(place)
            sys.stdout.write(f"{link}\n")
            sys.stdout.flush()
            _say("serving the record; the link works once; press Ctrl-C to stop")
            if options.open:
                # Some browsers' commands run as long as their windows.
                threading.Thread(target=_open, args=(link,), daemon=True).start()
            while time.monotonic() - server.requested_at < idle_seconds:
                server.handle_request()
        except KeyboardInterrupt:
            _say("ended")
        else:
            _say(f"ended: no request for {idle_seconds / 60:.0f} minutes")
    return 0


def _open(link: str) -> None:
    # Without a screen, a text browser might take over the terminal.
    names = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    has_screen = sys.platform == "darwin" or any(os.environ.get(name) for name in names)
    if not (has_screen and webbrowser.open(link)):
        _say("no browser could be opened; open the link in one on this machine")


def _say(message: str) -> None:
    sys.stderr.write(f"lastword log: {message}\n")
    sys.stderr.flush()
