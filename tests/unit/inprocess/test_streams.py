"""Watching a provider's stream: what passes, what is missing at its end, what is closed."""

from __future__ import annotations

import json
import threading
from contextlib import aclosing, closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import anyio
import pytest

import lastword
from lastword.errors import StreamFailedError, StreamTruncatedError
from lastword.inprocess import streams
from lastword.inprocess.streams import watch
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

pytestmark = pytest.mark.anyio


def nothing() -> None: ...


async def collect(stream: Any, **more: Any) -> list[Any]:
    with anyio.fail_after(FUSE_SECONDS):
        return [item async for item in watch(stream, on_item=nothing, **more)]


async def given(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        yield item


def objects(value: Any) -> Any:
    """The same shape with attributes in place of keys, as packages have it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(child) for key, child in value.items()})
    return [objects(child) for child in value] if isinstance(value, list) else value


def chat(finish: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": {"content": "a"}, "finish_reason": finish}
    return {"id": "c", "model": "x", "choices": [choice]}


def gemini(reason: str | None, text: str = "a") -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": text}]}, "finish_reason": reason}]}


def ollama(*, done: bool) -> dict[str, Any]:
    return {"model": "x", "message": {"content": "a"}, "done": done}


def kinds(*names: str, key: str = "type") -> list[dict[str, Any]]:
    return [{key: name} for name in names]


USAGE = {"id": "c", "model": "x", "choices": [], "usage": {"total_tokens": 3}}
CONVERSE = [{"messageStart": {}}, {"contentBlockDelta": {}}, {"messageStop": {}}, {"metadata": {}}]

WHOLE: dict[str, list[Any]] = {
    "chat": [chat(), chat("stop")],
    "chat, then usage": [chat(), chat("tool_calls"), USAGE],
    "chat, two answers": [chat(), chat(None, 1), chat("stop"), chat("length", 1)],
    "chat, then filter results": [chat(), chat("stop"), chat()],
    "messages": kinds("message_start", "ping", "content_block_delta", "message_stop"),
    "messages, by event": kinds("message_start", "ping", "message_stop", key="event"),
    "responses": kinds("response.created", "response.output_text.delta", "response.completed"),
    "realtime": kinds("response.created", "response.done"),
    "conversation": kinds("conversation.response.started", "conversation.response.done"),
    "interaction": kinds("interaction.created", "interaction.completed", key="event_type"),
    "gemini": [gemini(None), gemini("STOP")],
    "gemini, as sent": [{"candidates": [{"finishReason": "MAX_TOKENS"}]}],
    "gemini, refused, as sent": [{"promptFeedback": {"blockReason": "SAFETY"}}],
    "gemini, usage last": [gemini("STOP"), {"candidates": None, "usage_metadata": {}}],
    "ollama": [ollama(done=False), ollama(done=True)],
    "wrapped chat": [{"data": chat(), "event": None}, {"data": chat("stop")}],
    "helper's chat": [{"type": "chunk", "chunk": chat()}, {"type": "content.delta"},
                      {"type": "chunk", "chunk": chat("stop")}, {"type": "content.done"}],
}  # fmt: skip

CUT: dict[str, tuple[str, list[Any]]] = {
    "chat": ("openai", [chat(), chat()]),
    "chat, empty reason": ("openai", [chat(), chat("")]),
    "chat, one answer of two": ("openai", [chat(), chat(None, 1), chat("stop")]),
    "chat, usage alone": ("openai", [USAGE]),
    "messages": ("anthropic", kinds("message_start", "content_block_delta", "message_delta")),
    "messages, a second": ("anthropic", kinds("message_start", "message_stop", "message_start")),
    "responses": ("openai", kinds("response.created", "response.output_text.delta")),
    "gemini": ("gemini", [gemini(None)]),
    "gemini, unspecified": ("gemini", [gemini("FINISH_REASON_UNSPECIFIED")]),
    "gemini, functions run": ("gemini", [gemini("STOP"), gemini(None)]),
    "ollama": ("ollama", [ollama(done=False)]),
    "helper's chat": ("openai", [{"type": "chunk", "chunk": chat()}, {"type": "content.delta"}]),
}

SHAPES: list[Callable[[Any], Any]] = [dict, objects]


@every("shape", SHAPES)
@every("name", WHOLE)
async def test_a_whole_stream_passes_every_item_unchanged(
    name: str, shape: Callable[[Any], Any]
) -> None:
    items = [shape(item) for item in WHOLE[name]]
    got = await collect(given(*items))
    assert all(a is b for a, b in zip(got, items, strict=True))


@every("shape", SHAPES)
@every("name", CUT)
async def test_a_stream_without_its_terminal_event_is_truncated(
    name: str, shape: Callable[[Any], Any]
) -> None:
    dialect, items = CUT[name]
    with pytest.raises(StreamTruncatedError) as caught:
        await collect(given(*map(shape, items)))
    assert (caught.value.dialect, caught.value.items) == (dialect, len(items))


@pytest.mark.parametrize(
    ("dialect", "items"),
    [
        ("bedrock", CONVERSE),
        ("mistral", [SimpleNamespace(data=objects(chat(reason))) for reason in (None, "stop")]),
    ],
)
async def test_a_dialect_of_one_shape_alone_is_recognised(dialect: str, items: list[Any]) -> None:
    assert await collect(items) == items
    with pytest.raises(StreamTruncatedError) as caught:
        await collect(items[:1])
    assert caught.value.dialect == dialect


ODD = type("Odd", (), {name: property(lambda _: 1 / 0) for name in ("type", "choices")})()
"""An item whose attributes raise."""


@every(
    "items",
    [
        *(["a", "b"], [b"data: {}"], [1, None], [MagicMock()], [], [ODD]),
        *([{"type": "text", "error": "in a field"}], [{"path": "x", "error": "none of ours"}]),
        *([{"choices": ["red", "blue"]}], [{"done": False, "total": 3}]),
        [{"type": "message_created"}],
    ],
)
async def test_a_stream_of_something_else_passes_without_judgement(items: list[Any]) -> None:
    assert await collect(given(*items)) == items


@pytest.mark.parametrize("kind", [[], {}, 1, None])
async def test_odd_values_in_a_recognised_stream_pass(kind: Any) -> None:
    odd = [{"type": "message_start"}, {"type": kind}, {"type": "message_stop"}]
    assert await collect(odd) == odd
    odd = [chat(), {"choices": kind}, {"choices": [kind]}, chat("stop")]
    assert await collect(odd) == odd


SLOW = {"code": 429, "message": "Slow down"}
FULL = {"type": "overloaded_error", "message": "Overloaded"}
FAILURES: dict[str, list[Any]] = {
    "provider_unavailable, anthropic": [*kinds("message_start"), {"type": "error", "error": FULL}],
    "provider_unavailable, at once": [{"type": "error", "error": FULL}],
    "provider_unavailable, by its event's name": [
        *kinds("message_start", key="event"),
        {"event": "error", "data": json.dumps({"error": FULL})},
    ],
    "provider_unavailable, gemini": [gemini(None), {"error": {"code": 503, "message": "Busy"}}],
    "provider_unavailable, ollama": [ollama(done=False), {"error": "the runner has stopped"}],
    "rate_limit, responses": [{"type": "error", "code": "rate_limit_exceeded", "message": "Slow"}],
    "rate_limit, gateway": [chat(), chat("error") | {"error": SLOW}],
    "rate_limit, gateway at once": [{"error": SLOW}],
    "rate_limit, conversation": [
        *kinds("conversation.response.started"),
        {"type": "conversation.response.error"} | SLOW,
    ],
    "rate_limit, bedrock": [*CONVERSE[:2], {"throttlingException": {"message": "Too many"}}],
}
"""The type that each is told with, and whose shape it is."""


@every("name", FAILURES)
async def test_a_failure_among_the_items_is_raised_with_its_type_and_not_passed_on(
    name: str,
) -> None:
    items = FAILURES[name]
    watched = watch(given(*items), on_item=nothing)
    assert [await anext(watched) for _ in items[:-1]] == items[:-1]
    with pytest.raises(StreamFailedError) as caught:
        await anext(watched)
    assert lastword.classify(caught.value).type == name.partition(",")[0]


async def test_a_failures_body_omits_what_the_event_repeats() -> None:
    error = SimpleNamespace(model_dump=lambda **_: {"code": "server_error"})
    response = SimpleNamespace(error=error, instructions="secret", output=["secret"])
    failed = SimpleNamespace(type="response.failed", response=response)
    with pytest.raises(StreamFailedError) as caught:
        await collect([failed])
    assert caught.value.body == {"type": "response.failed", "error": {"code": "server_error"}}


async def test_every_item_is_noted_and_passed_on_before_the_next_is_requested() -> None:
    said: list[str] = []

    async def stream() -> AsyncIterator[int]:
        for number in range(2):
            said.append("asked")
            yield number

    async for _ in watch(stream(), on_item=lambda: said.append("noted")):
        said.append("passed")  # noqa: PERF401 - the order is the point
    assert said == ["asked", "noted", "passed"] * 2


async def test_the_callers_own_check_decides_alone() -> None:
    def is_last(item: Any) -> bool:
        return bool(item == "END")

    assert await collect(given("a", "END"), finished=is_last) == ["a", "END"]
    failure = {"error": {"message": "told as an item"}}
    assert await collect(given(failure, "END"), finished=is_last) == [failure, "END"]
    for items in (["a"], [], [chat("stop")]):
        with pytest.raises(StreamTruncatedError) as caught:
            await collect(given(*items), finished=is_last)
        assert (caught.value.dialect, caught.value.items) == ("stream", len(items))


async def test_an_empty_stream_of_a_providers_class_is_truncated() -> None:
    class Empty:
        def __aiter__(self) -> AsyncIterator[Any]:
            return given()

    assert await collect(Empty()) == []
    Empty.__module__ = "openai._streaming"
    with pytest.raises(StreamTruncatedError) as caught:
        await collect(Empty())
    assert (caught.value.dialect, caught.value.items) == ("openai", 0)
    Empty.__module__ = "openai_like"
    assert await collect(Empty()) == []


class Recording:
    """A stream that says what was done to it."""

    def __init__(self, *items: Any, then: Callable[[], Any] = nothing) -> None:
        self.items = iter(items)
        self.closed = 0
        self.then = then

    def __aiter__(self) -> Recording:
        return self

    async def __anext__(self) -> Any:
        await anyio.lowlevel.checkpoint()
        item = next(self.items, None)
        if isinstance(item, Exception):
            raise item
        if item is None:
            await anyio.sleep_forever()
        return item

    async def close(self) -> None:
        self.closed += 1
        await anyio.lowlevel.checkpoint()
        if (waiting := self.then()) is not None:
            await waiting


async def test_a_stream_that_is_left_early_is_closed_and_not_truncated() -> None:
    closed = anyio.Event()

    async def generator() -> AsyncIterator[Any]:
        try:
            yield chat()
        finally:
            await anyio.lowlevel.checkpoint()
            closed.set()

    stream = Recording(chat(), chat())
    for each in (stream, generator()):
        async with aclosing(watch(each, on_item=nothing)) as watched:
            await anext(watched)
    assert stream.closed == 1
    assert closed.is_set()


@pytest.mark.parametrize("then", [nothing, lambda: 1 / 0, anyio.sleep_forever])
async def test_a_failed_stream_is_closed_and_its_exception_passes_however_the_close_ends(
    then: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "CLOSE_TIMEOUT_SECONDS", 0.05)
    stream = Recording(chat(), ConnectionResetError("by peer"), then=then)
    with pytest.raises(ConnectionResetError, match=r"^by peer$"):
        await collect(stream)
    assert stream.closed == 1
    stream = Recording(chat(), {"error": {"message": "x"}}, then=then)
    with pytest.raises(StreamFailedError):
        await collect(stream)
    assert stream.closed == 1


class Blocking:
    """A stream that is not async, whose second item comes when it is let go, or closed."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.threads: set[int] = set()
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        for finish in (None, "stop"):
            self.threads.add(threading.get_ident())
            yield chat(finish)
            self.let_go.wait(FUSE_SECONDS)

    def close(self) -> None:
        self.closed = True
        self.let_go.set()


async def test_a_stream_that_is_not_async_is_read_beside_the_event_loop() -> None:
    stream = Blocking()
    got: list[Any] = []

    async def read() -> None:
        got.extend(await collect(stream))

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.sleep(0.05)  # the loop turns while the stream blocks
        stream.let_go.set()
    assert got == [chat(), chat("stop")]
    assert threading.get_ident() not in stream.threads
    for cut in (iter([chat()]), (chat(),)):
        with pytest.raises(StreamTruncatedError):
            await collect(cut)


@pytest.mark.parametrize("make", [lambda: Recording(chat()), Blocking])
async def test_a_cancellation_closes_the_stream_and_does_not_wait_for_it(
    make: Callable[[], Any],
) -> None:
    stream = make()
    with anyio.fail_after(FUSE_SECONDS / 2), anyio.move_on_after(0.05) as scope:
        await collect(stream)
    assert scope.cancelled_caught
    assert stream.closed


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (anyio.lowlevel.checkpoint, "await the call first"),
        (lambda: aclosing(given()), "enter it with `async with`"),
        (lambda: closing(given()), "enter it with `with`"),
        (object, "not iterable"),
        (lambda: None, "not iterable"),
        (type("Whole", (list,), {"model_fields": ()}), "stream=True"),
        (lambda: "text", "stream=True"),
        (lambda: {"choices": []}, "stream=True"),
    ],
)
async def test_a_value_that_is_not_a_stream_is_refused_with_what_to_do(
    make: Callable[[], Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        await collect(make())


@pytest.fixture
def nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_unguarded", set())


@pytest.mark.usefixtures("nothing_was_said")
async def test_unknown_streams_are_logged_as_not_guarded_once_each_and_up_to_a_bound(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def words() -> AsyncIterator[str]:
        yield "The parser "
        yield "fails"

    for _ in range(2):
        assert await collect(words()) == ["The parser ", "fails"]
    async with aclosing(watch(iter([7, 8]), on_item=nothing)) as items:
        await anext(items)  # and no more
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "does not know this stream (async_generator, of str)" in said[0]
    assert "guards nothing" in said[0]
    assert "(list_iterator, of int)" in said[1]
    for number in range(streams.MAX_LISTED + 5):
        await collect(iter([type(f"Item{number}", (), {})()]))
    assert len(caplog.records) == streams.MAX_LISTED


@pytest.mark.usefixtures("nothing_was_said")
async def test_a_known_stream_or_one_with_a_known_end_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await collect(iter([chat(), chat("stop")]))
    await collect(iter(["more", "end"]), finished=lambda item: item == "end")
    await collect(())
    assert caplog.records == []
