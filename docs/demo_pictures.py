"""What `lastword demo` shows, as pictures.

Owns `docs/demo-light.svg` and `docs/demo-dark.svg`: `python -m docs.demo_pictures --write` makes
them anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docs.terminal_svg import THEMES, terminal_svg
from lastword.cli.demo import INTRODUCTION, SCENARIOS, WIDE_COLUMNS, run_all, show
from lastword.cli.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.cli.demo import ScenarioTurns

FOLDER = Path(__file__).resolve().parent


def pictures(results: Sequence[ScenarioTurns]) -> dict[Path, str]:
    """Return the pictures by their paths."""
    page = Page(WIDE_COLUMNS)
    show(page, results, frames=False)
    prompt = [[("$ ", "dim"), ("lastword demo", "bold")], []]
    lines = [*prompt, *page.drain_cells()]
    described = (
        f"{INTRODUCTION} {' '.join(f'{each.title}.' for each in SCENARIOS)} "
        "With lastword each turn ends with what failed, whether to retry, and whose fault it was."
    )
    return {
        FOLDER / f"demo-{name}.svg": terminal_svg(
            lines,
            columns=WIDE_COLUMNS,
            theme=theme,
            title="lastword demo",
            description=described,
        )
        for name, theme in THEMES.items()
    }


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m docs.demo_pictures --write")
    for path, picture in pictures(run_all()).items():
        path.write_text(picture, encoding="utf-8", newline="\n")
