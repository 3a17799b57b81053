"""Watching a model provider's stream: items pass unchanged, and a truncated stream raises.

Providers' packages raise nothing when a connection ends cleanly in the middle of an answer: the
loop just ends. This module checks the items themselves: the last items of a complete answer show
that it is complete, and an item may report a failure.

Owns how items of each dialect are recognised, by their shape and never by an import, and closes a
stream that is not read to its end. Does not own what the two failures mean (`core.classify`),
retries nothing, and keeps no item.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
import anyio.to_thread

from lastword.errors import MisuseError, StreamFailedError, StreamTruncatedError
from lastword.inprocess import settings
from lastword.quirks import wire as dialects

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

__all__ = ["CLOSE_TIMEOUT_SECONDS", "watch"]

T = TypeVar("T")

CLOSE_TIMEOUT_SECONDS = 5.0
"""How long closing a stream that was not read to its end may delay the caller."""

MAX_LISTED = 64
"""The most types of unknown streams that are logged."""

_REPORTED = (
    *("type", "event_type", "event", "code", "status", "message", "param", "detail", "error"),
    *("finish_reason", "native_finish_reason", "request_id", "data"),
)
"""The members of an event that a failure's `body` keeps. The list is closed because such events
also repeat the instructions and the answer so far, which do not belong in an error."""


class SpentStreamError(MisuseError):
    """A generator that has already ended."""

    def __init__(self) -> None:
        super().__init__(
            "This generator has ended, and gives nothing more: make the model call that returns "
            "the stream anew each time, within `with attempt:`."
        )


async def watch(
    stream: AsyncIterable[T] | Iterable[T],
    *,
    on_item: Callable[[], None],
    finished: Callable[[T], bool] | None = None,
) -> AsyncGenerator[T, None]:
    """Pass on every item of a stream, and raise if it ends before its terminal event.

    Recognised by shape, as objects and as plain dicts: the chat completions and responses of OpenAI
    and compatible services, Anthropic's messages, Gemini, Mistral, Ollama and Bedrock's converse. A
    stream of anything else, such as text or lines, passes unchecked unless `finished` is given; the
    log says so, once for each type.

    An item is requested only when the caller requests one. A stream that is not read to its end is
    closed, within `CLOSE_TIMEOUT_SECONDS`: at once on an exception or a cancellation in here, and
    when this generator is closed. Leaving a loop with `break` leaves closing to the event loop;
    `contextlib.aclosing` does it at once.

    Args:
        stream: What a provider's package returned, once awaited or entered. One that is not async
            is read in a worker thread, item by item, and not always in the same one.
        on_item: Called with each item as it arrives.
        finished: Returns whether an item is the terminal one. If given, it decides alone: items are
            checked neither for their dialect nor for a failure.

    Yields:
        The items, unchanged.

    Raises:
        StreamTruncatedError: The stream ended without the terminal event.
        StreamFailedError: An item reported a failure; that item is not passed on.
        MisuseError: The argument is a generator that has ended.
        TypeError: The argument is not a stream; the message says what to do.
    """
    judge = _Judge(stream, finished)
    source = _open(stream)
    items = 0
    try:
        async for item in source:
            items += 1
            on_item()
            judge.look(item)
            yield item
    except BaseException:  # including the caller's leaving
        _say_if_unguarded(judge, stream)
        await _close(source, stream)
        raise
    _say_if_unguarded(judge, stream)
    if not judge.progress.ended:
        raise StreamTruncatedError(judge.name, items)


_unguarded: set[tuple[type, type]] = set()
"""The types of unknown streams, and of their items, that were logged."""


def _say_if_unguarded(judge: _Judge, stream: object) -> None:
    """Warn the author that a stream passed unchecked, once for each type."""
    item = judge.unknown
    if item is None or (type(stream), item) in _unguarded or len(_unguarded) >= MAX_LISTED:
        return
    _unguarded.add((type(stream), item))
    settings.unguarded(type(stream).__qualname__, item.__qualname__)


def _open(stream: AsyncIterable[T] | Iterable[T]) -> AsyncIterator[T]:
    if hasattr(type(stream), "model_fields") or isinstance(stream, (dict, str, bytes)):
        # Pydantic's models iterate over their fields, and a string over its characters.
        raise TypeError(
            f"This is a whole {type(stream).__qualname__}, not a stream: ask the provider for a "
            "stream (stream=True), and give what that call returns."
        )
    if (inspect.isasyncgen(stream) and stream.ag_frame is None) or (
        inspect.isgenerator(stream) and stream.gi_frame is None
    ):
        raise SpentStreamError
    if isinstance(stream, AsyncIterable):
        return aiter(stream)
    if isinstance(stream, (list, tuple)):
        return _from_memory(stream)
    if isinstance(stream, Iterable):
        return _Threaded(stream)
    name = type(stream).__qualname__
    for method, words in (("__aenter__", "async with"), ("__enter__", "with")):
        if hasattr(stream, method):
            raise TypeError(
                f"This {name} is not a stream yet: enter it with `{words}`, and give the result."
            )
    if inspect.isawaitable(stream):
        if inspect.iscoroutine(stream):
            stream.close()  # or Python would also warn, less clearly
        raise TypeError(
            f"This {name} is not a stream yet: await the call first, and give the result."
        )
    raise TypeError(f"This {name} is not iterable, so it is not a stream.")


async def _from_memory(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item


class _Threaded:
    """A stream that is not async, read one item at a time in a worker thread."""

    def __init__(self, stream: Iterable[Any]) -> None:
        self._iterator = iter(stream)
        # Threads of its own, so that a provider that hangs does not use up those of others. Two,
        # because an abandoned read of a hung provider continues while the stream is closed.
        self._limiter = anyio.CapacityLimiter(2)

    def __aiter__(self) -> _Threaded:
        return self

    async def __anext__(self) -> Any:
        # `StopIteration` cannot leave a thread's future, so this object marks the end.
        item = await self.run(partial(next, self._iterator, self))
        if item is self:
            raise StopAsyncIteration
        return item

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return the call's result; a cancellation abandons the call."""
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)


