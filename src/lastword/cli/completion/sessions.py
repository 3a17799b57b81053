"""The recorded sessions, for completion in a shell."""

from __future__ import annotations

import os
import re

from lastword.cli.config.discovery import ConfigError
from lastword.cli.config.user_file import use
from lastword.core.failure.phrases import moment_of
from lastword.errors import StoreError
from lastword.record import reader
from lastword.record.paths import named_folder, state_folder, store_path

_PLAIN = re.compile(r"[A-Za-z0-9_.:@+/-]++")
"""Characters that no shell expands: agents choose ids, and a completed line may be run."""

LATEST = 50
"""How many sessions are offered."""


def lines() -> list[str]:
    """Return one line for each of the latest sessions: its id, a tab, and its time."""
    try:
        use(())
    except ConfigError:
        return []
    folder = os.environ.get("LASTWORD_RECORD") or state_folder(os.environ)
    try:
        with reader.reading(store_path(named_folder(folder))) as record:
            parts, _ = reader.latest_parts(record, LATEST)
    except StoreError:
        # An error message would disturb the command line; `lastword log` prints it.
        return []
    latest = {part.session_id: part.last_epoch_ms for part in reversed(parts)}
    return [
        f"{name}\t{moment_of(latest[name]):%Y-%m-%d %H:%M}"
        for name in reversed(latest)
        if name and _PLAIN.fullmatch(name)
    ]
