"""The classifier's tables as plain text.

A file's first lines say what its tables and rows are. A file with the name of a module is read by
that module, and a language's file by `concepts` when a failure first needs it. The rows with a
stable meaning are in `protocol/failures`.
"""

from __future__ import annotations

from functools import partial

from lastword.core.failure import data

read_tables: partial[list[tuple[str, tuple[str, ...]]]] = partial(data.read_tables, __path__[0])
"""Return a file's tables in their order, each with its heading and its rows."""
