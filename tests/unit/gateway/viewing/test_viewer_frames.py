"""A viewer's message is one frame or none; between two processes a frame is one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.gateway.viewing import frames
from lastword.gateway.viewing.frames import FrameError

BLANKS = st.text(" \t\r\n", max_size=3)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=9)
VALUES = st.recursive(
    LEAVES | st.sampled_from(["\r\n", "\u2028", "\x85", '"}\n{"', "!", "\U0001f600"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=9,
)
MESSAGES = st.builds(
    lambda value, request: {"jsonrpc": "2.0", "method": "_x", "params": {"x": value}} | request,
    VALUES,
    st.sampled_from([{}, {"id": 1}, {"id": "one"}]),
)


@st.composite
def spread(draw: st.DrawFn, value: Any) -> str:
    """A value as JSON text, with blanks and line ends between its tokens."""
    if isinstance(value, dict):
        members = [
            f"{draw(BLANKS)}{json.dumps(name)}{draw(BLANKS)}:{draw(BLANKS)}{draw(spread(each))}"
            for name, each in value.items()
        ]
        return "{" + ",".join(members) + draw(BLANKS) + "}"
    if isinstance(value, list):
        items = [f"{draw(BLANKS)}{draw(spread(each))}{draw(BLANKS)}" for each in value]
        return "[" + ",".join(items) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def encoded(text: str) -> bytes:
    return text.encode(errors="replace")


@given(st.data(), MESSAGES)
def test_a_message_becomes_one_line_with_the_same_value(
    data: st.DataObject, message: dict[str, Any]
) -> None:
    text = encoded(data.draw(BLANKS) + data.draw(spread(message)) + data.draw(BLANKS))
    frame = frames.read(text)
    assert b"\n" not in frame.line
    assert b"\r" not in frame.line
    assert len(frame.line.splitlines()) == 1
    assert json.loads(frame.line) == json.loads(text)
    assert (frame.message.method, frame.message.request_id) == (
        "_x",
        encoded(json.dumps(message["id"])) if "id" in message else None,
    )
    assert frames.read(frame.line).line == frame.line
    assert frames.read_checked(frame.line) == frame  # as the holder does


@given(st.data(), st.lists(MESSAGES, min_size=2, max_size=3), st.text(" \t\r\n,\0\x85\u2028!"))
def test_a_batch_of_messages_is_refused(
    data: st.DataObject, messages: list[dict[str, Any]], between: str
) -> None:
    texts = [data.draw(spread(message)) for message in messages]
    with pytest.raises(FrameError) as refused:
        frames.read(encoded(between.join(texts)))
    assert refused.value.error["code"] == -32700
    with pytest.raises(FrameError) as refused:
        frames.read(encoded(f"[{','.join(texts)}]"))
    assert refused.value.error["code"] == -32600


@given(st.data(), MESSAGES, st.integers(0, 99))
def test_a_duplicate_name_is_refused_at_any_depth(
    data: st.DataObject, message: dict[str, Any], place: int
) -> None:
    text = data.draw(spread(message))
    opened = [at for at, char in enumerate(text) if char == "{" and not _is_in_string(text, at)]
    at = opened[place % len(opened)]
    between = "" if text[at + 1 :].lstrip(" \t\r\n").startswith("}") else ","
    twice = f'{text[: at + 1]}"z":1,"\\u007a":2{between}{text[at + 1 :]}'
    with pytest.raises(FrameError, match='"z" twice'):
        frames.read(encoded(twice))


def _is_in_string(text: str, at: int) -> bool:
    """Is this place of a JSON text within a string?"""
    inside, place = False, 0
    while place < at:
        if text[place] == "\\":
            place += 1
        elif text[place] == '"':
            inside = not inside
        place += 1
    return inside


def test_an_invalid_message_gets_a_parse_error() -> None:
    for text in (
        b"",
        b"nothing",
        b'!{"word":"stop"}',
        b'{"id":1}\n!{"word":"stop"}',
        b'{"id":1,"method":"x\ny"}',
        b'{"id":1,"method":"x","params":{"x":' + b"9" * 5000 + b"}}",
        b'{"method":null}',
    ):
        with pytest.raises(FrameError) as refused:
            frames.read(text)
        answer = json.loads(refused.value.answer)
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    for text in (b"[]", b"{", b""):  # even if it is marked as checked
        with pytest.raises(FrameError):
            frames.read_checked(text)


def test_an_ambiguous_message_is_refused_and_similar_names_are_allowed() -> None:
    for text, says in (
        (b'{"id":1,"method":"a","METHOD":"b"}', '"METHOD" differs'),
        ('{"id":1,"method":"a","param\u017f":{}}'.encode(), "differs"),
        (b'{"id":1,"method":"a","params":{"sessionid":"x"}}', '"sessionid" differs'),
        (b'{"id":1,"method":"a","params":{"AdditionalDirectories":["/"]}}', "differs"),
        (b'{"id":1,"method":7}', '"method" is not a string'),
        (b'{"id":1,"method":"a","params":{"sessionId":["x"]}}', '"sessionId" is not a string'),
    ):
        with pytest.raises(FrameError, match=says) as refused:
            frames.read(text)
        assert refused.value.request_id == b"1"
        assert refused.value.error["code"] == -32600
    similar = b'{"id":1,"method":"a","params":{"_meta":{"a":1,"A":2},"Cow":1,"sessionId":null}}'
    assert frames.read(similar).line == similar


def test_a_message_nested_deeper_than_the_parsers_limit_is_read() -> None:
    for depth in (300, 900, 3000):
        nested = b"[" * depth + b"\r\n" + b"]" * depth
        frame = frames.read(b'{"id":1,"method":"a","params":{"x":%b}}' % nested)
        assert frame.line == b'{"id":1,"method":"a","params":{"x":%b}}' % nested.replace(
            b"\r\n", b"  "
        )
        with pytest.raises(FrameError, match="twice"):
            frames.read(b'{"id":1,"method":"a","params":{"x":%b,"x":1}}' % nested)
