"""A model provider on loopback that fails on purpose, and an agent that is made to call it.

Owns one HTTP server that speaks OpenAI's chat completions and responses, Anthropic's messages and
Gemini's contents well enough for unmodified agents; its failures, and when they occurred; and the
key, the home and the environment that let an agent call nothing else. `quirks.setup` has what each
agent needs for that, `dialects` the healthy responses.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lastword.kit.provider.dialects import (
    ENCODERS,
    MODEL,
    TOOL_COMMAND,
    Json,
    ProviderDialect,
    has_tool_result,
    model_card,
    offered_tools,
    shell_tool,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lastword.quirks.setup import Recipe


API_KEY = "sk-lastword-interop-4f9c1e7ab2d84c60-DoNotLeak"
"""The key that every agent gets; no frame may contain it."""

DEAD_END = "http://127.0.0.1:9"
"""The proxy that blocks an agent's other requests: nothing listens there."""


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of model calls.

    Attributes:
        root_url: The provider's root, the base URL of the Anthropic dialect.
        openai_url: The base URL of an OpenAI-compatible client.
        key: The API key to send.
    """

    root_url: str
    openai_url: str
    key: str = API_KEY

    def filled(self, template: str) -> str:
        """Return a template with its `{placeholders}` replaced."""
        places = {
            "openai": self.openai_url,
            "anthropic": self.root_url,
            "root": self.root_url,
            "key": self.key,
            "model": MODEL,
        }
        for name, value in places.items():
            template = template.replace(f"{{{name}}}", value)
        return template


def point(recipe: Recipe, target: Target, home: Path) -> dict[str, str]:
    """Write an agent's files into its home; return the variables that it needs as well."""
    for path, text in recipe.files.items():
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(target.filled(text))
    return {
        name: target.filled(text).replace("{home}", str(home))
        for name, text in recipe.environment.items()
    }


