"""Output that waits until its writer is done with the record."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SPOOL_BYTES = 1024 * 1024
"""What is held back of an output in memory; the rest is in a temporary file."""


@contextlib.contextmanager
def buffer_output() -> Iterator[None]:
    """Hold back what is written to a pipe, until whoever writes it is done with the record.

    A pager that is left open takes no more after its first page, and a record that is being read
    grows beyond its limits meanwhile: SQLite keeps all that was written since the reader began.
    """
    out = sys.stdout
    if out.isatty():
        yield
        return
    with tempfile.SpooledTemporaryFile(
        SPOOL_BYTES, "w+", encoding=out.encoding, errors="backslashreplace", newline=""
    ) as buffer:
        try:
            with contextlib.redirect_stdout(buffer):
                yield
        finally:
            buffer.seek(0)
            out.writelines(buffer)
