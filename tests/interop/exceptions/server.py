"""A provider on the loopback interface that answers every request with one scripted failure.

The scenario is the first part of the path. Runs inside the providers' own environment, so it uses
the standard library only.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RETRY_DETAIL = [
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.2s"},
]
_OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 "
    "tokens. Please reduce the length of the messages."
)


def _openai(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


SCENARIOS: dict[str, tuple[int, dict[str, str], Any]] = {
    "limit": (
        429,
        {"retry-after": "20"},
        _openai("Rate limit reached for gpt on tokens per min", "tokens", "rate_limit_exceeded"),
    ),
    "quota": (
        429,
        {},
        _openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
    ),
    "key": (
        401,
        {},
        _openai("Incorrect API key provided", "invalid_request_error", "invalid_api_key"),
    ),
    "overflow": (
        400,
        {},
        _openai(_OVERFLOW, "invalid_request_error", "context_length_exceeded"),
    ),
    "down": (503, {"retry-after": "5"}, _openai("The server is overloaded", "server_error")),
    "model": (404, {}, _openai("The model `x` does not exist", "not_found", "model_not_found")),
    "claude-limit": (429, {"retry-after": "31"}, _anthropic("rate_limit_error", "Slow down")),
    "claude-overloaded": (529, {}, _anthropic("overloaded_error", "Overloaded")),
    "claude-credit": (
        400,
        {},
        _anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
    ),
    "gemini-limit": (
        429,
        {},
        {
            "error": {
                "code": 429,
                "message": "Resource exhausted",
                "status": "RESOURCE_EXHAUSTED",
                "details": RETRY_DETAIL,
            }
        },
    ),
    "gemini-key": (
        400,
        {},
        {
            "error": {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [{"reason": "API_KEY_INVALID"}],
            }
        },
    ),
    "mistral-limit": (429, {"retry-after": "9"}, {"message": "Requests rate limit exceeded"}),
    "mistral-key": (401, {}, {"detail": "Unauthorized"}),
    "aws-throttled": (
        429,
        {"x-amzn-errortype": "ThrottlingException"},
        {"message": "Too many tokens, please wait before trying again."},
    ),
    "aws-overflow": (
        400,
        {"x-amzn-errortype": "ValidationException"},
        {"message": "Input is too long for requested model."},
    ),
    "aws-expired": (
        403,
        {"x-amzn-errortype": "ExpiredTokenException"},
        {"message": "The security token included in the request is expired"},
    ),
    "ollama-model": (404, {}, {"error": "model 'x' not found"}),
    "html": (502, {"content-type": "text/html"}, "<html><title>502 Bad Gateway</title></html>"),
}

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
            self.closing.wait(5)
            return
        if name == "dropped":
            self.close_connection = True
            return
        if name == "cut":
            self._send(
                200, {"content-length": "1000", "content-type": "application/json"}, b'{"a":'
            )
            self.close_connection = True
            return
        if name == "stream":
            headers = {"content-type": "text/event-stream", "connection": "close"}
            self._send(200, headers, _EVENTS.encode())
            self.close_connection = True
            return
        status, headers, body = SCENARIOS[name]
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        plain = {"content-type": "application/json", "content-length": str(len(data))}
        self._send(status, plain | headers, data)

    def _send(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def start() -> tuple[ThreadingHTTPServer, str]:
    """A server and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"
