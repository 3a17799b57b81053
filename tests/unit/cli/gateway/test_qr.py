"""QR codes in a terminal. Two other programs, segno and jsQR, agreed on those that stand here."""

from __future__ import annotations

import hashlib

import pytest

from lastword.cli.gateway import command

SMALL = """\
#######...#.#.#######
#.....#.....#.#.....#
#.###.#.#.#...#.###.#
#.###.#.....#.#.###.#
#.###.#..#.##.#.###.#
#.....#..###..#.....#
#######.#.#.#.#######
........#.#..........
###.#####.#.###...#..
....#..#.#.#...###.##
.#..###...##..#######
.#.#.#..######.##..#.
#..##.##.###..#.##.#.
........##....#.##.##
#######.##..#..###.##
#.....#.#.#...#.#..#.
#.###.#.#...#.##.#...
#.###.#..#.#.#.##..#.
#.###.#.##.#.####.#.#
#.....#.#..###..#..#.
#######.####.#####.##
"""
DIGESTS = {
    17: "f8d96dd0d72edc34",
    32: "d540828f77885e7b",
    53: "9e773fc0b216e773",
    78: "1e0f3e876bb3b3ac",
    106: "8d6fad44952033a6",
    134: "19e2f37b0fb5ee06",
    154: "558ad8a474e271ce",
    192: "a297d44e01475cf8",
    230: "0aaaee4a3e1e46c5",
}
"""Of a link repeated to the most bytes that each version holds."""


def test_a_small_code_is_as_other_programs_read_it() -> None:
    rows = ("".join(".#"[module] for module in row) for row in command.matrix(b"lastword"))
    assert "\n".join(rows) + "\n" == SMALL


@pytest.mark.parametrize("size", DIGESTS)
def test_every_version_is_as_other_programs_read_it(size: int) -> None:
    modules = command.matrix((b"https://gateway.example/?code=" * 8)[:size])
    bits = "".join("01"[module] for row in modules for module in row)
    assert hashlib.sha256(bits.encode()).hexdigest()[:16] == DIGESTS[size]


def test_a_text_that_is_too_long_has_no_code() -> None:
    assert command.drawn("a" * 230)
    assert command.drawn("a" * 231) == []


def test_a_code_is_dark_on_light_with_a_margin_of_four() -> None:
    lines = command.drawn("lastword")
    bare = [line.removeprefix("\x1b[30;107m").removesuffix("\x1b[0m") for line in lines]
    assert {len(line) for line in bare} == {21 + 8}
    assert [line.strip() for line in (bare[0], bare[1], bare[-1])] == ["", "", ""]
    assert bare[2].startswith("    █▀▀▀▀▀█ ")
    assert all(line != bare for line, bare in zip(lines, bare, strict=True))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "has_colours", lambda: True)
    monkeypatch.setattr(command, "supports_bars", lambda: True)
    monkeypatch.setattr(command, "terminal_columns", lambda: 80)


@pytest.mark.usefixtures("terminal")
def test_a_link_that_a_phone_can_open_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    command._draw("https://gateway.example/?code=abc")
    assert capsys.readouterr().out.count("\x1b[30;107m") == 19


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("host", ["127.0.0.1:7780", "localhost", "[::1]:7780"])
def test_a_link_to_this_machine_is_not_drawn(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    command._draw(f"http://{host}/?code=abc")
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("terminal")
def test_a_link_is_not_drawn_without_a_terminal_or_if_it_is_too_wide(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "terminal_columns", lambda: 36)
    command._draw("https://gateway.example/?code=abc")
    monkeypatch.setattr(command, "terminal_columns", lambda: 80)
    monkeypatch.setattr(command, "has_colours", lambda: False)
    command._draw("https://gateway.example/?code=abc")
    assert capsys.readouterr().out == ""
