"""JSON with comments: what is read, what is refused, and where things stand."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.setup.settings import DEEPEST, JsoncError, as_json, parse
from tests.kit.rows import every

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def meaning(text: str) -> Any:
    root = parse(text).root
    assert root is not None
    return as_json(root.plain)


@given(JSON, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_whatever_json_says_is_read_as_json_reads_it(value: Any, indent: Any, plain: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    assert meaning(text) == json.loads(text)


def problem_of(text: str) -> str:
    """What is wrong with a text; nothing where it is read, and its tokens are where they say."""
    try:
        document = parse(text)
    except JsoncError as error:
        return str(error)
    assert all(text[token.start : token.end] == token.text for token in document.tokens)
    return ""


@given(st.text() | st.text(alphabet='{}[],:"\\/* \n\r1a', max_size=40))
def test_any_text_is_read_or_refused_with_the_place(text: str) -> None:
    assert re.match(r"$|line \d+, column \d+: ", problem_of(text))


@every(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2, ]", [1, 2]),
        ('// first\n{"a": /* in */ 1 // end\n}// last', {"a": 1}),
        ('{"a": "// no comment, /* neither */ {"}', {"a": "// no comment, /* neither */ {"}),
        ('{"a\\"}": "\\\\"}', {'a"}': "\\"}),
        ('\r\n{\r\n\t"a": [ ],\r\n}\r\n', {"a": []}),
        ("/* a * b ** c */ 1", 1),
        ('"\\ud83d\\ude00 \\u00e4"', "😀 ä"),
        ("-1.5e+3", -1500.0),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_comments_and_trailing_commas_are_read_past(text: str, value: Any) -> None:
    assert meaning(text) == value


@pytest.mark.parametrize("text", ["", "  \n", "// nothing\n", "/* nothing */"])
def test_a_text_without_a_value_has_no_root(text: str) -> None:
    assert parse(text).root is None


@every(
    ("text", "problem"),
    [
        ("{", "line 1, column 2: it ends too early"),
        ('{"a" 1}', "line 1, column 6: a colon is missing"),
        ('{"a": 1\n "b": 2}', "line 2, column 2: a comma is missing"),
        ("[1 2]", "line 1, column 4: a comma is missing"),
        ("[,]", "line 1, column 2: a value is missing before ','"),
        ("{,}", "line 1, column 2: a key in quotes is missing"),
        ("{a: 1}", "line 1, column 2: a key in quotes is missing"),
        ('{"a": }', "line 1, column 7: a value is missing before '}'"),
        ('{"a": 1} {}', "line 1, column 10: there is more after the end"),
        ('{"a": nil}', "line 1, column 7: 'nil' is not a value"),
        ("01", "line 1, column 1: '01' is not a value"),
        ("NaN", "line 1, column 1: 'NaN' is not a value"),
        ('{"a": "b\nc"}', "line 1, column 7: '\"' cannot stand there"),
        ('"\\x"', "line 1, column 1: there is a bad escape in this string"),
        ("{'a': 1}", 'line 1, column 2: "\'" cannot stand there'),
        ("/* for ever", "line 1, column 1: '/' cannot stand there"),
        ("[1, 2", "line 1, column 6: it ends too early"),
        ("[" * (DEEPEST + 2), f"line 1, column {DEEPEST + 2}: it is nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_the_place_and_the_reason(text: str, problem: str) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert str(caught.value) == problem


def test_members_know_where_they_stand() -> None:
    text = '{ "a": 1, /* c */ "b": {"x": 2},\n}'
    root = parse(text).root
    assert root is not None
    assert root.members is not None
    a, b = root.members
    assert text[a.start :].startswith('"a"')
    assert a.comma == text.index(",")
    assert text[b.value.start : b.value.end] == '{"x": 2}'
    assert b.comma == text.rindex(",")


def test_numbers_are_compared_as_they_are_written() -> None:
    one, other = parse("1.0").root, parse("1").root
    assert one is not None
    assert other is not None
    assert one.plain != other.plain
    huge = parse("9" * 10_000).root
    assert huge is not None
    assert huge.plain == ("9" * 10_000,)


def test_a_long_broken_text_takes_no_longer_than_its_length() -> None:
    with pytest.raises(JsoncError):
        parse('"' + "\\a" * 200_000)
    with pytest.raises(JsoncError):
        parse("/*" + "*" * 200_000)
