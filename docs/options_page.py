"""The page of `lastword run`'s options, from the table that the command itself reads.

Owns `docs/reference/options.md`: `python -m docs.options_page --write` makes it anew.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from lastword.core.link.option_table import MIB, OPTIONS, Option

PAGE = Path(__file__).resolve().parent / "reference" / "options.md"

HEAD = """\
# Options of `lastword run`

Every option has a default that suits most uses, and every option can be set on the command line
(`--idle-timeout 300`), in the environment (`LASTWORD_IDLE_TIMEOUT=300`), in a
[configuration file](../configuration.md) (`idle-timeout = 300`), and, for an agent in Python, as a
field of [`lastword.Options`](lastword.md#lastword.Options) where it has a meaning there
(`idle_timeout_seconds=300`). The command line wins over the environment, and that over the files.

A time is a number of seconds or takes `ms`, `s`, `m`, `h` or `d`; 0 switches the limit off, except
that a `--cancel-grace` of 0 answers a cancel at once. A size is a number of bytes or takes `KiB`,
`MiB` or `GiB`. A flag takes no value on the command line and `1` or `0` in the environment.
`lastword gateway` takes all of these options too, and hands them to the agents it starts.

<!-- Made by `python -m docs.options_page --write`. -->
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
