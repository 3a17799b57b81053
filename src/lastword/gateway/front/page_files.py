"""The page's files, and the headers that protect the page.

Owns what is sent of each file, and joining the scripts into one: each module becomes a function
that returns its exports, so that their names do not collide, in the order in which they need each
other. One file takes one request, and compresses by a sixth better than fifteen.

The standard library serves the record's page from this module, so it needs nothing of the
gateway's extra.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parents[1] / "page"
LIBRARY = Path(__file__).parents[1] / "page_library"
"""What others wrote, unchanged, with its licences; the page loads it when it needs it."""

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

GUARDED = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
"""On every answer: no page of another site may load it, as a script, a picture or a style."""

SAFE = GUARDED | {
    "content-security-policy": "default-src 'self'; img-src 'self' blob:; base-uri 'none'; "
    "form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "referrer-policy": "no-referrer",
}
"""No script but the page's own files, no style but theirs, no picture from elsewhere (one that an
agent sends is a blob of the page's), no other site's frame around it."""

_TYPE = re.compile(rb"/\*\* @type [^*]*+\*/ ")
"""A type that is said of an expression."""

_SPACES = re.compile(rb" ?+([{};,])[ \n]*+")
"""What a style needs no space around."""


class PageFile(msgspec.Struct, frozen=True):
    """A file of the page.

    Attributes:
        body: its content.
        packed: its content, compressed with gzip.
        tag: identifies this content.
    """

    body: bytes
    packed: bytes
    tag: str


_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:async function|function|class|const) ([A-Za-z_]\w*))", re.MULTILINE
)


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the gateway's page, by name, with the library that it may ask for."""
    found = {path.name: _file(path.read_bytes()) for path in LIBRARY.glob("*.js")}
    return as_sent(files_in(FOLDER), "main.js") | found


def as_sent(files: Mapping[str, PageFile], script: str) -> dict[str, PageFile]:
    """Return files with one script in place of all: this module with everything it needs."""
    others = {name: kept for name, kept in files.items() if not name.endswith(".js")}
    return others | {script: _file(joined(files, script).encode())}


def joined(files: Mapping[str, PageFile], name: str) -> str:
    """Return a module and everything it needs as one script."""
    order: list[str] = []
    _add(files, name, order)
    return "".join(_wrapped(files, each, is_last=each == name) for each in order)


def _add(files: Mapping[str, PageFile], name: str, order: list[str]) -> None:
    for _, needed in _IMPORT.findall(_text(files, name)):
        if needed not in order:
            _add(files, needed, order)
    order.append(name)


def _wrapped(files: Mapping[str, PageFile], name: str, *, is_last: bool) -> str:
    text = _text(files, name)
    given = ", ".join(found for _, found in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(_taken, text))
    lines = "\n".join(line for line in body.splitlines() if line)
    if is_last:
        return f"{lines}\n"
    return f"const {_module(name)} = (() => {{\n{lines}\nreturn {{ {given} }};\n}})();\n"


def _taken(found: re.Match[str]) -> str:
    return f"const {{{found[1]}}} = {_module(found[2])};"


def _module(name: str) -> str:
    return f"module_{name.removesuffix('.js')}"


def _text(files: Mapping[str, PageFile], name: str) -> str:
    return files[name].body.decode()


def files_in(folder: Path) -> dict[str, PageFile]:
    """Return a page's files in a folder, by name, without what browsers do not read."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in {*TYPES, ".html"}:
            body = path.read_bytes()
            if path.suffix == ".js":
                body = without_comments(body)
            elif path.suffix == ".css":
                body = _SPACES.sub(rb"\1", body)
            found[path.name] = _file(body)
    return found


def _file(body: bytes) -> PageFile:
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    return PageFile(body, gzip.compress(body, mtime=0), tag)


def without_comments(script: bytes) -> bytes:
    """Return a script without indents, types and comment lines; line numbers stay.

    Comments are a third of the scripts' size.
    """
    kept = []
    inside = False
    for line in script.split(b"\n"):
        start = line.lstrip()
        opens = inside or start.startswith(b"/*")
        is_comment = opens or start.startswith(b"//")
        inside = opens and b"*/" not in line
        kept.append(b"" if is_comment else _TYPE.sub(b"", line.strip()))
    return b"\n".join(kept)