async def _close(source: AsyncIterator[Any], stream: object) -> None:
    """Release the connection, even while being cancelled."""
    targets = [source] if stream is source else [source, stream]
    with anyio.move_on_after(CLOSE_TIMEOUT_SECONDS, shield=True):
        for target in targets:
            close = getattr(target, "aclose", None) or getattr(target, "close", None)
            if not callable(close):
                continue
            # The error that stopped the reader must surface, not a failure to clean up.
            with suppress(Exception):
                done = await source.run(close) if isinstance(source, _Threaded) else close()
                if inspect.isawaitable(done):
                    await done


class _Progress:
    """The progress of one stream's answers; a request may ask for several."""

    def __init__(self) -> None:
        self.over = False
        self._open: set[int] = set()
        self._complete: set[int] = set()

    @property
    def ended(self) -> bool:
        return self.over or (bool(self._complete) and not self._open)

    def note(self, answer: Any, *, reason: Any, goes_on: bool = False) -> None:
        """Note an item of an answer: with a reason, the answer is complete unless it continues."""
        index = _get(answer, "index")
        index = index if isinstance(index, int) else 0
        if reason and str(getattr(reason, "value", reason)) not in dialects.UNSET_REASONS:
            self._complete.add(index)
            self._open.discard(index)
        elif goes_on or index not in self._complete:
            self._complete.discard(index)
            self._open.add(index)


class _Dialect(NamedTuple):
    """One way of streaming an answer; `wrapped_in` is the member that has the item, if any."""

    name: str
    look: Callable[[_Progress, Any], None]
    wrapped_in: str = ""


class _Judge:
    """Recognises the dialect by the first item that has one, and then applies it."""

    def __init__(self, stream: object, finished: Callable[[Any], bool] | None) -> None:
        self._finished = finished
        self.progress = _Progress()
        self._dialect: _Dialect | None = None
        self._home = _home(stream) or ("stream" if finished else "")
        # A stream without a dialect may end at any time; only known packages' are never empty.
        self.progress.over = not self._home
        self._first: type | None = None

    @property
    def name(self) -> str:
        return self._dialect.name if self._dialect else self._home

    @property
    def unknown(self) -> type | None:
        """The type of the first item, if no item so far was of a known dialect."""
        return None if self._finished is not None or self._dialect is not None else self._first

    def look(self, item: Any) -> None:
        """Receive an item; raise `StreamFailedError` if it is a failure."""
        self._first = self._first or type(item)
        if self._finished is not None:
            self.progress.over = self.progress.over or self._finished(item)
            return
        if self._dialect is None:
            self._dialect = _recognise(item)
            self.progress.over = self._dialect is None
        if self._dialect is not None:
            inner = _get(item, self._dialect.wrapped_in) if self._dialect.wrapped_in else item
            if inner is not None:
                self._dialect.look(self.progress, inner)


def _home(stream: object) -> str:
    """Return the provider's package from which a stream comes, or an empty string."""
    module, packages = type(stream).__module__, dialects.PACKAGES
    if module == "builtins":
        frame = getattr(stream, "ag_frame", None) or getattr(stream, "gi_frame", None)
        module = str(frame.f_globals.get("__name__")) if frame else ""
        packages = dialects.GENERATORS
    return next((p for p in packages if module == p or module.startswith(f"{p}.")), "")


def _recognise(item: Any) -> _Dialect | None:
    """Return the dialect of an item, or `None` if the item does not show one."""
    # Mistral's events, and those decoded with their SSE name, have the item in `data`; the OpenAI
    # package's helper has it in `chunk`, between its own events.
    for key in ("", "data", "chunk"):
        dialect = _recognise_plain(_get(item, key) if key else item)
        if dialect is not None:
            renamed = key == "data" and not isinstance(item, dict) and dialect.look is _look_at_chat
            return dialect._replace(name="mistral" if renamed else dialect.name, wrapped_in=key)
    return None


