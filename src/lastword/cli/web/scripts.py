"""The page's scripts: which there are, and several of them as one.

Owns the joining. Each module becomes a function that gives what it exports, so that no name of one
meets another's; they stand in the order in which they need each other.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from lastword.gateway import page_files
from lastword.gateway.page_files import PageFile, files_in

FOLDER = Path(__file__).parent / "page"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:async function|function|class|const) ([A-Za-z_]\w*))", re.MULTILINE
)


@cache
def served_files() -> dict[str, PageFile]:
    """The files of the gateway's page, and the record's own, by their names."""
    return page_files.page_files() | files_in(FOLDER)


@cache
def joined(name: str) -> str:
    """A module with all that it needs, as one script."""
    order: list[str] = []
    _add(name, order)
    return "".join(_wrapped(each, is_last=each == name) for each in order)


def _add(name: str, order: list[str]) -> None:
    for _, needed in _IMPORT.findall(_text(name)):
        if needed not in order:
            _add(needed, order)
    order.append(name)


def _wrapped(name: str, *, is_last: bool) -> str:
    text = _text(name)
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


def _text(name: str) -> str:
    return served_files()[name].body.decode()
