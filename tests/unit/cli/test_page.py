"""Pages: text stays whole within its columns, columns stay in line, and colours can be read."""

from __future__ import annotations

import io
import os
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastword.cli.page import (
    COLOURS,
    Page,
    PrintableStream,
    fits,
    fitted,
    has_colours,
    head,
    is_light,
    shortened,
    text_width,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


PLAIN = st.text("abc  \u6f22\u0301/-.9s")


@example(text=" \u6f22", columns=4, first=2, rest=0)
@given(PLAIN, st.integers(4, 40), st.integers(0, 2), st.integers(0, 2))
def test_wrapped_lines_fit_and_lose_no_character(
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


def test_text_without_spaces_is_broken_where_the_line_is_full() -> None:
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
def test_a_cut_is_marked(text: str, columns: int, kept: str) -> None:
    assert shortened(text, columns) == kept


def test_a_combining_mark_takes_no_column() -> None:
    assert text_width("e\u0301") == 1
    assert head("e\u0301e\u0301", 1) == "e\u0301"
    assert not fits("e\u0301e\u0301", 1)


LIGHT = {"COLORFGBG": "0;default;15", "TERM": "xterm-256color"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    seen, fd = os.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORFGBG", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    with open(fd, "w", encoding="utf-8") as stdout:
        yield stdout
    os.close(seen)


def painted(style: str) -> str:
    page = Page(40)
    page.line("text", style)
    return page.drain()


def test_wide_characters_in_names_do_not_shift_later_columns() -> None:
    rows = [fitted(name, 8) + "|" for name in ("short", "\u6f22\u5b57", "e\u0301", "far too long")]
    assert [text_width(row) for row in rows] == [9, 9, 9, 9]
    assert rows[3] == "far too…|"


def test_pages_are_aligned_side_by_side_in_any_script() -> None:
    left, right, page = Page(10, least=10), Page(10, least=10), Page(40)
    left.line("\u6f22\u5b57")
    left.line("ab")
    right.line("x")
    right.line("x")
    page.beside(left, right)
    lines = page.drain().splitlines()
    assert {text_width(line.rpartition("x")[0]) for line in lines} == {14}


def test_a_continuation_aligns_with_its_beginning_in_wide_characters_too() -> None:
    page = Page(40)
    page.row("\u6f22\u5b57: ", "one " * 12)
    first, second, *_ = page.drain().splitlines()
    assert text_width(first.partition("one")[0]) == text_width(second.partition("one")[0]) == 6


def test_a_text_with_a_line_limit_ends_visibly() -> None:
    page = Page(40)
    page.line("word " * 40, at_most=2)
    lines = page.drain().splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert max(map(text_width, lines)) <= 40


def test_a_terminal_has_colours_unless_its_user_or_it_has_not(
    monkeypatch: pytest.MonkeyPatch, terminal: TextIO
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    assert has_colours()
    monkeypatch.setenv("NO_COLOR", "")
    assert has_colours(), "an empty NO_COLOR declines nothing (no-color.org)"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colours()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colours()


@pytest.mark.parametrize("style", ["green", "yellow"])
def test_pale_colours_are_dark_on_a_terminal_that_says_that_it_is_white(
    monkeypatch: pytest.MonkeyPatch, terminal: TextIO, style: str
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    usual = painted(style)
    for name, value in LIGHT.items():
        monkeypatch.setenv(name, value)
    assert painted(style) != usual
    assert painted(style).startswith("\033[38;5;")


@pytest.mark.parametrize(
    ("said", "term", "light"),
    [
        ("0;15", "xterm-256color", True),
        ("0;default;15", "xterm-256color", True),
        ("15;0", "xterm-256color", False),
        ("", "xterm-256color", False),
        ("0;15", "xterm", False),
    ],
)
def test_the_terminals_statement_of_its_background_is_trusted(
    monkeypatch: pytest.MonkeyPatch, said: str, term: str, *, light: bool
) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("COLORFGBG", said)
    monkeypatch.setenv("TERM", term)
    assert is_light() is light


@pytest.mark.parametrize("red_green_blue", [(0, 135, 0), (135, 95, 0)])
def test_colours_for_white_have_the_promised_contrast(
    red_green_blue: tuple[int, int, int],
) -> None:
    linear = [((part / 255 + 0.055) / 1.055) ** 2.4 if part else 0.0 for part in red_green_blue]
    luminance = sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    assert 1.05 / (luminance + 0.05) >= 4.5


def test_the_stream_passes_every_colour_unchanged() -> None:
    written = "".join(f"{colour}x" for colour in COLOURS)
    stream = io.StringIO()
    PrintableStream(stream).write(written)
    assert stream.getvalue() == written
