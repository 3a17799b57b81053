"""A request to a model, and the reports about it.

`_lastword_observer` loads this file, and defines `quiet` and `observers` in it.
"""

import errno
import os
import re
import socket
import sys
import time
import zlib
from contextvars import copy_context
from functools import update_wrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

quiet: "Callable[..., Callable[..., Any]]" = globals()["quiet"]
observers: "list[tuple[Any, str]]" = globals()["observers"]

MAX_BODY_BYTES, REFUSED_STATUS, EMPTY_STATUS = 4096, 400, 200
PROGRESS_SECONDS = 2.0
_WAITS = {"retry-after", "retry-after-ms", "x-should-retry"}
_NAMES = {"timeout": "TimeoutError", "Cancelled": "CancelledError"}
_PORTS = {"http": 80, "https": 443}
_FOLDER = os.path.dirname(__file__)
_next_id = iter(range(1, 1 << 53)).__next__


def _text(value: "Any") -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def begin(
    method: "Any", scheme: "Any", host: "Any", port: "Any", target: "Any", size: "Any" = None
) -> "ObservedRequest | None":
    """Report a request before it is sent; return None if it does not go to a model."""
    if _text(method).upper() != "POST":
        return None
    path = re.sub("^[a-z]+://[^/]*|[?#].*", "", _text(target))  # a proxy gets the whole URL
    reports = [report for report, pattern in observers if re.search(pattern, path, re.IGNORECASE)]
    scheme, host = _text(scheme), _text(host)
    if not reports or scheme not in _PORTS:
        return None
    if port and port != _PORTS[scheme]:
        host = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    members = {} if size is None else {"bytes": int(size)}
    request = ObservedRequest(reports)
    request.send("request", method="POST", host=host, path=path[:300], **members, model=True)
    return request


class ObservedRequest:
    """A request to a model, and the progress of its answer."""

    status, encoding = 0, ""
    is_open, is_pooled, is_empty = True, False, True
    _body: "bytearray | None" = None
    _last_at = 0.0

    def __init__(self, reports: "list[Any]") -> None:
        self._id, self._reports, self._context = _next_id(), reports, copy_context()
        self.handled = id(sys.exc_info()[1])  # an earlier one's, in whose handler this is made

    def send(self, event: str, **members: "Any") -> None:
        members = {"event": event, "pid": os.getpid(), "id": self._id, **members}
        for report in self._reports:
            self._context.run(report, members)

    @quiet
    def answer(self, status: int, headers: "Any") -> None:
        """Report the beginning of the answer."""
        self.status, self._last_at = int(status), time.monotonic()
        self._body = bytearray() if status >= REFUSED_STATUS else None
        members: dict[str, Any] = {}
        limits: dict[str, str] = {}
        for key, value in headers:
            name, text = _text(key).lower(), _text(value)[:200]
            if name == "content-type":
                members["type"] = text
            elif name == "content-encoding":
                self.encoding = text
            elif name in _WAITS or "ratelimit" in name or "rate-limit" in name:
                limits[name] = text
        if limits:
            members["headers"] = dict(list(limits.items())[:24])
        self.send("status", status=self.status, **members)

    @quiet
    def read(self, data: "Any") -> None:
        """Report a piece of the answer that the agent has read."""
        self.is_empty = self.is_empty and not data
        if (body := self._body) is not None:
            body += data[: MAX_BODY_BYTES - len(body)]
            if len(body) == MAX_BODY_BYTES:
                self._send_body()
        elif self.is_open and time.monotonic() - self._last_at >= PROGRESS_SECONDS:
            self._last_at = time.monotonic()
            self.send("progress")

    @quiet
    def _send_body(self) -> None:
        body, self._body = bytes(self._body or b""), None
        if self.encoding in {"gzip", "deflate"}:
            body = zlib.decompressobj(47).decompress(body, MAX_BODY_BYTES)
        if body and self.encoding in {"", "identity", "gzip", "deflate"}:
            self.send("body", text=body.decode("utf-8", "replace"))

    @quiet
    def end(self, event: str = "end", **members: "Any") -> None:
        """Report that the answer is complete, or that it has failed."""
        if self.is_open:
            self.is_open = False
            self._send_body()
            self.send(event, **members)

    @quiet
    def complete(self) -> None:
        """Report that the whole answer has been read."""
        self.end(**({"empty": True} if self.is_empty and self.status == EMPTY_STATUS else {}))

    __enter__ = quiet(lambda _: None)

    @quiet
    def __exit__(self, kind: object, error: "BaseException | None", traceback: "Any") -> None:
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            self.complete()
        elif error is not None:
            while traceback.tb_next is not None:  # at most one of our frames is to be seen in it
                if os.path.dirname(traceback.tb_next.tb_frame.f_code.co_filename) == _FOLDER:
                    traceback.tb_next = traceback.tb_next.tb_next
                else:
                    traceback = traceback.tb_next
            fail(self, error)

    @quiet
    def __del__(self) -> None:
        if self.status:
            self.end()
        self.end("error", code=None, name="CancelledError")


@quiet
def fail(request: "ObservedRequest", error: BaseException) -> None:
    """Report the error that ends a request."""
    code, name = _cause_of(error, request) or (None, type(error).__name__)
    request.end("error", code=code, name=_NAMES.get(name, name))


@quiet
def _cause_of(error: "Any", request: "ObservedRequest") -> "tuple[str | None, str]":
    """Return the system's name of the error that caused this one, and the name of its class."""
    code, name, ssl = None, type(error).__name__, sys.modules.get("ssl")
    for _ in range(20):
        if error is None or id(error) == request.handled:
            break
        if ssl and isinstance(error, ssl.SSLError):
            return None, type(error).__name__  # its numbers are OpenSSL's
        number = error.errno if isinstance(error, OSError) else None
        if isinstance(error, socket.gaierror):
            names = (each for each in dir(socket) if each.startswith("EAI_"))
            code = code or next((each for each in names if getattr(socket, each) == number), None)
        elif number is not None:
            code = code or errno.errorcode.get(number)
        group = getattr(error, "exceptions", None)
        error = group[0] if group else error.__cause__ or error.__context__
    return code, name


@quiet
def close(request: "ObservedRequest") -> None:
    """Report that the agent stops reading: it has enough, or an exception stopped it."""
    error = sys.exc_info()[1]
    name = type(error).__name__ if error and id(error) != request.handled else ""
    if error and ("Cancelled" in name or "imeout" in name or name == "KeyboardInterrupt"):
        fail(request, error)
    request.end()


def _around(original: "Any", begins: "Any", answered: "Any" = lambda *_: None) -> "Any":
    def method(*args: "Any", **kwargs: "Any") -> "Any":
        request = begins(*args, **kwargs)
        if request is None:
            return original(*args, **kwargs)
        with request:
            result = original(*args, **kwargs)
        answered(request, result)
        return result

    return update_wrapper(method, original)


def _async_around(original: "Any", begins: "Any", answered: "Any") -> "Any":
    async def method(*args: "Any", **kwargs: "Any") -> "Any":
        request = begins(*args, **kwargs)
        if request is None:
            return await original(*args, **kwargs)
        with request:
            result = await original(*args, **kwargs)
        answered(request, result)
        return result

    return update_wrapper(method, original)
