"""The scripts of the record's page, which include the gateway's timeline."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lastword.gateway.front import page_files
from lastword.gateway.front.page_files import PageFile, as_sent, files_in

FOLDER = Path(__file__).parent / "page"


@cache
def served_files() -> dict[str, PageFile]:
    """Return the files of the record's page, by name."""
    return as_sent(_files(), "record_live.js")


@cache
def joined(name: str) -> str:
    """Return a module and everything it needs as one script."""
    return page_files.joined(_files(), name)


@cache
def _files() -> dict[str, PageFile]:
    return files_in(page_files.FOLDER) | files_in(FOLDER)
