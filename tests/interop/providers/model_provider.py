"""A model provider on loopback that does what a script says, request by request.

Owns the script and the count of what was asked. What is said in either dialect, and how each
provider words a refusal, is `lastword.kit.provider`'s.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Self

from lastword.kit.provider.dialects import ENCODERS, ProviderDialect
from lastword.kit.provider.server import FAILURES, QuietServer, refusal
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

HANG_FUSE_SECONDS = 2 * FUSE_SECONDS
KEY = "sk-loopback"


@dataclass(frozen=True, slots=True)
class Step:
    """What one request gets.

    Attributes:
        kind: A refusal's name in `FAILURES`, or one of:
            `healthy`, a whole answer; `drop`, nothing and the connection closed;
            `cut_at_once`, a stream that breaks off before any text;
            `cut`, one that breaks off after some; `truncated`, one that ends there without its
            terminal event; `hang`, no answer.
        headers: Put in place of the refusal's own.
        retry_after_seconds: The wait that a refusal asks for, where it asks for one.
    """

    kind: str
    headers: dict[str, str] = field(default_factory=dict)
    retry_after_seconds: int | None = None


HEALTHY = Step("healthy")
DOWN = Step("bad_gateway", {"retry-after": ""})
"""A failure that says nothing of a wait."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived, in monotonic seconds; `retry` is its package's own count."""

    at: float
    model: str
    retry: int
    step: Step


class ModelProvider:
    """The server; a context manager. A script's last step is repeated without end."""

    def __init__(self) -> None:
        self.closing = threading.Event()
        self.asked = threading.Condition()
        self._scripts: dict[str, list[Step]] = {}
        self._requests: list[Request] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        """The root; the OpenAI dialect lives under `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, model: str, *steps: Step) -> None:
        self._scripts[model] = list(steps)

    def requests(self, model: str) -> list[Request]:
        with self.asked:
            return [request for request in self._requests if request.model == model]

    def wait_for(self, model: str, count: int, fuse: float = FUSE_SECONDS) -> None:
        with self.asked:
            came = self.asked.wait_for(
                lambda: sum(r.model == model for r in self._requests) >= count, fuse
            )
        assert came, f"{model} was not asked {count} times within {fuse} s"

    def next_step(self, model: str, retry: int) -> Step:
        with self.asked:
            steps = self._scripts[model]
            step = steps.pop(0) if len(steps) > 1 else steps[0]
            self._requests.append(Request(time.monotonic(), model, retry, step))
            self.asked.notify_all()
        return step

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class _Server(QuietServer):
    provider: ModelProvider


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body: dict[str, Any] = json.loads(raw)
        model = str(body["model"])
        step = self.server.provider.next_step(
            model, int(self.headers.get("x-stainless-retry-count") or 0)
        )
        dialect = (
            ProviderDialect.ANTHROPIC if self.path.endswith("/messages") else ProviderDialect.OPENAI
        )
        if step.kind in FAILURES:
            self._refuse(dialect, step)
        elif step.kind == "hang":
            self.server.provider.closing.wait(HANG_FUSE_SECONDS)
            self.close_connection = True
        elif step.kind == "drop":
            self.close_connection = True
        elif body.get("stream"):
            self._stream(dialect, model, step)
        else:
            self._send(200, json.dumps(ENCODERS[dialect].whole(model)).encode(), {})

    def _refuse(self, dialect: ProviderDialect, step: Step) -> None:
        wait = step.retry_after_seconds or 0
        refused = refusal(step.kind, dialect, key=KEY, echo_key=False, retry_after_seconds=wait)
        headers = {name.lower(): value for name, value in refused.headers.items()}
        headers |= {"content-type": refused.content_type, **step.headers}
        self._send(refused.status, refused.body, {k: v for k, v in headers.items() if v})

    def _stream(self, dialect: ProviderDialect, model: str, step: Step) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        text = list(ENCODERS[dialect].text(model))
        self._write(text[:1] if step.kind == "cut_at_once" else text)
        if step.kind == "healthy":
            self._write(ENCODERS[dialect].end(model))
        if step.kind in ("healthy", "truncated"):
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _write(self, events: Iterable[bytes]) -> None:
        for event in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