def isolated(home: Path) -> dict[str, str]:
    """Return the variables that confine an agent to a home, and keep it off the network."""
    env = {"HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    env |= {"CI": "1", "NO_COLOR": "1"}
    folders = {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache"}
    folders["STATE"] = ".local/state"
    env |= {f"XDG_{name}_HOME": str(home / folder) for name, folder in folders.items()}
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        env[name] = env[name.upper()] = DEAD_END
    env["no_proxy"] = env["NO_PROXY"] = "127.0.0.1,localhost"
    return env


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A whole HTTP error response."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


FAILURES: dict[str, dict[str, Json]] = json.loads(
    Path(__file__).with_name("failures.json").read_bytes()
)
"""Whole HTTP error responses, by scenario and dialect (one dialect for a proxy's response)."""

_MASKED_CHARACTERS = 16


def refusal(
    scenario: str, dialect: ProviderDialect, *, key: str, echo_key: bool, retry_after_seconds: int
) -> ProviderFailure:
    """Return the error response of a scenario.

    Args:
        scenario: One of `FAILURES`.
        dialect: The call's dialect.
        key: The key that the caller sent.
        echo_key: Whether a 401 repeats the whole key, as some providers do.
        retry_after_seconds: The `Retry-After` of a 429 and a 502.
    """
    rows = FAILURES[scenario]
    row = rows.get(dialect) or rows[ProviderDialect.OPENAI]
    masked = f"{key[:8]}{'*' * 12}{key[-4:]}" if len(key) > _MASKED_CHARACTERS else "*" * 12
    places = {
        "{key}": key if echo_key else masked,
        "{: key}": f": {key}" if echo_key else "",
        "{seconds}": str(retry_after_seconds),
        "{model}": MODEL,
    }

    def filled(text: str) -> str:
        for place, value in places.items():
            text = text.replace(place, json.dumps(value)[1:-1])
        return text

    headers = json.loads(filled(json.dumps(row.get("headers", {}))))
    body = row["text"] if "text" in row else filled(json.dumps(row["body"]))
    kind = row.get("content_type", "application/json")
    return ProviderFailure(row["status"], body.encode(), kind, headers)


HANG_FUSE_SECONDS = 900.0
SLOW_SECONDS = 15.0


class ProviderScenario(StrEnum):
    """The behaviour of the provider at every model call."""

    HEALTHY = "healthy"
    HEALTHY_TOOL = "healthy_tool"
    """Asks for one shell command first, and answers with text once it has the tool's result."""
    UNAUTHORIZED = "unauthorized"
    RATE_LIMITED = "rate_limited"
    RATE_LIMITED_UNTIMED = "rate_limited_untimed"
    """A rate limit without a time to retry."""
    QUOTA = "quota"
    """The paid quota is used up, with the status of a rate limit."""
    OVERLOADED = "overloaded"
    BAD_GATEWAY = "bad_gateway"
    CONTEXT_OVERFLOW = "context_overflow"
    CUT = "cut"
    """Some text (or half a whole answer), then the TCP connection is reset."""
    CUT_BEFORE_TEXT = "cut_before_text"
    """A stream is reset before its first event, a whole answer in its middle."""
    CUT_IN_TOOL = "cut_in_tool"
    """A reset in the middle of a shell command, or of a text if the caller offers no shell."""
    EMPTY = "empty"
    """A stream that ends without an event, or an empty body."""
    HANG = "hang"
    """The request is read and never answered."""
    HANG_AFTER_TEXT = "hang_after_text"
    FAILS_AFTER_TOOL = "fails_after_tool"
    """Asks for one shell command, and rate-limits every call with the tool's result."""
    RECOVERS = "recovers"
    """Rate-limits the first two calls that offer tools, and is healthy afterwards."""
    SLOW = "slow"
    """A healthy answer with a long pause before the end of its stream."""


_CUT = frozenset(
    {ProviderScenario.CUT, ProviderScenario.CUT_BEFORE_TEXT, ProviderScenario.CUT_IN_TOOL}
)
_TOOL_SCENARIOS = frozenset({ProviderScenario.HEALTHY_TOOL, ProviderScenario.FAILS_AFTER_TOOL})
RECOVERS_AFTER = 2


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: enough to count and distinguish calls, but not their content."""

    dialect: ProviderDialect
    path: str
    model: str
    stream: bool
    has_tool_result: bool
    messages: int
    """The length of the conversation; a call without history has fewer."""
    offers_tools: bool
    """A call for a title or a summary does not."""
    scenario: ProviderScenario


class Provider:
    """The server and its settings; a context manager that stops promptly on exit.

    Attributes:
        scenario: How later model calls are answered; may be set at any time, from any thread.
        retry_after_seconds: The `Retry-After` of a 429 and of a 502.
        echo_key: Whether a 401 repeats the caller's whole key, as some providers do.
        failure: The response to every model call, instead of the scenario's.
        marked: The scenario of calls whose request contains a text, so that one of two sessions
            can fail.
        command: The shell command that the model asks for; may be set at any time.
        slow_seconds: The pause of a slow answer; may be set at any time.
    """

    def __init__(
        self,
        scenario: ProviderScenario | str = ProviderScenario.HEALTHY,
        *,
        retry_after_seconds: int = 1,
        echo_key: bool = False,
        failure: ProviderFailure | None = None,
        marked: Mapping[str, ProviderScenario] | None = None,
    ) -> None:
        self.scenario: ProviderScenario = ProviderScenario(scenario)
        self.failure = failure
        self.marked: dict[str, ProviderScenario] = dict(marked or {})
        self.command = TOOL_COMMAND
        self.slow_seconds = SLOW_SECONDS
        self.retry_after_seconds = retry_after_seconds
        self.echo_key = echo_key
        self.closing: threading.Event = threading.Event()
        self._calls: list[Call] = []
        self._failures: list[tuple[float, Call]] = []
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        """The root, which is the base URL of the Anthropic dialect."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The base URL for an OpenAI-compatible client."""
        return f"{self.url}/v1"

    @property
    def calls(self) -> list[Call]:
        """A copy of the list of model calls."""
        with self._changed:
            return list(self._calls)

    @property
    def failed_at(self) -> float | None:
        """When a turn's call, or else any call, first failed, by `time.monotonic`.

        A hang fails at its request, everything else at the response.
        """
        with self._changed:
            of_turns = [at for at, call in self._failures if call.offers_tools]
            return min(of_turns or [at for at, _call in self._failures], default=None)

    def scenario_of(self, body: Json) -> ProviderScenario:
        """Return the scenario for a request."""
        text = json.dumps(body) if self.marked else ""
        return next((each for mark, each in self.marked.items() if mark in text), self.scenario)

    def note_failure(self, call: Call) -> None:
        """Record that a call fails now."""
        with self._changed:
            self._failures.append((time.monotonic(), call))

    def has_recovered(self, call: Call) -> bool:
        """Return whether `RECOVERS` answers a call: one without tools, or after enough failures."""
        with self._changed:
            return not call.offers_tools or len(self._failures) >= RECOVERS_AFTER

    def record(self, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()

    def wait_for_calls(self, count: int, timeout_seconds: float) -> bool:
        """Wait for this many model calls; return whether they came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._calls) >= count, timeout_seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class QuietServer(ThreadingHTTPServer):
    """A server of many short connections, any of which clients may abandon."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Print errors, except that a client has disconnected."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Server(QuietServer):
    provider: Provider


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _provider(self) -> Provider:
        assert isinstance(self.server, _Server)  # noqa: S101  (it is what serves us)
        return self.server.provider

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent: pytest's output is not for access logs."""

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/models"):
            models = {"object": "list", "data": [model_card()], "has_more": False}
            self._send_json(200, models)
        elif "/models/" in path:
            self._send_json(200, model_card())
        else:
            self._send_json(404, {"error": {"message": "not found", "type": "not_found_error"}})

    def do_POST(self) -> None:
        body = self._read_json()
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send_json(200, {"input_tokens": 42})
        elif path.endswith("/chat/completions"):
            self._model_call(ProviderDialect.OPENAI, path, body)
        elif path.endswith("/responses"):
            self._model_call(ProviderDialect.RESPONSES, path, body)
        elif path.endswith("/messages"):
            self._model_call(ProviderDialect.ANTHROPIC, path, body)
        elif path.endswith(":countTokens"):
            self._send_json(200, {"totalTokens": 42})
        elif path.endswith((":generateContent", ":streamGenerateContent")):
            self._model_call(ProviderDialect.GEMINI, path, body)
        else:
            self._send_json(404, {"error": {"message": "not found", "type": "not_found_error"}})

    def _model_call(self, dialect: ProviderDialect, path: str, body: Json) -> None:
        provider = self._provider
        history = body.get("messages") or body.get("input") or body.get("contents")
        call = Call(
            dialect=dialect,
            path=path,
            model=str(body.get("model")),
            stream=bool(body.get("stream")) or path.endswith(":streamGenerateContent"),
            has_tool_result=has_tool_result(body),
            messages=len(history) if isinstance(history, list) else 0,
            offers_tools=bool(offered_tools(body)),
            scenario=provider.scenario_of(body),
        )
        provider.record(call)
        name: str = call.scenario
        if call.scenario is ProviderScenario.FAILS_AFTER_TOOL and call.has_tool_result:
            name = ProviderScenario.RATE_LIMITED_UNTIMED
        if call.scenario is ProviderScenario.RECOVERS and not provider.has_recovered(call):
            name = ProviderScenario.RATE_LIMITED
        failure = provider.failure
        if failure is None and name in FAILURES:
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
            failure = refusal(
                name,
                call.dialect,
                key=self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer,
                echo_key=provider.echo_key,
                retry_after_seconds=provider.retry_after_seconds,
            )
        if failure is not None:
            provider.note_failure(call)
            self._send(failure.status, failure.body, failure.content_type, failure.headers)
        elif call.scenario is ProviderScenario.HANG:
            self._hang(call)
        elif call.scenario is ProviderScenario.EMPTY:
            provider.note_failure(call)
            if call.stream:
                self._start_stream()
                self._end_stream()
            else:
                self._send(200, b"")
        elif not call.stream:
            self._answer_whole(call)
        else:
            self._stream(call, body)

    def _stream(self, call: Call, body: Json) -> None:
        encoder = ENCODERS[call.dialect]
        self._start_stream()
        tool = shell_tool(body)
        if tool and call.scenario in _TOOL_SCENARIOS and not call.has_tool_result:
            self._write_events(encoder.tool_call(call.model, tool, self._provider.command))
            self._end_stream()
            return
        if tool and call.scenario is ProviderScenario.CUT_IN_TOOL:
            self._write_events(encoder.half_tool_call(call.model, tool))
            self._reset(call)
            return
        if call.scenario is ProviderScenario.CUT_BEFORE_TEXT:
            self._reset(call)
            return
        self._write_events(encoder.text(call.model))
        if call.scenario in _CUT:
            self._reset(call)
        elif call.scenario is ProviderScenario.HANG_AFTER_TEXT:
            self._hang(call)
        else:
            if call.scenario is ProviderScenario.SLOW:
                self._provider.closing.wait(self._provider.slow_seconds)
            self._write_events(encoder.end(call.model))
            self._end_stream()

    def _answer_whole(self, call: Call) -> None:
        """Answer without a stream; some agents fall back to that when a stream is cut."""
        if call.scenario is ProviderScenario.HANG_AFTER_TEXT:
            self._hang(call)
            return
        body = json.dumps(ENCODERS[call.dialect].whole(call.model)).encode()
        if call.scenario not in _CUT:
            self._send(200, body)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self._reset(call)

    def _hang(self, call: Call) -> None:
        self._provider.note_failure(call)
        self._provider.closing.wait(HANG_FUSE_SECONDS)
        self.close_connection = True

    def _reset(self, call: Call) -> None:
        """Close with RST instead of FIN, as a crashing load balancer does."""
        self.wfile.flush()
        # A reset discards bytes that the peer has not read yet.
        self._provider.closing.wait(0.3)
        self._provider.note_failure(call)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("x-request-id", "req_fake_1")
        self.end_headers()

    def _write_events(self, events: Iterator[bytes]) -> None:
        for event in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _read_json(self) -> Json:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = b""
            while size := int(self.rfile.readline().partition(b";")[0].strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _send_json(self, status: int, value: Json) -> None:
        self._send(status, json.dumps(value).encode())

    def _send(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until the end of stdin; each line on it is the next scenario."""
    with Provider(sys.argv[1] if len(sys.argv) > 1 else ProviderScenario.HEALTHY) as provider:
        sys.stdout.write(f"{provider.url}\n")
        sys.stdout.flush()
        for line in sys.stdin:
            provider.scenario = ProviderScenario(line.strip())


if __name__ == "__main__":
    main()
