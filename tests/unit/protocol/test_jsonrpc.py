"""Envelopes: what is read, what is refused, what is told of a line that cannot be decoded."""

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
from lastword.core.protocol.peek import Peeked
from tests.kit.rows import every

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}'


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
    if isinstance(frame, Frame):
        assert not has_method or frame.message.method == value["method"]
        if "id" in value:  # 1 and "1" are two
            assert json.loads(frame.message.request_id or b"") == value["id"]


def test_a_changed_id_leaves_every_other_member_unchanged() -> None:
    frame = decode(b'{ "result" : {"a":1e5,  "b":"\\u00e9"}, "id" : "2" }')
    assert isinstance(frame, Frame)
    assert jsonrpc.with_id(frame, b"2") == b'{"result":{"a":1e5,  "b":"\\u00e9"},"id":2}'


@pytest.mark.parametrize("text", ["\udcff", "\ud83d said the agent"])
def test_a_lone_surrogate_does_not_prevent_our_frames_from_being_sent(text: str) -> None:
    for frame, name in (
        (jsonrpc.error(b"1", {"code": -32603, "message": text}), "error"),
        (jsonrpc.result(b"1", {"text": text}), "result"),
        (jsonrpc.request(b"1", "fs/read_text_file", {"path": text}), "params"),
    ):
        sent = json.loads(frame)
        assert sent["id"] == 1
        assert text in sent[name].values()


def test_what_is_stored_has_question_marks_for_lone_surrogates() -> None:
    assert jsonrpc.without_surrogates({"name\ud83d": ["\ud83d!", 1]}) == {"name?": ["?!", 1]}
    whole = {"name": "\U0001f600"}
    assert jsonrpc.without_surrogates(whole) is whole


def test_an_agents_error_with_a_lone_surrogate_ends_its_turn_typed() -> None:
    link = Connection()
    prompt = b'{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
    error = b'{"id":2,"error":{"code":-32603,"message":"busy","data":{"reason":"\\ud83d"}}}'
    for side, line in ((Side.CLIENT, prompt), (Side.AGENT, error)):
        effects = link.receive(side, decode(line), 0.0)
    [answer] = [json.loads(effect.frame) for effect in effects if isinstance(effect, Answer)]
    assert answer["error"]["data"]["agent_error"]["type"]
    assert answer["error"]["data"]["reason"] == "\ud83d"


def test_values_are_encoded_although_msgspec_refuses_them() -> None:
    markup, score = type("Markup", (str,), {}), type("Score", (float,), {})  # HTML's, numpy's
    value = {"text": markup("x"), "score": score(0.5), "id": Raw(b'"a"')}
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
    for gap in (b"\n", b"\n\n"):  # an empty line is none
        block = gap.join(lines) + b"\n"
        assert jsonrpc.decode_lines(block) == [decode(line) for line in lines]


def test_only_a_block_of_messages_is_decoded_at_once() -> None:
    good = UPDATE % b"{}"
    block, noisy = good + b"\n" + good + b"\n", good + b"\nnoise\n" + good + b"\n"
    assert jsonrpc.decode_block(block) is not None
    assert jsonrpc.decode_lines(block) == [decode(good)] * 2
    assert jsonrpc.decode_block(noisy) is None
    for odd in (good + good, good.replace(b",", b",\n", 1)):  # two on a line, and one on two
        assert jsonrpc.decode_block(block + odd + b"\n") is None
    assert jsonrpc.decode_lines(b"\n\n") == []


