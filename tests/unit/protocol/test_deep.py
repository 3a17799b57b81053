"""Lines nested deeper than the parsers go: what is JSON passes as it came, and what is none not."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.protocol import jsonrpc
from tests.kit.rows import every
from tests.kit.wire import Wire
from tests.unit.link.test_connection_rare_frames import in_turn


def nested(depth: int, inner: str = "1") -> str:
    """Objects in arrays in objects, with keys that look like brackets."""
    return '[0,{"]a\\"{":' * (depth // 2) + inner + "}]" * (depth // 2)


def answer(value: str, tail: str = "") -> bytes:
    """An answer with a value in it."""
    members = f'"result":{{"stopReason":"end_turn","x":{value}}}{tail}'
    return f'{{"jsonrpc":"2.0","id":7,{members}}}'.encode()


def read(line: bytes) -> jsonrpc.Frame:
    """The line as a frame, which it is."""
    frame = jsonrpc.decode(line)
    assert isinstance(frame, jsonrpc.Frame)
    return frame


def is_json(line: bytes) -> bool:
    """What a parser says that goes as deep as it takes."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        json.loads(line)
    except ValueError:
        return False
    finally:
        sys.setrecursionlimit(limit)
    return True


@pytest.fixture
def shallow_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that goes a layer deep: Python 3.11's goes 1,000, later ones go 10,000 or more."""
    decode = jsonrpc._decoder.decode

    def shallow(line: bytes) -> jsonrpc.Envelope:
        if jsonrpc.without_depths(line) != line:
            raise RecursionError
        return decode(line)

    monkeypatch.setattr(jsonrpc, "_decoder", SimpleNamespace(decode=shallow))


@pytest.mark.parametrize(
    "depth",
    [
        *(jsonrpc.LAYER - 3, jsonrpc.LAYER - 2, jsonrpc.LAYER - 1, 2 * jsonrpc.LAYER),
        *(1000, 9990, 100_000),
    ],
)
def test_a_deep_line_is_a_frame_with_readable_upper_members(depth: int) -> None:
    line = answer(nested(depth, '"\\ud83d"'), ',"y":"\\ud83d"')
    frame = read(line)
    assert (frame.line, frame.message.request_id) == (line, b"7")
    assert jsonrpc.loads(frame.message.result)["stopReason"] == "end_turn"
    assert jsonrpc.loads(frame.readable)["y"] == "\ud83d"
    shallow = jsonrpc.without_depths(nested(depth).encode())
    assert shallow is not None
    assert is_json(shallow)
    assert jsonrpc.without_depths(shallow) == shallow
    assert (shallow == nested(depth).encode()) == (depth <= jsonrpc.LAYER)


@given(st.integers(0, 10_000), st.sampled_from(list('[]{}",:x1 \\')), st.booleans())
def test_a_deep_line_with_a_changed_byte_is_refused_exactly_where_it_is_invalid(
    place: int, byte: str, instead: bool
) -> None:
    text = answer(nested(800, '"\\\\"')).decode()
    place %= len(text)
    line = (text[:place] + byte + text[place + instead :]).encode()
    frame = jsonrpc.decode(line)
    broken = isinstance(frame, jsonrpc.Malformed) and frame.reason == jsonrpc.MALFORMED_JSON
    assert broken is not is_json(line)
    assert frame.line == line


@pytest.mark.usefixtures("shallow_parser")
@every(
    ("line", "reason"),
    [
        (answer(nested(100_000, "NaN")), jsonrpc.MALFORMED_JSON),
        (nested(1000).encode(), jsonrpc.MALFORMED_OBJECT),
        (f'{{"x":{nested(1000)}}}'.encode(), jsonrpc.MALFORMED_MESSAGE),
        (answer(nested(1000, "NaN")), jsonrpc.MALFORMED_JSON),
        (answer(nested(1000), ',"y":NaN'), jsonrpc.MALFORMED_JSON),
        (answer(nested(1000, '"\\ud83d",NaN')), jsonrpc.MALFORMED_JSON),
        (answer(nested(1000), ',"y":"'), jsonrpc.MALFORMED_JSON),
        (answer(nested(1000), "}"), jsonrpc.MALFORMED_JSON),
        (b"[" * 5000, jsonrpc.MALFORMED_JSON),
    ],
)
def test_a_deep_line_that_is_not_a_message_is_refused(line: bytes, reason: str) -> None:
    assert jsonrpc.decode(line) == jsonrpc.Malformed(line, reason)


def test_a_line_that_no_parser_can_read_is_not_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"id":7,"y":"\\ud83d","x":' + nested(200_000, "nothing").encode() + b"}"
    assert jsonrpc.decode(line) == jsonrpc.Malformed(line, jsonrpc.MALFORMED_JSON)
    # Too deep for the stack, however much of it is left out.
    too_deep = Mock(side_effect=RecursionError)
    monkeypatch.setattr(jsonrpc, "_decoder", SimpleNamespace(decode=too_deep))
    assert jsonrpc.decode(answer("1")) == jsonrpc.Malformed(answer("1"), jsonrpc.MALFORMED_JSON)


@pytest.mark.usefixtures("shallow_parser")
@every(
    ("line", "renamed"),
    [
        ('{"id":7,"x":%s}', '{"id":"lastword:1:1","x":%s}'),
        ('{"x":%s,"\\u0069d" : "a\\"b" }', '{"x":%s,"\\u0069d" : "lastword:1:1" }'),
        (
            '{"x":{"id":7},"id":null,"y":"id","z":%s}',
            '{"x":{"id":7},"id":"lastword:1:1","y":"id","z":%s}',
        ),
        ('{"id":1,"x":%s,"id":2}', '{"id":1,"x":%s,"id":"lastword:1:1"}'),
        ('{"method":"m","x":%s}', '{"method":"m","x":%s}'),
    ],
)
def test_a_deep_line_gets_another_id_and_nothing_else(line: str, renamed: str) -> None:
    value = nested(1000, '{"id":1}')
    frame = read((line % value).encode())
    assert jsonrpc.with_id(frame, b'"lastword:1:1"') == (renamed % value).encode()


def test_members_beside_a_deep_one_are_read() -> None:
    wire = Wire()
    wire.client(
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,'
        b'"clientInfo":{"name":"Deep"},"x":%s}}' % nested(1000).encode()
    )
    assert wire.core.connection.link.client.name == "deep"
    # A command may well show nothing.
    wire = in_turn()
    traced = f'{{"traceparent":"00-11","x":{nested(1000)}}}'
    wire.client(
        b'{"jsonrpc":"2.0","id":8,"method":"session/prompt","params":{"sessionId":"s2",'
        b'"prompt":[{"type":"text","text":"/compact"}],"_meta":%s}}' % traced.encode()
    )
    assert wire.entries[-1].facts["traceparent"] == "00-11"
    wire.agent({"jsonrpc": "2.0", "id": 8, "result": {"stopReason": "end_turn"}})
    assert wire.answers(8) == [{"jsonrpc": "2.0", "id": 8, "result": {"stopReason": "end_turn"}}]
