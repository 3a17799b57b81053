"""The event stream that opencode serves: one request without blocking, two kinds of event read.

Owns a connection to the agent's own port, and the necessary parts of HTTP/1.1 and server-sent
events. The stream contains the conversation: only lines about a retry or about an answer without
an end are decoded, and no text is stored. A stream that is malformed, too fast or ended is closed;
only its hints are lost.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from typing import Any

import msgspec

from lastword.core.failure.taxonomy import Attribution
from lastword.core.link.evidence import Hint, HintSource
from lastword.platform.pipes import POLLIN, POLLOUT, number_of
from lastword.platform.process_tree import LOOPBACK

PATH = "/global/event"
"""The events of every folder with sessions; `/event` reports only the server's own folder
(observed with opencode 1.18.33)."""

MARKS = (
    (b'"session.status"', b'"retry"'),
    (b'"message.updated"', b'"finish"', b'"unknown"'),
)
"""The marks of a line that is decoded: all of one row."""

EMPTY_ANSWERS = 2
"""This many empty answers to one prompt make a hint, and every doubling another. If the provider
answers nothing, or with a page, opencode 1.18.33 asks again 15 times a second, forever, and reports
nothing else about it."""

MAX_PROMPTS = 64
READ_BYTES = 64 * 1024
MAX_HEAD_BYTES = 16 * 1024
MAX_LINE_BYTES = 256 * 1024
"""A longer line is skipped; an event with a file in it may be one."""

FLOOD_BYTES = 64 * 1024 * 1024
FLOOD_SECONDS = 10.0
"""No conversation sends more than this many bytes in this time."""

ANSWER_SECONDS = 5.0
"""How long the agent may take to begin its answer."""

MAX_WAIT_SECONDS = 366 * 24 * 3600.0
MAX_ATTEMPT = 10_000
_UNDER_WAY = {0, errno.EINPROGRESS, errno.EWOULDBLOCK}


class EventStream:
    """A connection that reports retries."""

    __slots__ = (
        *("_answered", "_body", "_empty", "_lines", "_read", "_since", "_socket"),
        *("fd", "poll_events"),
    )

    def __init__(self, port: int, now: float) -> None:
        """Begin to connect. Raises OSError if that fails at once."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.settimeout(0)
        self.fd: int = number_of(self._socket)
        self.poll_events: int = POLLOUT
        self._since = now
        self._read = 0
        self._answered: bytes | None = b""
        """The part of the response's head that has arrived; `None` once it is complete."""
        self._body: Chunks | None = None
        self._lines = EventLines()
        self._empty = EmptyAnswers()
        failed = self._socket.connect_ex((LOOPBACK, port))
        if failed not in _UNDER_WAY:
            self.close()
            raise OSError(failed, os.strerror(failed))

    @property
    def is_open(self) -> bool:
        return self.fd >= 0

    def close(self) -> None:
        self._socket.close()
        self.fd = -1

    def look(self, now: float) -> None:
        """Close the stream if no answer has begun in time."""
        if self._answered is not None and now - self._since > ANSWER_SECONDS:
            self.close()

    def ready(self, now: float) -> list[Hint]:
        """Read what is available; return the retries that it reports."""
        try:
            if self.poll_events == POLLOUT:
                request = f"GET {PATH} HTTP/1.1\r\nHost: {LOOPBACK}\r\nAccept: text/event-stream"
                failed = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                # A working new connection accepts this much at once.
                whole = f"{request}\r\n\r\n".encode()
                if failed or self._socket.send(whole) < len(whole):
                    self.close()
                self.poll_events = POLLIN
                return []
            data = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if data and now - self._since > FLOOD_SECONDS:
            self._since, self._read = now, 0
        self._read += len(data)
        if not data or self._read > FLOOD_BYTES or not self._receive(data):
            self.close()
            return []
        hints: list[Hint] = []
        for line in self._lines.marked():
            event = _event(line)
            hint = _hint(event, now) or self._empty.hint(event, now)
            if hint is not None:
                hints.append(hint)
        return hints

    def _receive(self, data: bytes) -> bool:
        """Receive the response's head and body; return `False` if it is not an event stream."""
        if self._answered is not None:
            self._answered += data
            head, ended, data = self._answered.partition(b"\r\n\r\n")
            if not ended:
                return len(head) <= MAX_HEAD_BYTES
            status, *fields = head.lower().split(b"\r\n")
            split = (field.partition(b":") for field in fields)
            headers = {name: value for name, _, value in split}
            is_stream = headers.get(b"content-type", b"").strip().startswith(b"text/event-stream")
            if status.split()[1:2] != [b"200"] or not is_stream:
                return False
            self._answered = None
            if headers.get(b"transfer-encoding", b"").strip() == b"chunked":
                self._body = Chunks()
        body = data if self._body is None else self._body.feed(data)
        if body is None:
            return False
        self._lines.feed(body)
        return True


