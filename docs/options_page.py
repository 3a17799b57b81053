"""The page of `lastword run`'s options, from the table that the command itself reads.

Owns `docs/reference/options.md`, which is not in git: `.ci/docs` writes it for the site, by
`python -m docs.options_page --write`.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from lastword.core.link.option_table import MIB, OPTIONS, Option

PAGE = Path(__file__).resolve().parent / "reference" / "options.md"

HEAD = """\
# Options of `lastword run`

[Commands](commands.md#options-of-lastword-run) says how options are set, and how times and
sizes are written.
"""

COLUMNS = "| option | in the environment | default | what it sets |\n|---|---|---|---|\n"


def row(option: Option) -> str:
    """Return the row of one option."""
    about = option.about[:1].upper() + option.about[1:] + "."
    if option.words:
        about += " One of " + ", ".join(f"`{word}`" for word in option.words) + "."
    name = f"`--{option.name}`"
    return f"| {name} | `{option.variable}` | {default(option)} | {about} |\n"


def default(option: Option) -> str:
    """Return what an option is where nobody sets it, in words."""
    value = option.default
    if option.kind == "flag":
        return "off"
    if option.kind == "seconds":
        return f"{value:g} s" if value else "off"
    if option.kind == "bytes":
        return f"{int(value) // MIB} MiB"
    if option.key == "config":
        return "`~/.config/lastword/config.toml`"
    if option.key == "record":
        return "`~/.local/state/lastword`"
    return f"`{value}`" if value != "" else "none"


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(
        f"\n## {title[0].upper()}{title[1:]}\n\n{COLUMNS}{''.join(map(row, options))}"
        for title, options in groupby(OPTIONS, lambda option: option.group)
    )


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
