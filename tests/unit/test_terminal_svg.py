"""Pictures of terminal text: well-formed, readable, and nothing from outside."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from docs.terminal_svg import CELL_PX, MARGIN_PX, THEMES, Theme, terminal_svg
from lastword.cli.page import STYLES

SVG = "{http://www.w3.org/2000/svg}"
AA = 4.5
"""WCAG 2.2, success criterion 1.4.3."""


def drawn(lines: list[list[tuple[str, str]]], theme: str = "dark") -> ET.Element:
    text = terminal_svg(lines, columns=40, theme=THEMES[theme], title="a <b>", description="& more")
    return ET.fromstring(text)


def spans(picture: ET.Element) -> list[ET.Element]:
    return list(picture.iter(f"{SVG}tspan"))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_every_colour_can_be_read(theme: Theme) -> None:
    for colour in (theme.text, *theme.styles.values()):
        assert contrast(colour, theme.background) >= AA
    assert contrast(theme.styles["dim"], theme.bar) >= AA


def test_every_style_of_a_page_has_a_colour_in_every_theme() -> None:
    for theme in THEMES.values():
        assert set(theme.styles) == set(STYLES)


def test_a_text_is_in_the_column_where_a_terminal_shows_it() -> None:
    lead, text = spans(drawn([[("  ", ""), ("lead ", "dim"), (" text", "green")]]))
    assert float(lead.get("x", "")) == pytest.approx(MARGIN_PX + 2 * CELL_PX, abs=0.1)
    assert float(text.get("x", "")) == pytest.approx(MARGIN_PX + 8 * CELL_PX, abs=0.1)
    assert (text.text, text.get("class")) == ("text", "green")


def test_a_picture_says_what_it_shows_and_loads_nothing() -> None:
    picture = drawn([[("a <b> \x1b", "green")]])
    (said,) = spans(picture)
    assert (said.text or "").split() == ["a", "<b>"]
    assert picture.get("role") == "img"
    named = [picture.find(f"{SVG}{tag}") for tag in ("title", "desc")]
    assert [each.text for each in named if each is not None] == ["a <b>", "& more"]
    assert picture.get("aria-labelledby") == "title desc"
    for word in ("href", "url(", "@import", "<script", "<image", "foreignObject"):
        assert word not in ET.tostring(picture, encoding="unicode")
