"""The forms that `lastword completion` can print, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.cli.completion import bash, fish, manual, zsh
from lastword.cli.completion.parsers import MAN

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: dict[str, Callable[[], str]] = {
    "bash": bash.script,
    "zsh": zsh.script,
    "fish": fish.script,
    MAN: manual.page,
}
