"""A model provider on loopback whose answer is named by the request's `x-answer`."""

from __future__ import annotations

import contextlib
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATH = "/v1/chat/completions"
ANSWERS = ("ok", "stream", "nothing", "refused", "packed", "cut", "stalled", "silent")
BODY = b'{"error": {"message": "slow down"}}'
EVENT = b"data: {}\n\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("ok")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self._answer(self.headers.get("x-answer", "ok"))

    def _answer(self, name: str) -> None:
        if name == "silent":
            return self._wait()
        if name in {"refused", "packed"}:
            self.send_response(429)
            self.send_header("Retry-After", "7")
            self.send_header("X-RateLimit-Remaining", "0")
            self.send_header("X-Secret", "never reported")
            body = gzip.compress(BODY, mtime=0) if name == "packed" else BODY
            if name == "packed":
                self.send_header("Content-Encoding", "gzip")
            return self._send(body)
        if name == "nothing":
            self.send_response(200)
            return self._send(b"")
        if name == "ok":
            self.send_response(200)
            return self._send(b'{"answer": 1}')
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(3):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
        self.wfile.flush()
        if name == "stalled":
            return self._wait()
        if name == "cut":
            self.close_connection = True
            return None
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        return None

    def _send(self, body: bytes) -> None:
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _wait(self) -> None:
        """Wait until the client goes away."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.recv(1)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client has gone away, as is asked of it


def start() -> tuple[ThreadingHTTPServer, str]:
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}{PATH}"