class EmptyAnswers:
    """Counts empty answers, after which the agent silently asks again."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, tuple[str, int]] = {}
        """By the prompt's id: the last empty answer's id, and how many there were."""

    def hint(self, event: Any, now: float) -> Hint | None:
        """Return a hint if an event reports one more answer without text or stop reason."""
        properties = _member(event, "properties")
        info, session = _member(properties, "info"), _member(properties, "sessionID")
        prompt, answer = _member(info, "parentID"), _member(info, "id")
        tokens = _member(info, "tokens")
        is_empty = (
            _member(info, "finish") == "unknown"
            and _member(tokens, "output") == 0
            and _member(tokens, "reasoning") == 0
            and all(isinstance(each, str) for each in (session, prompt, answer))
        )
        last, count = self._counts.get(prompt, ("", 0)) if is_empty else ("", 0)
        if not is_empty or answer == last:  # every answer is reported twice
            return None
        count += 1
        if len(self._counts) >= MAX_PROMPTS and prompt not in self._counts:
            self._counts.clear()
        self._counts[prompt] = answer, count
        if count < EMPTY_ANSWERS or count & (count - 1):
            return None
        from lastword.core.classify import classify  # noqa: PLC0415

        return Hint(
            source=HintSource.EVENTS,
            verdict=classify({"message": "The model provider sent an empty response."}),
            attribution=Attribution.PROVEN,
            at_seconds=now,
            session_id=session,
            attempt=count + 1,
            goes_on=True,
        )


class Chunks:
    """The body of a chunked response, without the chunks' framing."""

    __slots__ = ("_head", "_left")

    def __init__(self) -> None:
        self._head = b""
        """The part of a chunk's first line that has arrived."""
        self._left = 0
        """How many bytes of the chunk are still to come, with the line end after it."""

    def feed(self, data: bytes) -> bytes | None:
        """Return the body's bytes; `None` at its end or if it is malformed."""
        body: list[bytes] = []
        while data:
            if self._left > 0:
                piece, data = data[: self._left], data[self._left :]
                # The last two bytes are the line's end.
                body.append(piece[: max(0, self._left - 2)])
                self._left -= len(piece)
                continue
            head, ended, data = (self._head + data).partition(b"\r\n")
            if not ended:
                self._head = head
                return b"".join(body) if len(head) <= MAX_HEAD_BYTES else None
            self._head = b""
            digits = head.partition(b";")[0].strip()
            if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):  # noqa: PLR2004
                return None
            size = int(digits, 16)
            if not size:
                return None
            self._left = size + 2
        return b"".join(body)


class EventLines:
    """The lines of an event stream that contain the marks."""

    __slots__ = ("_marked", "_part", "_skips")

    def __init__(self) -> None:
        self._part = b""
        self._skips = False
        """Whether a line that is too long is being skipped."""
        self._marked: list[bytes] = []

    def feed(self, data: bytes) -> None:
        if self._skips:
            _, ended, data = data.partition(b"\n")
            if not ended:
                return
            self._skips = False
        whole, ended, last = (self._part + data).rpartition(b"\n")
        # Most blocks have no marked line: one search shows that without splitting them.
        if ended and _is_marked(whole):
            self._marked += [
                line
                for line in whole.split(b"\n")
                if len(line) <= MAX_LINE_BYTES and _is_marked(line)
            ]
        self._part = last
        if len(last) > MAX_LINE_BYTES:
            self._part, self._skips = b"", True

    def marked(self) -> list[bytes]:
        """Return the marked lines since the last call."""
        lines, self._marked = self._marked, []
        return lines


def _is_marked(data: bytes) -> bool:
    return any(all(mark in data for mark in marks) for marks in MARKS)


def _event(line: bytes) -> Any:
    name, _, data = line.partition(b":")
    if name != b"data":
        return None
    try:
        event = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return _member(event, "payload") or event


def _hint(event: Any, now: float) -> Hint | None:
    """Return the retry that an event reports."""
    properties = _member(event, "properties")
    status = _member(properties, "status")
    if _member(event, "type") != "session.status" or _member(status, "type") != "retry":
        return None
    session, message = _member(properties, "sessionID"), _member(status, "message")
    if not isinstance(session, str) or not isinstance(message, str):
        return None
    # Loaded at the first retry: a healthy turn does not need it.
    from lastword.core.classify import classify  # noqa: PLC0415

    attempt, next_at = _member(status, "attempt"), _member(status, "next")
    wait = None
    if isinstance(next_at, int | float) and not isinstance(next_at, bool):
        wait = max(0.0, float(next_at) / 1000 - time.time())
    is_count = (
        isinstance(attempt, int) and not isinstance(attempt, bool) and 0 <= attempt < MAX_ATTEMPT
    )
    return Hint(
        source=HintSource.EVENTS,
        verdict=classify({"message": message, "http_status": None}),
        attribution=Attribution.PROVEN,
        at_seconds=now,
        session_id=session,
        # The first retry is the second try.
        attempt=attempt + 1 if is_count else None,
        wait_seconds=wait if wait is not None and wait <= MAX_WAIT_SECONDS else None,
        goes_on=True,
    )


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
