"""What is told of a line that cannot be decoded: its own id, its own method, or nothing."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lastword.core.protocol import peek
from lastword.core.protocol.peek import Peeked
from tests.kit.rows import every


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
