"""Envelopes: what is read, what is refused, and that no legal frame is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from lastword.core.link.connection import Connection
from lastword.core.link.effects import Answer, Side
from lastword.core.protocol import jsonrpc, peek
from lastword.core.protocol.jsonrpc import Frame, Malformed, decode

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}'


def test_ids_of_different_json_types_stay_apart() -> None:
    number, text = decode(b'{"id":1,"result":{}}'), decode(b'{"id":"1","result":{}}')
    assert isinstance(number, Frame)
    assert isinstance(text, Frame)
    assert (number.message.request_id, text.message.request_id) == (b"1", b'"1"')


@pytest.mark.parametrize(
    "update",
    [
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\\ud83d"}}',
        b'{"sessionUpdate":"x\\ud83d"}',
        b'{"sessionUpdate":"tool_call","status":7,"kind":[]}',
        b'{"sessionUpdate":"tool_call","a":' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"sessionUpdate":"plan","n":123456789012345678901234567890123456789012345678}',
        b'{"sessionUpdate":"plan","n":1e999}',
    ],
)
def test_a_legal_frame_is_never_lost_to_the_codec(update: bytes) -> None:
    line = UPDATE % update
    json.loads(line)
    frame = decode(line)
    assert isinstance(frame, Frame)
    assert (frame.line, frame.message.method) == (line, "session/update")
    assert frame.message.session_id == "s"


def test_params_that_are_not_an_object_do_not_lose_the_frame() -> None:
    frame = decode(b'{"jsonrpc":"2.0","id":5,"method":"_x/y","params":[1,2]}')
    assert isinstance(frame, Frame)
    assert (frame.message.method, frame.message.request_id) == ("_x/y", b"5")


def test_broken_utf8_is_replaced_rather_than_the_frame_lost() -> None:
    frame = decode(UPDATE % b'{"sessionUpdate":"plan","x":"a\xffb"}')
    assert isinstance(frame, Frame)
    assert frame.line.decode().count("\N{REPLACEMENT CHARACTER}") == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"npm warn deprecated", jsonrpc.MALFORMED_JSON),
        (b'{"id":1', jsonrpc.MALFORMED_JSON),
        (b"42", jsonrpc.MALFORMED_OBJECT),
        (b"[]", jsonrpc.MALFORMED_OBJECT),
        (b'"x"', jsonrpc.MALFORMED_OBJECT),
        (b"null", jsonrpc.MALFORMED_OBJECT),
        (b"{}", jsonrpc.MALFORMED_MESSAGE),
        (b'{"level":"info","msg":"listening"}', jsonrpc.MALFORMED_MESSAGE),
        (rb'{"level":"\ud800"}', jsonrpc.MALFORMED_MESSAGE),
    ],
)
def test_an_invalid_message_is_distinguished_from_invalid_json(line: bytes, reason: str) -> None:
    assert decode(line) == Malformed(line, reason)


def test_a_block_with_one_bad_line_is_decoded_line_by_line() -> None:
    good = UPDATE % b'{"sessionUpdate":"plan"}'
    assert jsonrpc.decode_block(good + b"\n" + good + b"\n") is not None
    assert jsonrpc.decode_lines(good + b"\n" + good + b"\n") == [decode(good)] * 2
    bad = good + b"\nnoise\n" + good + b"\n"
    assert jsonrpc.decode_block(bad) is None
    assert jsonrpc.decode_lines(bad) == [decode(good), decode(b"noise"), decode(good)]


@given(st.binary(max_size=300))
def test_the_decoder_never_raises_on_any_bytes(line: bytes) -> None:
    frame = decode(line)
    assert isinstance(frame, Frame | Malformed)
    peek.of_broken(line)
    peek.of_skipped(line)
    jsonrpc.loads(line)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(["id", "method", "params", "result", "error", "jsonrpc", "x"])


@given(st.dictionaries(_KEYS, _JSON))
def test_every_json_object_that_could_be_a_message_is_one_or_says_why_not(
    value: dict[str, object],
) -> None:
    frame = decode(json.dumps(value).encode())
    has_method = isinstance(value.get("method"), str)
    assert isinstance(frame, Frame) == (has_method or "id" in value)
    if isinstance(frame, Frame) and "id" in value:
        assert json.loads(frame.message.request_id or b"") == value["id"]


def test_a_changed_id_leaves_every_other_member_unchanged() -> None:
    frame = decode(b'{ "result" : {"a":1e5,  "b":"\\u00e9"}, "id" : "2" }')
    assert isinstance(frame, Frame)
    assert jsonrpc.with_id(frame, b"2") == b'{"result":{"a":1e5,  "b":"\\u00e9"},"id":2}'


@pytest.mark.parametrize("text", ["\udcff", "\ud83d said the agent"])
def test_a_lone_surrogate_does_not_prevent_our_frames_from_being_sent(text: str) -> None:
    for frame in (
        jsonrpc.error(b"1", {"code": -32603, "message": text}),
        jsonrpc.result(b"1", {"text": text}),
        jsonrpc.request(b"1", "fs/read_text_file", {"path": text}),
    ):
        sent = json.loads(frame)
        members = sent.get("error") or sent.get("result") or sent["params"]
        assert sent["id"] == 1
        assert text in members.values()


def test_an_agents_error_with_a_lone_surrogate_ends_its_turn_typed() -> None:
    link = Connection()
    prompt = b'{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
    error = b'{"id":2,"error":{"code":-32603,"message":"busy","data":{"reason":"\\ud83d"}}}'
    for side, line in ((Side.CLIENT, prompt), (Side.AGENT, error)):
        effects = link.receive(side, decode(line), 0.0)
    [answer] = [json.loads(effect.frame) for effect in effects if isinstance(effect, Answer)]
    assert answer["error"]["data"]["agent_error"]["type"]
    assert answer["error"]["data"]["reason"] == "\ud83d"


class Markup(str):
    """As an HTML library's."""

    __slots__ = ()


class Score(float):
    """As numpy's."""

    __slots__ = ()


def test_values_are_encoded_although_msgspec_refuses_them() -> None:
    value = {"text": Markup("x"), "score": Score(0.5), "id": Raw(b'"a"')}
    assert json.loads(jsonrpc.dumps(value)) == {"text": "x", "score": 0.5, "id": "a"}
    with pytest.raises(TypeError, match="object is not JSON"):
        jsonrpc.dumps({"at": object()})


@given(
    st.lists(
        st.sampled_from(
            [
                UPDATE % b"{}",
                b'{"jsonrpc":"2.0","id":1,"result":null}',
                b'{"id":1}{"id":2}',
                b'{"jsonrpc":"2.0"}',
                b"no json",
                b'{"method":"\xff"}',
                b"{",
                b"[]",
                '{"method":"é"}'.encode(),
            ]
        ),
        min_size=1,
    )
)
def test_a_block_is_decoded_as_its_lines_are(lines: list[bytes]) -> None:
    assert jsonrpc.decode_lines(b"\n".join(lines) + b"\n") == [decode(line) for line in lines]


def test_empty_lines_of_a_block_are_skipped() -> None:
    assert jsonrpc.decode_lines(b"\n\n") == []
