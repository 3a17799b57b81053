"""Output that is buffered until its writer has closed the record."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SPOOL_BYTES = 1024 * 1024
"""How much output is buffered in memory; the rest is in a temporary file."""


@contextlib.contextmanager
def buffer_output() -> Iterator[None]:
    """Buffer what is written to a pipe until the writer has closed the record.

    An open pager reads no more than its first page, and a record that is being read grows beyond
    its limits meanwhile: SQLite keeps everything that was written since the reader began.
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
