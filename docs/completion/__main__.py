"""The files that `lastword completion` prints, made from the parsers of all commands.

Owns which file is made by what: `python -m docs.completion --write` makes them anew.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from docs.completion import bash, fish, manual, zsh
from lastword.cli.completion import FILES, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

MAKERS: dict[str, Callable[[], str]] = {
    "bash": bash.script,
    "zsh": zsh.script,
    "fish": fish.script,
    "man": manual.page,
}

if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m docs.completion --write")
    for form in FILES:
        path_of(form).write_text(MAKERS[form](), encoding="utf-8")
