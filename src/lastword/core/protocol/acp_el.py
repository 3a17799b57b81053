"""Traffic files of acp.el, the ACP client for Emacs: one list of messages, as Emacs prints Lisp.

Owns as much of that notation as JSON turns into there: an object is a list of pairs, an array a
vector, a member's name a symbol. acp.el reads null, false and an empty object all as `nil`, so they
are null here, too. It saves no times. Knows nothing of files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BEGINNING_CHARS = 64
_BEGINNING = re.compile(r"\s{0,32}\(\(\(:direction \. (?:incoming|outgoing)\)")
_TOKEN = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*)"|#(?P<label>\d+)(?P<use>[=#])|(?P<dot>\.)(?=\s)'
    r"|(?P<mark>#\(|[()\[\]'])|(?P<atom>(?:[^\s()\[\]\"'\\]|\\.)+)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OTHER_CHARACTERS = {"n": "\n", "f": "\f"}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.ASCII)
_CONSTANTS = {"nil": None, ":null": None, ":false": False, "t": True}


def is_traffic(beginning: str) -> bool:
    """Return whether a text that begins so is a traffic file."""
    return _BEGINNING.match(beginning) is not None


def read_traffic(text: str) -> list[dict[str, Any]]:
    """Return the messages as lines of `lastword run --frames`, up to the first unreadable one."""
    lines: list[dict[str, Any]] = []
    if not is_traffic(text):
        return lines
    try:
        for entry in _Reader(text).entries():
            sides = ["agent", "client"]
            if entry[":direction"] == "outgoing":
                sides.reverse()
            frame = entry[":object"]
            lines.append({"at": None, "from": sides[0], "to": sides[1], "frame": frame})
    except (ValueError, LookupError, TypeError, RecursionError):
        pass  # the end is missing, or the notation is another
    return lines


class _Reader:
    """A reader of values; a repeated object is only a reference to its label."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.finditer(text)
        self._labelled: dict[str, Any] = {}

    def entries(self) -> Iterator[Any]:
        self._next()
        while (token := self._next())[0] != ")":
            yield self._value(token)

    def _next(self) -> re.Match[str]:
        token = next(self._tokens, None)
        if token is None:
            raise ValueError("the text ends within a list")
        return token

    def _value(self, token: re.Match[str]) -> Any:
        if token["label"]:
            return self._shared(token, self._value)
        if token["string"] is not None:
            return _unescape(token["string"])
        atom = token["atom"]
        if atom and _NUMBER.fullmatch(atom):
            return int(atom) if atom.lstrip("-").isdigit() else float(atom)
        if atom:
            return _CONSTANTS[atom] if atom in _CONSTANTS else _unescape(atom)
        if token[0] == "(":
            return self._members()
        if token[0] == "[":
            values = []
            while (token := self._next())[0] != "]":
                values.append(self._value(token))
            return values
        if token[0] != "#(":
            raise ValueError(token[0])
        # Of a text with properties, the text alone counts: colours and the like were never sent.
        text = self._value(self._next())
        depth = 1
        while depth:
            mark = self._next()["mark"] or " "
            depth += (mark in "#([") - (mark in ")]")
        return text

    def _shared(self, token: re.Match[str], read: Callable[[re.Match[str]], Any]) -> Any:
        if token["use"] == "=":
            self._labelled[token["label"]] = read(self._next())
        return self._labelled[token["label"]]

    def _members(self) -> Any:
        """Read the rest of a list: pairs, or what follows a dot."""
        members: dict[str, Any] = {}
        while (token := self._next())[0] != ")":
            if token["dot"]:
                tail = self._value(self._next())
                self._next()
                return members | tail if members else tail
            name, value = self._pair(token)
            members.setdefault(name, value)
        return members or None

    def _pair(self, token: re.Match[str]) -> tuple[str, Any]:
        if token["label"]:
            pair: tuple[str, Any] = self._shared(token, self._pair)
            return pair
        if token[0] == "'":  # Emacs prints (quote (a . 1)) so
            return "quote", dict([self._pair(self._next())])
        name = self._next()["atom"]
        if token[0] != "(" or name is None:
            raise ValueError(token[0])
        return "" if name == "##" else _unescape(name), self._members()


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _OTHER_CHARACTERS.get(match[1], match[1]), text)
