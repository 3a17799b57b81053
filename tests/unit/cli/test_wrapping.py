"""Text in columns: words, figures and wide characters stay whole, and no line is too long."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastword.cli.page import fits, head, shortened, text_width, wrapped

PLAIN = st.text("abc  \u6f22\u0301/-.9s")


@example(text=" \u6f22", columns=4, first=2, rest=0)
@given(PLAIN, st.integers(4, 40), st.integers(0, 2), st.integers(0, 2))
def test_no_line_is_too_long_and_no_character_is_lost(
    text: str, columns: int, first: int, rest: int
) -> None:
    lines = wrapped(text, columns, first=" " * first, rest=" " * rest)
    assert all(text_width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.lists(st.text("abcd", min_size=1, max_size=9)), st.integers(10, 40), st.integers(0, 3))
def test_short_words_are_wrapped_as_pythons_own_library_does(
    words: list[str], columns: int, indent: int
) -> None:
    text, rest = " ".join(words), " " * indent
    expected = textwrap.wrap(text, columns, initial_indent="> ", subsequent_indent=rest)
    if all(len(word) <= columns - 3 for word in words):
        assert wrapped(text, columns, first="> ", rest=rest) == expected


def test_a_figure_stays_with_its_unit() -> None:
    assert wrapped("It answers after 0.07 s, and well.", 21) == [
        "It answers after",
        "0.07 s, and well.",
    ]
    assert wrapped("It took all of 12 %", 17) == ["It took all of", "12 %"]
    assert wrapped("the letters are s", 15) == ["the letters are", "s"]


def test_a_path_that_is_too_long_is_broken_behind_a_slash() -> None:
    assert wrapped("in /usr/local/lib/python3", 18) == ["in", "/usr/local/lib/", "python3"]


def test_a_path_can_stay_whole_to_be_copied() -> None:
    assert wrapped("in /usr/local/lib/python3", 10, keeps_words=True) == [
        "in",
        "/usr/local/lib/python3",
    ]


def test_what_is_written_without_spaces_is_broken_where_it_is_full() -> None:
    assert wrapped("\u6f22" * 5, 7, rest=" ") == ["\u6f22" * 3, " \u6f22\u6f22"]


def test_own_indentation_and_columns_within_a_line_stay() -> None:
    assert wrapped("  a   b", 20) == ["  a   b"]
    assert wrapped("   ", 20, first="> ") == []


@pytest.mark.parametrize(
    ("text", "columns", "kept"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abc  def", 6, "abc…"),
        ("\u6f22\u6f22\u6f22", 5, "\u6f22\u6f22…"),
        ("\u6f22\u6f22\u6f22", 4, "\u6f22…"),
        ("abc", 0, ""),
        ("abc", -1, ""),
    ],
)
def test_a_cut_is_to_be_seen(text: str, columns: int, kept: str) -> None:
    assert shortened(text, columns) == kept


def test_a_mark_takes_no_column_of_its_own() -> None:
    assert text_width("e\u0301") == 1
    assert head("e\u0301e\u0301", 1) == "e\u0301"
    assert not fits("e\u0301e\u0301", 1)
