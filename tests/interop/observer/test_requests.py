"""The observer reports each request once, and the program has the same as without it."""

from __future__ import annotations

import json
import socket
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.interop.observer.observed import HERE, Pipe, Run, run
from tests.interop.observer.server import LIMITED, SECRET, Server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.observer.runtimes import Runtime

CUT = {"ECONNRESET", "UND_ERR_SOCKET"}
WHOLE = ["request", "status 200", "end"]
REFUSED = ["request", "status 429", "body", "end"]
EMPTY = ["request", "status 200", "end empty"]
STREAM = ["request", "status 200", "progress", "end"]
ABORTED = ["request", "error AbortError"]
LEFT = ["request", "status 200", "error AbortError"]
EXPECTED = {
    "fetch-get": [],
    "fetch-head": [],
    "fetch-ok": WHOLE,
    "fetch-request": WHOLE,
    "fetch-empty": EMPTY,
    "fetch-nothing": EMPTY,
    "fetch-limited": REFUSED,
    "fetch-cancelled": REFUSED,
    "fetch-cloned": REFUSED,
    "fetch-gateway": ["request", "status 502", "body", "end"],
    "fetch-packed": ["request", "status 503", "body", "end"],
    "fetch-stream": STREAM,
    "fetch-piped": STREAM,
    "fetch-read": STREAM,
    "fetch-broken": ["request", "status 200", "error cut"],
    "fetch-reset": ["request", "error cut"],
    "fetch-refused": ["request", "error ECONNREFUSED"],
    "fetch-aborted": ABORTED,
    "fetch-left": LEFT,
    "fetch-data": [],
    "http-ok": WHOLE,
    "http-kept": WHOLE * 2,
    "http-empty": EMPTY,
    "http-nothing": EMPTY,
    "http-limited": REFUSED,
    "http-packed": ["request", "status 503", "body", "end"],
    "http-stream": STREAM,
    "http-broken": ["request", "status 200", "error cut"],
    "http-reset": ["request", "error cut"],
    "http-refused": ["request", "error ECONNREFUSED"],
    "http-aborted": ABORTED,
    "http-left": LEFT,
    "undici-request": WHOLE,
    "undici-agent": ["request", "status 502", "body", "end"],
    "undici-fetch": REFUSED,
    "undici-stream": STREAM,
}
"""What is reported of each case of requests.cjs; undici's are named with a version there."""

IN_BUN = {
    "fetch-cancelled": ["request", "status 429", "end"],
    **{
        case: words[:2]
        for case, words in EXPECTED.items()
        if case[:5] == "fetch" and "status 200" in words
    },
}
"""The same in Bun, whose `fetch` does not say how an answer goes on that nobody refused."""


