"""`lastword completion`: the scripts for shells and the manual page, which are files beside this.

`python -m docs.completion --write` makes them from the parsers, in the source repository.
"""

from __future__ import annotations

from pathlib import Path

FILES = {
    "bash": "lastword.bash",
    "zsh": "lastword.zsh",
    "fish": "lastword.fish",
    "man": "lastword.1",
}
"""The files by the words that print them."""


def path_of(form: str) -> Path:
    """Return the path of a script, or of the manual page."""
    return Path(__file__).with_name(FILES[form])
