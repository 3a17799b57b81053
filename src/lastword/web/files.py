"""Files of the web pages, and the headers that protect them.

Owns the folders, what is sent of each file, and joining the scripts into one: each module becomes a
function that returns its exports, so that their names do not collide, in the order in which they
need each other. One file takes one request, and compresses by a sixth better than fifteen.

The standard library serves the record's page, so nothing here needs the gateway's extra.
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

WEB = Path(__file__).parent
GATEWAY, RECORD, ANSWER = WEB / "gateway", WEB / "record", WEB / "answer"
"""Each page's own files. No page reads another's."""

SHARED = WEB / "shared"
"""What both pages have: style, elements, failure cards, the timeline and its words."""

LIBRARY = WEB / "library"
"""A library, unchanged, with its licences; the gateway's page loads it when it needs it."""

LATER = ("health.js", "push.js", "push_worker.js")
"""Scripts of the gateway's page that it loads when it needs them; the last is a worker's."""

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
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


_NEEDLESS_BREAK = re.compile(r"(?<=[,({\[])\n")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:async function|function|class|const) ([A-Za-z_]\w*))", re.MULTILINE
)


@cache
def gateway_files() -> dict[str, PageFile]:
    """Return the files of the gateway's page, by name, with the scripts that it may ask for."""
    library = {path.name: _file(path.read_bytes()) for path in LIBRARY.glob("*.js")}
    files = _files_of(GATEWAY)
    later = {name: _file(_alone(files, name).encode()) for name in LATER}
    return _served(GATEWAY, "main.js", shares=True) | later | library


@cache
def answer_files() -> dict[str, PageFile]:
    """Return the files of the gateway's page for one answer, by name."""
    files = _files_of(ANSWER)
    return {name: files[name] for name in ("answer.html", "answer.js")}


@cache
def record_files() -> dict[str, PageFile]:
    """Return the files of the record's page, by name."""
    return _served(RECORD, "record_live.js")


@cache
def record_script(name: str) -> str:
    """Return a module of the record's page and everything it needs as one script."""
    return _joined(_files_of(RECORD), name)


def _served(page: Path, script: str, *, shares: bool = False) -> dict[str, PageFile]:
    """Return a page's files with one script in place of all: this module with all it needs.

    If it `shares`, scripts that are loaded later get its modules from it.
    """
    files = _files_of(page)
    others = {name: file for name, file in files.items() if not name.endswith(".js")}
    text = _joined(files, script)
    if shares:
        names = ", ".join(_module(each) for each in _order(files, script)[:-1])
        text += f"export {{ {names} }};\n"
    return others | {script: _file(text.encode())}


def _alone(files: Mapping[str, PageFile], name: str) -> str:
    """Return a script that is loaded later, with imports from the one that was loaded first."""

    def imported(match: re.Match[str]) -> str:
        module = _module(match[2])
        return f'import {{ {module} }} from "./main.js";{_destructured(match)}'

    return _IMPORT.sub(imported, _text(files, name))


def _joined(files: Mapping[str, PageFile], name: str) -> str:
    order = _order(files, name)
    return "".join(_wrapped(files, each, is_last=each == name) for each in order)


def _order(files: Mapping[str, PageFile], name: str) -> list[str]:
    """Return the modules that a script needs, and itself at last, each behind what it needs."""
    order: list[str] = []
    _add(files, name, order)
    return order


def _add(files: Mapping[str, PageFile], name: str, order: list[str]) -> None:
    for _, needed in _IMPORT.findall(_text(files, name)):
        if needed not in order:
            _add(files, needed, order)
    order.append(name)


def _wrapped(files: Mapping[str, PageFile], name: str, *, is_last: bool) -> str:
    text = _text(files, name)
    exports = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(_destructured, text))
    # No template literal goes over a line's end.
    lines = _NEEDLESS_BREAK.sub("", "\n".join(line for line in body.splitlines() if line))
    if is_last:
        return f"{lines}\n"
    return f"const {_module(name)} = (() => {{\n{lines}\nreturn {{ {exports} }};\n}})();\n"


def _destructured(match: re.Match[str]) -> str:
    return f"const {{{match[1]}}} = {_module(match[2])};"


def _module(name: str) -> str:
    return f"module_{name.removesuffix('.js')}"


def _text(files: Mapping[str, PageFile], name: str) -> str:
    return files[name].body.decode()


@cache
def _files_of(page: Path) -> dict[str, PageFile]:
    """Return a page's own and the shared files, by name, without what browsers do not read."""
    files = {}
    for path in sorted((*SHARED.iterdir(), *page.iterdir())):
        if path.suffix in {*TYPES, ".html"}:
            body = path.read_bytes()
            if path.suffix == ".js":
                body = without_comments(body)
            elif path.suffix == ".css":
                body = _SPACES.sub(rb"\1", body)
            files[path.name] = _file(body)
    return files


def _file(body: bytes) -> PageFile:
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    return PageFile(body, gzip.compress(body, mtime=0), tag)


def without_comments(script: bytes) -> bytes:
    """Return a script without indents, types and comment lines; line numbers stay.

    Comments are a third of the scripts' size.
    """
    lines = []
    inside = False
    for line in script.split(b"\n"):
        start = line.lstrip()
        opens = inside or start.startswith(b"/*")
        is_comment = opens or start.startswith(b"//")
        inside = opens and b"*/" not in line
        lines.append(b"" if is_comment else _TYPE.sub(b"", line.strip()))
    return b"\n".join(lines)