def _recognise_plain(item: Any) -> _Dialect | None:
    kind = _kind(item)
    name = next((name for start, name in dialects.FIRST_EVENTS if kind.startswith(start)), None)
    if name is None and kind == "error" and _is_failure_report(item):
        name = "openai" if _get(item, "error") is None else "anthropic"
    if name is not None:
        return _Dialect(name, _look_at_event)
    if _is_chat(item) or (isinstance(item, dict) and _is_failure_report(item)):
        return _Dialect("openai", _look_at_chat)
    if isinstance(_get(item, "candidates"), list) or isinstance(_refusal(item), str):
        return _Dialect("gemini", _look_at_gemini)
    if isinstance(_get(item, "done"), bool) and isinstance(_get(item, "model"), str):
        return _Dialect("ollama", _look_at_ollama)
    if isinstance(item, dict) and len(item) == 1 and not dialects.FIRST_KEYS.isdisjoint(item):
        return _Dialect("bedrock", _look_at_converse)
    return None


def _look_at_event(progress: _Progress, item: Any) -> None:
    kind = _kind(item)
    if kind in dialects.ENDINGS or kind in dialects.BEGINNINGS:
        progress.over = kind in dialects.ENDINGS
    elif kind == "message_delta" and _get(_get(item, "delta"), "stop_reason"):
        progress.over = True  # Anthropic: the answer is complete, even without its last event
    elif kind in dialects.FAILURES:
        raise _failure(item)


def _look_at_chat(progress: _Progress, item: Any) -> None:
    choices = _list(item, "choices")
    if (isinstance(item, dict) or not choices) and _get(item, "error"):
        raise _failure(item)
    for choice in choices:  # a chunk with only the usage has none
        reason = _get(choice, "finish_reason")
        if reason == "error":
            raise _failure(item if _get(item, "error") else choice)
        progress.note(choice, reason=reason)


def _look_at_gemini(progress: _Progress, item: Any) -> None:
    candidates = _list(item, "candidates")
    if not candidates and _get(item, "error"):
        raise _failure(item)
    if not candidates and _refusal(item):
        progress.over = True
    for candidate in candidates:
        reason = _get(candidate, "finish_reason") or _get(candidate, "finishReason")
        # The package may run a function itself, and then continues with the next answer's chunks.
        goes_on = bool(_get(_get(candidate, "content"), "parts"))
        progress.note(candidate, reason=reason, goes_on=goes_on)


def _look_at_ollama(progress: _Progress, item: Any) -> None:
    if isinstance(item, dict) and item.get("error"):
        raise _failure(item)
    progress.over = progress.over or _get(item, "done") is True


def _look_at_converse(progress: _Progress, item: Any) -> None:
    for key in item if isinstance(item, dict) else ():  # the only key is the event's name
        if str(key).endswith("Exception"):
            members = item[key] if isinstance(item[key], dict) else {}
            raise StreamFailedError({"error": {"type": key, **members}})
        progress.over = progress.over or key == "messageStop"


def _is_chat(item: Any) -> bool:
    choices = _get(item, "choices")
    if not isinstance(choices, list):
        return False
    if not choices:  # Azure's first chunk, or one with only the usage
        return isinstance(_get(item, "model"), str)
    return any(_get(choices[0], key) is not None for key in ("delta", "finish_reason"))


def _is_failure_report(item: Any) -> bool:
    """Return whether an otherwise unknown item is a failure, in the form of all dialects."""
    error = _get(item, "error")
    if isinstance(error, str):
        return error != "" and isinstance(item, dict) and len(item) == 1
    if error is None:
        return _get(item, "type") == "error" and isinstance(_get(item, "message"), str)
    return isinstance(_get(error, "message"), str)


def _refusal(item: Any) -> Any:
    """Return why Gemini refused the prompt, if it did: such an answer has no candidate."""
    feedback = _get(item, "prompt_feedback") or _get(item, "promptFeedback")
    return _get(feedback, "block_reason") or _get(feedback, "blockReason")


def _kind(item: Any) -> str:
    """Return the kind of an event, or an empty string."""
    for key in ("type", "event_type", "event"):
        kind = _get(item, key)
        if isinstance(kind, str):
            return kind
    return ""


def _get(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    try:
        return getattr(value, name, None)
    except BaseException:  # noqa: BLE001 - foreign properties, which may raise anything
        return None


def _list(value: Any, name: str) -> list[Any]:
    items = _get(value, name)
    return items if isinstance(items, list) else []


def _failure(item: Any) -> StreamFailedError:
    """Return the failure that an item reports, with plain values."""
    body = {key: _plain(value) for key in _REPORTED if (value := _get(item, key)) is not None}
    error = _get(_get(item, "response"), "error")
    return StreamFailedError(body if error is None else body | {"error": _plain(error)})


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool, dict, list)):
        return value
    try:
        return value.model_dump(exclude_none=True, warnings=False)
    except Exception:  # noqa: BLE001 - foreign code; any description is better than none
        return str(value)
