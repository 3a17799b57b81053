"""A provider on the loopback interface that answers every request with one scripted failure.

The scenario is the first part of the path. Runs inside the providers' own environment, so it uses
the standard library only.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCENARIOS: dict[str, tuple[int, dict[str, str], Any]] = json.loads(
    Path(__file__).with_name("scenarios.json").read_text(encoding="utf-8")
)
"""By the path's first part: the status, the headers, and the body, which is JSON unless a text."""

_EVENTS = (
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
    '"role":"assistant","content":[],"model":"x","usage":{"input_tokens":1,"output_tokens":0}}}\n\n'
    'event: error\ndata: {"type":"error","error":'
    '{"type":"overloaded_error","message":"Overloaded"}}\n\n'
)


class Handler(BaseHTTPRequestHandler):
    """Answers by the path's first part."""

    protocol_version = "HTTP/1.1"
    closing = threading.Event()

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self._answer()

    def _answer(self) -> None:
        name = self.path.split("/")[1]
        if name == "slow":
            self.closing.wait(60)
        elif name == "dropped":
            self.close_connection = True
        elif name == "cut":
            self._send(200, {"content-length": "1000"}, b'{"a":')
            self.close_connection = True
        elif name == "stream":
            headers = {"content-type": "text/event-stream", "connection": "close"}
            self._send(200, headers, _EVENTS.encode())
            self.close_connection = True
        else:
            status, headers, body = SCENARIOS[name]
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self._send(status, {"content-length": str(len(data)), **headers}, data)

    def _send(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def start() -> tuple[ThreadingHTTPServer, str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"
