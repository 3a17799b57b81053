"""A handler whose client retries in silence: its requests to the model provider are seen."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lastword import Options
from lastword.testing import TurnResult, take_turn
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INSIDE = Options(evidence="inside")
REFUSAL = json.dumps({"error": {"type": "rate_limit_error", "message": "Slow down."}}).encode()


class Provider(BaseHTTPRequestHandler):
    """Refuses as often as the path says, and then answers."""

    protocol_version = "HTTP/1.1"
    refusals = 2

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        refused = Provider.refusals > 0
        Provider.refusals -= refused
        body = REFUSAL if refused else b'{"answer": 42}'
        self.send_response(429 if refused else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    Provider.refusals = 2
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    serving.join()


def ask(port: int, path: str = "/v1/chat/completions") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", path, b"{}")
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def ask_until_it_answers(port: int) -> None:
    """As providers' packages do, which say nothing of it."""
    while ask(port) != 200:
        pass


def turn_of(options: Options, call: Callable[..., object], *arguments: object) -> TurnResult:
    """A turn whose handler does this in a thread, and then ends well without a word."""

    async def new(_client: object, **_: Any) -> dict[str, str]:
        return {"sessionId": "s"}

    async def prompt(_client: object, **_: Any) -> dict[str, str]:
        await anyio.to_thread.run_sync(call, *arguments)
        return {"stopReason": "end_turn"}

    async def take() -> TurnResult:
        methods = {"session/new": new, "session/prompt": prompt}
        return await take_turn(methods, "Hi", options=options)

    return anyio.run(take)


def test_a_handlers_hidden_retries_are_reported_with_their_cause(port: int) -> None:
    turn = turn_of(INSIDE, ask_until_it_answers, port)
    assert [(retry.attempt, retry.error and retry.error.type) for retry in turn.retries] == [
        (2, "rate_limit"),
        (3, "rate_limit"),
    ]


@every(
    ("path", "options", "type_"),
    [
        ("/v1/chat/completions", INSIDE, "rate_limit"),
        ("/v1/telemetry", INSIDE, "unknown"),
        ("/v1/chat/completions", Options(), "unknown"),
    ],
)
def test_a_failure_that_a_handler_swallows_is_reported_where_it_is_a_models_and_that_is_asked_for(
    path: str, options: Options, type_: str, port: int
) -> None:
    Provider.refusals = 1
    turn = turn_of(options, ask, port, path)
    assert turn.outcome == "failed"
    assert turn.error is not None
    assert turn.error.type == type_
