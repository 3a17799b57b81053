"""What the hooks of Python's observer report of http.client, on streams in memory."""

from __future__ import annotations

import contextlib
import contextvars
import errno
import gzip
import http.client
import io
import socket
import ssl
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.observed.hooks import mutants, observed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATH = "/v1/chat/completions"
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndata\r\n4\r\nmore\r\n"
REFUSED = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nX-RateLimit-Remaining: 0\r\n"
    b"Set-Cookie: secret\r\n"
)


class _Wire(io.RawIOBase):
    """A socket in memory: what has come, and then the connection's end or an error."""

    def __init__(self, data: bytes, error: OSError | None = None) -> None:
        self._data, self._error = io.BytesIO(data), error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._data.read(len(buffer))
        if not data and self._error:
            raise self._error
        buffer[: len(data)] = data
        return len(data)

    def sendall(self, _: bytes) -> None:
        return

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(self)


class _Refusing(http.client.HTTPConnection):
    def __init__(self, error: OSError) -> None:
        super().__init__("api.test")
        self._error = error

    def connect(self) -> None:
        raise self._error


def ask(
    data: bytes, error: OSError | None = None, path: str = PATH, **options: Any
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("api.test", 8080)
    connection.sock = _Wire(data, error)  # type: ignore[assignment]
    connection.request("POST", path, b"{}", **options)
    return connection.getresponse()


def by_lines(response: http.client.HTTPResponse) -> list[bytes]:
    return list(response)


def in_pieces(response: http.client.HTTPResponse) -> list[bytes]:
    return list(iter(lambda: response.read(3), b""))


def into_a_buffer(response: http.client.HTTPResponse) -> bytes:
    return io.BufferedReader(response).read()


READERS = [http.client.HTTPResponse.read, by_lines, in_pieces, into_a_buffer]
UNTRUSTED = OSError(1, "no")
"""As aiohttp has it: with OpenSSL's number, which is EPERM among the system's."""
UNTRUSTED.__cause__ = ssl.SSLCertVerificationError(1, "self-signed")

ERRORS: list[tuple[OSError, str | None, str]] = [
    (OSError(errno.ECONNREFUSED, "no"), "ECONNREFUSED", "ConnectionRefusedError"),
    (socket.gaierror(socket.EAI_NONAME, "no"), "EAI_NONAME", "gaierror"),
    (TimeoutError("timed out"), None, "TimeoutError"),
    (UNTRUSTED, None, "SSLCertVerificationError"),
]


def of(event: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in each.items() if name not in {"event", "pid", "id"}}
        for each in events
        if each["event"] == event
    ]


def names(events: list[dict[str, Any]]) -> list[str]:
    return [each["event"] for each in events]


@pytest.fixture
def events() -> Any:
    reported: list[dict[str, Any]] = []
    with observed(reported.append):
        yield reported


def test_a_request_to_a_model_is_reported_without_its_query_headers_and_body(events: Any) -> None:
    ask(JSON, path="/v1/telemetry").read()
    connection = http.client.HTTPConnection("api.test")
    connection.sock = _Wire(JSON)  # type: ignore[assignment]
    connection.request("GET", PATH)
    connection.getresponse().read()
    assert events == []
    ask(JSON, path=f"{PATH}?key=secret", headers={"Authorization": "secret"}).read()
    assert names(events) == ["request", "status", "end"]
    assert of("request", events) == [
        {"method": "POST", "host": "api.test:8080", "path": PATH, "bytes": 2, "model": True}
    ]
    assert of("status", events) == [{"status": 200, "type": "application/json"}]
    assert "secret" not in repr(events)


@pytest.mark.parametrize("read", READERS)
def test_a_refusal_is_reported_with_its_limits_and_the_body_that_the_agent_reads(
    read: Callable[[Any], object], events: Any
) -> None:
    body = b'{"error": "slow down"}\n'
    read(ask(b"%bContent-Length: %d\r\n\r\n%b" % (REFUSED, len(body), body)))
    limits = {"retry-after": "7", "x-ratelimit-remaining": "0"}
    assert of("status", events) == [{"status": 429, "headers": limits}]
    assert of("body", events) == [{"text": body.decode()}]
    assert names(events)[-1] == "end"


def test_a_refusal_is_reported_as_text_if_it_is_chunked_or_compressed_and_read(events: Any) -> None:
    for start, body in ((b"", b"plain"), (b"Content-Encoding: gzip\r\n", gzip.compress(b"plain"))):
        chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        ask(REFUSED + start + b"Transfer-Encoding: chunked\r\n\r\n" + chunks).read()
    assert of("body", events) == [{"text": "plain"}] * 2
    events.clear()
    ask(REFUSED + b"Content-Length: 5\r\n\r\nplain").close()
    assert names(events) == ["request", "status", "end"]


