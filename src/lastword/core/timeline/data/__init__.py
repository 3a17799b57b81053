"""Tables of the timeline as plain text: `events.txt` for `session_events`, `phrases.txt` for lines.

A file's first lines say what its tables and rows are.
"""

from __future__ import annotations

from functools import partial

from lastword.core.failure import data

read_tables: partial[list[tuple[str, tuple[str, ...]]]] = partial(data.read_tables, __path__[0])
read_words: partial[dict[str, dict[str, str]]] = partial(data.read_words, __path__[0])
