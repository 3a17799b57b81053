"""The places in HTTP libraries that report requests to a model, each request once.

They are the lowest layers that see a whole request: `http.client` (for urllib3, also the pool,
which connects first), `httpcore` below httpx, and `aiohttp`. `_lastword_observer` loads this file,
and defines the names in it that are imported here only for types.
"""

from weakref import WeakValueDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lastword.observer.python._lastword_request import ObservedRequest

quiet: "Callable[..., Callable[..., Any]]" = globals()["quiet"]
begin: "Callable[..., ObservedRequest | None]" = globals()["begin"]
_around, _async_around = globals()["_around"], globals()["_async_around"]
fail, close = globals()["fail"], globals()["close"]

_aio_streams: "WeakValueDictionary[int, ObservedRequest]" = WeakValueDictionary()


class _AnswerStream:
    """An answer's stream, or its iterator, that reports what the agent reads."""

    def __init__(self, inner: "Any", request: "ObservedRequest") -> None:
        self._inner, self._request = inner, request

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._inner, name)

    def __iter__(self) -> "_AnswerStream":
        return _AnswerStream(iter(self._inner), self._request)

    def __next__(self) -> "Any":
        with self._request:
            data = next(self._inner)
        self._request.read(data)
        return data

    def __aiter__(self) -> "_AnswerStream":
        return _AnswerStream(self._inner.__aiter__(), self._request)

    async def __anext__(self) -> "Any":
        with self._request:
            data = await self._inner.__anext__()
        self._request.read(data)
        return data

    def close(self) -> "Any":
        close(self._request)
        return self._inner.close()

    async def aclose(self) -> "Any":
        close(self._request)
        return await self._inner.aclose()


def _reading(name: str) -> "Any":
    def method(self: "_AnswerReader", *args: "Any") -> "Any":
        with self._request:
            result = getattr(self._inner, name)(*args)
        self.after(name, result, *args)
        return result

    return method


class _AnswerReader(_AnswerStream):
    """The file from which http.client reads an answer."""

    is_framed = has_end = False
    read, read1, peek, readline, readinto = map(
        _reading, ("read", "read1", "peek", "readline", "readinto")
    )

    @quiet
    def after(self, name: str, result: "Any", limit: "Any" = -1) -> None:
        data = memoryview(limit)[:result] if name == "readinto" else result
        size = len(limit) if name == "readinto" else -1 if limit is None else limit
        is_frame = self.is_framed and (name == "readline" or data == b"\r\n")
        if data and name != "peek" and not is_frame:
            self._request.read(data)
        if (size and not data) or (name == "read" and len(data) < size):
            if self.has_end:
                self._request.end("error", code=None, name="IncompleteRead")
            self._request.complete()


def _http_begins(connection: "Any", *_: "Any", **__: "Any") -> "ObservedRequest | None":
    pooled = connection.__dict__.get("_lastword")
    if pooled and pooled.is_open and pooled.is_pooled:
        return None  # reported by urllib3's pool
    method, target = connection._buffer[0].split(b" ")[:2]
    sizes = [line[15:] for line in connection._buffer if line[:15].lower() == b"content-length:"]
    host, port = connection.host, connection.port
    if connection._tunnel_host:
        host, port = connection._tunnel_host, connection._tunnel_port
    scheme = {443: "https"}.get(connection.default_port, "http")
    request = begin(method, scheme, host, port, target, *sizes[:1])
    if request or pooled:
        connection._lastword = request
    return request


def _http_waits(connection: "Any") -> "Any":
    # Not with options: an old urllib3 tries one first, which raises an error.
    request = connection.__dict__.pop("_lastword", None)
    return request if request and request.is_open else None


def _http_answered(request: "ObservedRequest", response: "Any") -> None:
    request.answer(response.status, response.headers.items())
    if response.fp is None or response.length == 0:
        request.complete()
    else:
        response.fp = reader = _AnswerReader(response.fp, request)
        reader.is_framed = bool(response.chunked)
        reader.has_end = reader.is_framed or response.length is not None


def _pool_begins(
    pool: "Any", connection: "Any", method: str, url: str, *_: "Any", **options: "Any"
) -> "Any":
    body = options.get("body")
    size = len(body) if isinstance(body, bytes) else None
    request = begin(method, pool.scheme, pool.host, pool.port, url, size)
    if request:
        request.is_pooled, connection._lastword = True, request
    return request


def _core_begins(_: "Any", made: "Any") -> "ObservedRequest | None":
    sizes = [value for name, value in made.headers if name.lower() == b"content-length"]
    url = made.url
    return begin(made.method, url.scheme, url.host, url.port, url.target, *sizes[:1])


def _core_answered(request: "ObservedRequest", response: "Any") -> None:
    request.answer(response.status, response.headers)
    response.stream = _AnswerStream(response.stream, request)


def _aio_begins(session: "Any", method: str, url: "Any", **options: "Any") -> "Any":
    if method.upper() != "POST":
        return None
    url, data = session._build_url(url), options.get("data")
    size = len(data) if isinstance(data, bytes) else None
    return begin(method, url.scheme, url.raw_host, url.port, url.raw_path, size)


def _aio_answered(request: "ObservedRequest", response: "Any") -> None:
    request.answer(response.status, response.headers.items())
    request.encoding = ""  # aiohttp has decoded it
    for data in tuple(getattr(response.content, "_buffer", ())):
        request.read(data)
    if response.content.is_eof():
        request.complete()
    else:
        response._lastword = _aio_streams[id(response.content)] = request


def _aio_feeds(stream: "Any", data: bytes, *_: "Any") -> None:
    _aio_streams[id(stream)].read(data)


def _aio_ends(stream: "Any") -> None:
    _aio_streams[id(stream)].complete()


def _aio_breaks(stream: "Any", error: BaseException, *_: "Any") -> None:
    request = _aio_streams[id(stream)]
    if type(error).__name__ == "ClientConnectionError":  # the agent closes it
        close(request)
    else:
        fail(request, error)


_CORE = (
    ("ConnectionPool", "handle_request", _around, _core_begins, _core_answered),
    ("AsyncConnectionPool", "handle_async_request", _async_around, _core_begins, _core_answered),
)
HOOKS: "dict[str, tuple[tuple[Any, ...], ...]]" = {
    "http.client": (
        ("HTTPConnection", "endheaders", _around, _http_begins),
        ("HTTPConnection", "getresponse", _around, _http_waits, _http_answered),
    ),
    "urllib3.connectionpool": (("HTTPConnectionPool", "_make_request", _around, _pool_begins),),
    "httpcore": _CORE,
    "httpcore2": _CORE,
    "aiohttp.client": (("ClientSession", "_request", _async_around, _aio_begins, _aio_answered),),
    "aiohttp.streams": (
        ("StreamReader", "feed_data", _around, _aio_feeds),
        ("StreamReader", "feed_eof", _around, _aio_ends),
        ("StreamReader", "set_exception", _around, _aio_breaks),
    ),
}