@pytest.mark.parametrize("read", READERS)
def test_the_end_or_break_of_a_stream_is_reported(
    read: Callable[[Any], object], events: Any
) -> None:
    read(ask(CHUNKED + b"0\r\n\r\n"))
    assert names(events) == ["request", "status", "end"]
    events.clear()
    with contextlib.suppress(http.client.IncompleteRead):
        read(ask(CHUNKED))
    assert of("error", events) == [{"code": None, "name": "IncompleteRead"}]
    events.clear()
    with pytest.raises(OSError, match="gone"):
        read(ask(CHUNKED, OSError(errno.ECONNRESET, "gone")))
    assert of("error", events) == [{"code": "ECONNRESET", "name": "ConnectionResetError"}]


@pytest.mark.parametrize(("error", "code", "name"), ERRORS)
def test_a_connection_that_fails_is_reported_with_the_systems_code(
    error: OSError, code: str | None, name: str, events: Any
) -> None:
    try:
        _Refusing(OSError(errno.EPIPE, "earlier")).request("POST", PATH)
    except OSError:
        events.clear()
        with pytest.raises(type(error)) as raised:  # in the handler of another request's error
            _Refusing(error).request("POST", PATH)
    assert of("error", events) == [{"code": code, "name": name}]
    assert sum("observer/python" in str(each.path) for each in raised.traceback) == 1


def test_progress_is_reported_every_two_seconds_while_bytes_arrive(
    events: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    response = ask(CHUNKED + b"0\r\n\r\n")
    time = sys.modules["_lastword_request"].time  # type: ignore[attr-defined]
    monkeypatch.setattr(time, "monotonic", lambda: now[0] + 1e9)
    response.read(1)
    response.read(1)
    now[0] = 1.9
    response.read(1)
    assert names(events)[2:] == ["progress"]
    now[0] = 2.1
    response.read(1)
    assert names(events)[2:] == ["progress"] * 2


def test_an_answer_that_the_agent_drops_has_an_end(events: Any) -> None:
    ask(CHUNKED)
    assert names(events) == ["request", "status", "end"]
    connection = http.client.HTTPConnection("api.test")
    connection.sock = _Wire(b"")  # type: ignore[assignment]
    connection.request("POST", PATH)
    del connection
    assert of("error", events) == [{"code": None, "name": "CancelledError"}]


def test_each_event_is_reported_in_the_context_of_its_request() -> None:
    turn: contextvars.ContextVar[int] = contextvars.ContextVar("turn")
    turns: list[int | None] = []
    with observed(lambda _: turns.append(turn.get(None))):

        def in_a_turn(number: int) -> http.client.HTTPResponse:
            turn.set(number)
            return ask(JSON)

        for answer in [contextvars.copy_context().run(in_a_turn, number) for number in (1, 2)]:
            answer.read()
    assert turns == [1, 1, 2, 2, 1, 2]


def test_the_hooked_methods_look_like_the_originals() -> None:
    cls = http.client.HTTPConnection
    before = cls.getresponse
    with observed(print):
        assert cls.getresponse is not before
        assert (cls.getresponse.__qualname__, cls.getresponse.__doc__) == (
            before.__qualname__,
            before.__doc__,
        )
    assert cls.getresponse is before


def _outcomes() -> list[object]:
    found: list[object] = []
    for data, error in (
        (JSON, None),
        (REFUSED + b"Content-Length: 5\r\n\r\nplain", None),
        (CHUNKED + b"0\r\n\r\n", None),
        (CHUNKED, None),
        (CHUNKED, OSError(errno.ECONNRESET, "gone")),
    ):
        for read in READERS:
            try:
                found.append(read(ask(data, error)))
            except (OSError, http.client.HTTPException) as raised:
                found.append(repr(raised))
    try:
        _Refusing(OSError(errno.ECONNREFUSED, "no")).request("POST", PATH)
    except OSError as raised:
        found.append(repr(raised))
    return found


def test_the_observers_own_errors_never_reach_the_agent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    expected = _outcomes()
    tried = [*mutants(tmp_path)]
    assert len(tried) > 30
    for name, folder in tried:
        with observed(lambda _: None, folder):
            assert _outcomes() == expected, name

    def failing(_: object) -> None:
        raise RuntimeError("the report's")

    with observed(failing):
        assert _outcomes() == expected
    assert capfd.readouterr() == ("", "")
