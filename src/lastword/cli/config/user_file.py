"""The user's configuration file, for every command but `lastword run`.

Owns what such a command takes from it: variables that are not set in the environment, and the rules
of the classifier.
"""

from __future__ import annotations

import os

from lastword.cli.config.discovery import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.cli.config.settings import FileSettings


def use(words: Sequence[str], table: str = "", *, rows: bool = False) -> FileSettings | None:
    """Read the file, if there is one, and complete the environment of this process.

    Args:
        words: The command line, which may name a file or switch files off.
        table: The command's own table, if it has one.
        rows: Whether the command uses the rows.

    Raises:
        ConfigError: The file cannot be used.
    """
    places = find(words, os.environ, project=False)
    if not places.present:
        return None
    # TOML's reader and the tables, needed only for a file.
    from lastword.cli.config.settings import load  # noqa: PLC0415

    settings = load(places, {"run", "record", table})
    if rows and settings.has_rows:
        # The classifier.
        from lastword.core.classify import own_rows  # noqa: PLC0415

        own_rows.use(settings.rows().rules)
    settings.complete(os.environ)
    return settings
