"""The page's files, and the headers that keep a page to itself.

Owns what of a file is sent. The standard library serves them as well as the gateway does, so this
module needs nothing of the gateway's extra.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

SAFE = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
"""No script but the page's own files, no style but theirs, no other site's frame around it."""


class PageFile(msgspec.Struct, frozen=True):
    """A file of the page.

    Attributes:
        body: as it is.
        packed: the same with gzip.
        tag: names this content.
    """

    body: bytes
    packed: bytes
    tag: str


@cache
def page_files() -> dict[str, PageFile]:
    """The files of the gateway's page, by their names."""
    return files_in(FOLDER)


def files_in(folder: Path) -> dict[str, PageFile]:
    """The files of a folder that a page has, by their names."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in {*TYPES, ".html"}:
            body = path.read_bytes()
            if path.suffix == ".js":
                body = without_comments(body)
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            found[path.name] = PageFile(body, gzip.compress(body, mtime=0), tag)
    return found


def without_comments(script: bytes) -> bytes:
    """A script without indents and the lines that are comments alone; all keep their numbers.

    A third of what the scripts weigh is said to their maintainers.
    """
    kept = []
    inside = False
    for line in script.split(b"\n"):
        start = line.lstrip()
        opens = inside or start.startswith(b"/*")
        is_comment = opens or start.startswith(b"//")
        inside = opens and b"*/" not in line
        kept.append(b"" if is_comment else line.strip())
    return b"\n".join(kept)
