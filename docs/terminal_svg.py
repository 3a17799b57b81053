"""Terminal text as an SVG picture: a window with lines of styled text, self-contained.

Owns the themes, whose colours have a contrast of at least 4.5 with their background (WCAG 2.2,
success criterion 1.4.3), and makes every text safe in XML and keeps it in its column, whatever
its writing direction. It knows nothing about what is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from lastword.core.redact.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.cli.page import Cell

FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace"
FONT_PX = 14
CELL_PX = 8.43
"""A column: 0.602 em, the widest of these fonts' (DejaVu Sans Mono, Menlo)."""
LINE_PX = 19
BAR_PX = 36
MARGIN_PX = 20
_BUTTONS = ("#ff5f57", "#febc2e", "#28c840")


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a picture.

    Attributes:
        background: Behind the text.
        bar: Behind the window's title.
        border: Around the window.
        text: Text without a style.
        styles: Text with a style, by the style's name.
    """

    background: str
    bar: str
    border: str
    text: str
    styles: Mapping[str, str]


THEMES: Mapping[str, Theme] = {
    "light": Theme(
        background="#ffffff",
        bar="#f0f2f5",
        border="#c8ced6",
        text="#1f2328",
        styles={
            "bold": "#1f2328",
            "dim": "#59636e",
            "red": "#c21c2a",
            "green": "#116329",
            "yellow": "#7d4e00",
            "alarm": "#c21c2a",
        },
    ),
    "dark": Theme(
        background="#0d1117",
        bar="#1b222c",
        border="#3d444d",
        text="#e6edf3",
        styles={
            "bold": "#ffffff",
            "dim": "#9198a1",
            "red": "#ff8178",
            "green": "#56d364",
            "yellow": "#e3b341",
            "alarm": "#ff8178",
        },
    ),
}
_BOLD = ("bold", "alarm")


def terminal_svg(
    lines: Sequence[Sequence[Cell]], *, columns: int, theme: Theme, title: str, description: str
) -> str:
    """Draw lines of text.

    Args:
        lines: Their cells: texts, each with its style.
        columns: The window's width; no line is cut there.
        theme: Its colours.
        title: The window's title, which is also its name for a screen reader.
        description: Its description for a screen reader.

    Returns:
        The picture, as one XML document.
    """
    width = round(columns * CELL_PX + 2 * MARGIN_PX)
    height = BAR_PX + len(lines) * LINE_PX + 2 * MARGIN_PX - (LINE_PX - FONT_PX)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    named = 'role="img" aria-labelledby="title desc"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {named}>',
        f'<title id="title">{_safe(title)}</title>',
        f'<desc id="desc">{_safe(description)}</desc>',
        f"<style>{_css(theme)}</style>",
        *_window(width, height, theme, title),
    ]
    for number, cells in enumerate(lines):
        y = BAR_PX + MARGIN_PX + number * LINE_PX + FONT_PX - 2
        parts += _text(cells, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _css(theme: Theme) -> str:
    rules = [
        f"text{{font:{FONT_PX}px {FONTS};fill:{theme.text};white-space:pre;direction:ltr}}",
        # Right-to-left text keeps its place.
        "tspan{unicode-bidi:isolate}",
    ]
    for style, colour in theme.styles.items():
        weight = ";font-weight:700" if style in _BOLD else ""
        rules.append(f".{style}{{fill:{colour}{weight}}}")
    return "".join(rules)


def _window(width: int, height: int, theme: Theme, title: str) -> list[str]:
    frame = f'x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"'
    bar = f"M0.5 {BAR_PX}V10.5a10 10 0 0 1 10-10H{width - 10.5}a10 10 0 0 1 10 10V{BAR_PX}z"
    middle = BAR_PX // 2
    centred = f'class="dim" x="{width / 2:g}" y="{middle + 5}" text-anchor="middle"'
    return [
        f'<rect {frame} fill="{theme.background}" stroke="{theme.border}"/>',
        f'<path d="{bar}" fill="{theme.bar}" stroke="{theme.border}"/>',
        *(
            f'<circle cx="{20 + 20 * number}" cy="{middle}" r="6" fill="{colour}"/>'
            for number, colour in enumerate(_BUTTONS)
        ),
        f"<text {centred}>{_safe(title)}</text>",
    ]


def _text(cells: Sequence[Cell], y: int) -> list[str]:
    """Return a line, each cell at its own column; empty if there is nothing to see."""
    spans, column = [], 0
    for text, style in cells:
        visible = text.strip()
        if visible:
            x = MARGIN_PX + (column + len(text) - len(text.lstrip())) * CELL_PX
            named = f' class="{style}"' if style else ""
            spans.append(f'<tspan x="{x:.1f}"{named}>{_safe(visible)}</tspan>')
        column += len(text)
    return [f'<text y="{y}">{"".join(spans)}</text>'] if spans else []


def _safe(text: str) -> str:
    """Return a text without what XML cannot hold: control characters and lone surrogates."""
    return escape(one_line(text))