class Both(NamedTuple):
    """One script, run without the observer and with it."""

    plain: Run
    observed: Run
    cases: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def both(runtime: Runtime, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Both:
    command = [runtime.program(), HERE / "requests.cjs"]
    folder = tmp_path_factory.mktemp("observer")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and nobody listens
        environment = {
            "BASE": server.url,
            "CLOSED": f"http://127.0.0.1:{closed.getsockname()[1]}",
            "UNDICI": runtime.undici,
            "WITHOUT": " ".join(runtime.left_out),
        }
        server.enough.set()
        plain = run(command, environment)
        lines = _Streams(server, runtime)
        with Pipe(folder / "fifo", lines.note) as pipe:
            observed = run(command, environment, pipe)
        observed.lines = pipe.lines
    return Both(plain, observed, _by_case(observed.events))


class _Streams:
    """Ends the server's streams when each of them has been reported as going on."""

    def __init__(self, server: Server, runtime: Runtime) -> None:
        self._server = server
        self._open = runtime.reports_http + len(runtime.undici.split()) + 3 * (not runtime.is_bun)
        self._going_on: set[int] = set()
        if self._open:
            server.enough.clear()

    def note(self, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            self._going_on.add(event["id"])
        if len(self._going_on) >= self._open:
            self._server.enough.set()


def _by_case(events: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    names: dict[int, str] = {}
    cases = defaultdict(list)
    for event in events:
        if event["event"] == "request":
            names[event["id"]] = event["path"].split("/")[-2]
        if "id" in event:
            cases[names[event["id"]]].append(event)
    return cases


def _in_short(events: list[dict[str, Any]]) -> list[str]:
    """Return a word an event, those of one request together, and repeated progress once."""
    words: list[str] = []
    for event in sorted(events, key=lambda event: event["id"]):
        word = event["event"]
        if word == "status":
            word += f" {event['status']}"
        if word == "end" and event.get("empty"):
            word += " empty"
        if word == "error":
            why = "cut" if event["code"] in CUT else event["code"]
            word += f" {'AbortError' if event['name'] == 'AbortError' else why}"
        if words[-1:] != ["progress"] or word != "progress":
            words.append(word)
    return words


def test_the_programs_output_is_the_same_as_without_the_observer(both: Both) -> None:
    assert both.observed.shown == both.plain.shown
    assert both.plain.code == 0
    assert len(both.plain.output.splitlines()) > 20


def test_each_request_is_reported_once(both: Both, runtime: Runtime) -> None:
    reported = ("fetch-", "http-") if runtime.reports_http else ("fetch-",)
    made = {case: words for case, words in EXPECTED.items() if case.startswith(reported)}
    made = {case: words for case, words in made.items() if case not in runtime.left_out}
    for package in runtime.undici.split():
        for case in ("request", "agent", "fetch", "stream"):
            made[f"{package}-{case}"] = EXPECTED[f"undici-{case}"]
    if runtime.is_bun:
        # Of node:http it says a reset where Node says an abort.
        reset = {
            case: [*EXPECTED[case][:-1], "error cut"] for case in ("http-aborted", "http-left")
        }
        made |= {case: words for case, words in (IN_BUN | reset).items() if case in made}
    assert {case: _in_short(both.cases[case]) for case in made} == made
    assert set(both.cases) <= set(made)


def test_a_request_is_described_without_its_secrets(both: Both, server: Server) -> None:
    [request, status, *_] = both.cases["fetch-ok"]
    host = server.url.removeprefix("http://")
    path = "/v1/chat/fetch-ok/ok"
    described = {"method": "POST", "host": host, "path": path, "bytes": 31, "model": True}
    assert request == {key: request[key] for key in ("event", "pid", "id")} | described
    assert status["type"] == "application/json"
    assert "headers" not in status
    assert SECRET not in "".join(both.observed.lines)
    assert "secret" not in "".join(both.observed.lines)


def test_a_refusal_is_reported_with_its_waits_and_its_body(both: Both, runtime: Runtime) -> None:
    unread = set() if runtime.is_bun else {"fetch-cancelled"}
    for name in ({"fetch-limited", "http-limited"} | unread) & set(both.cases):
        [_, status, body, _] = both.cases[name]
        assert status["headers"] == {"retry-after": "7", "x-ratelimit-remaining": "0"}
        assert status["type"] == "application/json; charset=utf-8"
        assert json.loads(body["text"]) == json.loads(LIMITED)
    for name in {"fetch-packed", "http-packed"} & set(both.cases):
        assert both.cases[name][2]["text"].startswith('{"error": "packed qqq')


def test_a_large_refusal_fits_a_line(both: Both) -> None:
    [_, status, body, _] = both.cases["fetch-gateway"]
    assert 5 < len(status["headers"]) <= 24
    assert {len(value) for value in status["headers"].values()} == {200}
    assert body["text"].startswith("<html>bad gateway é€<html>")
    assert len(body["text"]) > 2000
    assert "\ufffd" not in body["text"]


def test_the_start_names_the_program(both: Both, runtime: Runtime) -> None:
    [start, *_] = both.observed.events
    assert start["event"] == "start"
    assert start["runtime"] == ("bun" if runtime.is_bun else "node")
    assert start["script"] == "requests.cjs"
    assert json.dumps(start["version"]).count(".") == 2


HTTP2 = """
const http2 = require('http2');
const server = http2.createServer();
server.on('stream', (stream) => {
  stream.resume();
  stream.on('end', () => {
    stream.respond({ ':status': 429, 'retry-after': '7' });
    stream.end('{"error": "limited"}');
  });
});
server.listen(0, '127.0.0.1', () => {
  const client = http2.connect('http://127.0.0.1:' + server.address().port);
  const request = client.request({ ':method': 'POST', ':path': '/v1/messages' });
  let text = '';
  request.on('response', (headers) => console.log(headers[':status'], headers['retry-after']));
  request.setEncoding('utf8').on('data', (part) => (text += part));
  request.on('end', () => (console.log(text), client.close(), server.close()));
  request.end('{}');
});
"""


def test_http2_works_unchanged_and_is_reported_where_the_runtime_publishes_it(
    runtime: Runtime, tmp_path: Path
) -> None:
    command = [runtime.program(), "-e", HTTP2]
    with Pipe(tmp_path / "fifo") as pipe:
        observed = run(command, {}, pipe)
    assert observed.shown == run(command, {}).shown == ('429 7\n{"error": "limited"}\n', "", 0)
    said = [json.loads(line) for line in pipe.lines][1:]
    words = [each["event"] for each in said]
    assert words in ([], ["request", "status", "body", "end"])
    assert [each["status"] for each in said if "status" in each] == [429] * words.count("status")