@every(
    ("line", "shown"),
    [
        (
            b'{"jsonrpc":"2.0","id": 17,"method":"m","params":{"prompt":[{"data":"AA',
            Peeked(b"17", "m"),
        ),
        (b'{"id":8,"result":{"a":1,}}', Peeked(b"8", None, answers=True)),
        (b'{"error":{"a":1,},"id":"a\\u0062"}', Peeked(b'"ab"', None, answers=True)),
        (b'{"id":8,"result":"one', Peeked(b"8", None, answers=True)),
        (b'{"method":"x","params":{"_meta":{"id":7},},"id":8}', Peeked(b"8", "x")),
        (b'{"method":"x","params":{"text":"{\\"id\\":7,"},,"id":8}', Peeked(b"8", "x")),
        (b'{"method":"x","params":{"id":7,}}', Peeked(None, "x")),
        (b'{"method":"x","params":[7,"id",8}', Peeked(None, "x")),
        (b'{"id":8,"method":"x"}}{"id":7}', Peeked(b"8", "x")),
        (b'{"id":8,"id":7,"method":"x",}', Peeked(None, "x")),
        (b'{"id":8,"id":8,"method":7,}', Peeked(b"8")),
        (b'{"id" 8 "id":9,"x" "id":9,"":', Peeked()),
        (b'{"id":12', Peeked()),
        (b'{"id":"\x14","method":"m",', Peeked(None, "m")),
        (b'{"id":"\xff","method":"m",', Peeked(None, "m")),
        (b'{"id":01,"method":"m",', Peeked(None, "m")),
        (b'{"id":null,"method":"m",', Peeked(None, "m")),
        (b'{"id":true,"method":"m",', Peeked(None, "m")),
        (b'{"id":1.5,"method":"m",', Peeked(None, "m")),
        (b'{"id":2.0,"method":"m",', Peeked(b"2", "m")),
        (b'{"id":"%s","method":"m",' % (b"x" * 1000), Peeked(None, "m")),
        (b'garbage "id":7', Peeked()),
        (b'"id":7,', Peeked()),
        (b"]", Peeked()),
        (b"", Peeked()),
        (b'\x00\x00{"id":8,"result":{"a":1,}}', Peeked(b"8", None, answers=True)),
        (b'{"id":8,"result":' + b"[" * 2_000_000, Peeked(b"8", None, answers=True)),
    ],
)
def test_a_broken_lines_top_level_members_are_read(line: bytes, shown: Peeked) -> None:
    assert peek.of_broken(line) == shown


@every(
    ("ends", "shown"),
    [
        (b'{"result":{"id":7,"pad":"xx\nxx"},"id":8}', Peeked(b"8", None, answers=True)),
        (b'{"params":{"pad":"xx\nxx"} , "id" : 8,"method":"x" } ', Peeked(b"8", "x")),
        (b'{"id":8,"result":"xx\nxx","id":8}', Peeked(b"8", None, answers=True)),
        (b'{"id":8,"result":"xx\nxx","id":7}', Peeked(None, None, answers=True)),
        (b'{"result":{"pad":"xx\nxx","id":7}}', Peeked(None, None, answers=True)),
        (b'{"result":{"pad":"xx\n{\\"id\\":7}', Peeked(None, None, answers=True)),
        (b'{"id":8,"method":"x","params":{', Peeked(b"8", "x")),
    ],
)
def test_a_skipped_lines_head_and_tail_are_read(ends: bytes, shown: Peeked) -> None:
    assert peek.of_skipped(ends) == shown


def test_only_an_answer_has_an_answered_id() -> None:
    assert Peeked(b"8", None, answers=True).answered == b"8"
    assert Peeked(b"8", "x", answers=True).answered is None
    assert Peeked(b"8").answered is None


_VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "method", "result", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_VALUES, st.integers(), st.booleans(), st.integers(0, 200))
def test_a_message_cut_anywhere_shows_only_its_own_id(
    value: object, own: int, first: bool, cut: int
) -> None:
    members = {"id": own, "params": value} if first else {"params": value, "id": own}
    line = json.dumps(members).encode()
    assert peek.of_broken(line[:cut]).id in {None, str(own).encode()}
    assert peek.of_broken(line).id == str(own).encode()
    assert peek.of_skipped(line[:cut] + b"\n" + line[cut:]).id in {None, str(own).encode()}
