"""Files of the web pages, and the headers that protect them.

Owns the folders, the content that is sent of each file, and joining the scripts into one: each
module becomes a function that returns its exports, so that their names do not collide, in the order
of their imports. One file takes one request, and compresses by a sixth better than fifteen.

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
"""Each page's own files."""

SHARED = WEB / "shared"
"""Files of several pages: style, elements, failure cards, the timeline and its words."""

LIBRARY = WEB / "library"
"""An unchanged library with its licences, which the gateway's page loads on demand."""

LATER = ("health.js", "push.js", "push_worker.js")
"""Scripts that the gateway's page loads on demand; the last is a worker's."""

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
"""On every answer: no other site may load it, as a script, a picture or a style."""

SAFE = GUARDED | {
    "content-security-policy": "default-src 'self'; img-src 'self' blob:; base-uri 'none'; "
    "form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "referrer-policy": "no-referrer",
}
"""Only the page's own scripts, styles and pictures (an agent's picture is a blob of the page), and
no frame of another site around it."""

_TYPE = re.compile(rb"/\*\* @type [^*]*+\*/ ")
"""A type annotation of an expression."""

_SPACES = re.compile(rb" ?+([{};,])[ \n]*+")
"""Characters of a style, with the needless space around them."""


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
    """Return the files of the gateway's page, by name, including the scripts loaded on demand."""
    library = {path.name: _file(path.read_bytes()) for path in LIBRARY.glob("*.js")}
    files = _files_of(GATEWAY)

    def imported(match: re.Match[str]) -> str:
        return f'import {{ {_module(match[2])} }} from "./main.js";{_destructured(match)}'

    # Scripts that are loaded on demand import modules from the one that was loaded first.
    later = {name: _file(_IMPORT.sub(imported, _text(files, name)).encode()) for name in LATER}
    names = ", ".join(_module(each) for each in _order(files, "main.js")[:-1])
    exports = f"export {{ {names} }};\n"
    return _served(GATEWAY, "main.js", exports) | later | library


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
    """Return a module of the record's page, and everything that it imports, as one script."""
    return _joined(_files_of(RECORD), name)


def _served(page: Path, script: str, exports: str = "") -> dict[str, PageFile]:
    """Return a page's files, with one script in place of all: a module and what it imports."""
    files = _files_of(page)
    others = {name: file for name, file in files.items() if not name.endswith(".js")}
    return others | {script: _file((_joined(files, script) + exports).encode())}


def _joined(files: Mapping[str, PageFile], name: str) -> str:
    """Return a script with all modules that it imports, each as a function before its importers."""
    joined = ""
    for each in _order(files, name):
        text = _text(files, each)
        body = _EXPORT.sub(r"\1", _IMPORT.sub(_destructured, text))
        # No template literal spans several lines.
        lines = _NEEDLESS_BREAK.sub("", "\n".join(line for line in body.splitlines() if line))
        if each == name:
            joined += f"{lines}\n"
        else:
            exports = ", ".join(name for _, name in _EXPORT.findall(text))
            function = f"(() => {{\n{lines}\nreturn {{ {exports} }};\n}})()"
            joined += f"const {_module(each)} = {function};\n"
    return joined


def _order(files: Mapping[str, PageFile], name: str) -> list[str]:
    """Return a script after the modules that it imports, each after its own imports."""
    order: list[str] = []

    def add(module: str) -> None:
        for _, imported in _IMPORT.findall(_text(files, module)):
            if imported not in order:
                add(imported)
        order.append(module)

    add(name)
    return order


def _destructured(match: re.Match[str]) -> str:
    return f"const {{{match[1]}}} = {_module(match[2])};"


def _module(name: str) -> str:
    return f"module_{name.removesuffix('.js')}"


def _text(files: Mapping[str, PageFile], name: str) -> str:
    return files[name].body.decode()


@cache
def _files_of(page: Path) -> dict[str, PageFile]:
    """Return a page's own and the shared files, by name, without comments and needless space."""
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
