"""JSON with comments and trailing commas, as editors use it for settings: values and positions.

Owns reading such a text into values that know their positions. Changing it is in `settings_text`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 100
"""How deep values may stand in one another."""

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]++)"
    r"|(?P<comment>//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r'|(?P<string>"(?:[^"\\\x00-\x1f]|\\[^\r\n])*+")'
    r"|(?P<scalar>[-+.0-9A-Za-z]++)"
    r"|(?P<mark>[{}\[\],:])"
)
_NUMBER = re.compile(r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+")
_WORDS = {"true": True, "false": False, "null": None}


class JsoncError(Exception):
    """The text is not JSON, even with comments; the message says where."""


@dataclass(frozen=True, slots=True)
class Token:
    """A comment, a string, a scalar or a mark, and where it stands."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the next character stands."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key of an object and its value.

    Attributes:
        key: the key.
        start: where the key begins.
        value: the value.
        comma: where the comma after it is, if there is one.
    """

    key: str
    start: int
    value: Value
    comma: int | None


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its position.

    Attributes:
        start: where it begins.
        end: where it ends.
        plain: what it means, with each number as a tuple of its text.
        members: an object's members in order; `None` for any other value.
    """

    start: int
    end: int
    plain: Any
    members: tuple[JsonMember, ...] | None = None

    def named(self, key: str) -> list[JsonMember]:
        """Return the members with this key; a text may repeat a key."""
        return [member for member in self.members or () if member.key == key]


@dataclass(frozen=True, slots=True)
class JsonText:
    """A text and its meaning.

    Attributes:
        text: the text.
        root: its value; `None` if there is nothing but space and comments.
        tokens: everything except space, comments included.
    """

    text: str
    root: Value | None
    tokens: tuple[Token, ...]

    @property
    def comments(self) -> list[Token]:
        """Return its comments."""
        return [token for token in self.tokens if token.kind == "comment"]

    def end_before(self, place: int) -> int:
        """Return where the last token before a position ends, or 0."""
        return max((token.end for token in self.tokens if token.end <= place), default=0)


def parse(text: str) -> JsonText:
    """Read a text.

    Raises:
        JsoncError: it is not JSON, also with comments and trailing commas.
    """
    tokens = tuple(_tokens(text))
    reader = _Reader(text, [token for token in tokens if token.kind != "comment"])
    root = None
    if reader.peek():
        root = reader.value(0)
        if reader.peek():
            raise reader.error("there is more after the end")
    return JsonText(text, root, tokens)


def as_json(plain: Any) -> Any:
    """Return a plain value with its numbers as numbers."""
    if isinstance(plain, dict):
        return {key: as_json(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [as_json(value) for value in plain]
    return json.loads(plain[0]) if isinstance(plain, tuple) else plain


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise JsoncError(f"{place(text, at)}: {text[at]!r} cannot stand there")
        if match.lastgroup != "space":
            yield Token(match.lastgroup or "", match[0], at)
        at = match.end()


def place(text: str, at: int) -> str:
    """Return a position in words: `line 3, column 5`."""
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))}"


class _Reader:
    """Tokens without comments, read one by one."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    def peek(self) -> str:
        """Return the next token's text; empty at the end."""
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def next_token(self) -> Token:
        """Consume and return the next token."""
        if self._at == len(self._tokens):
            raise self.error("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def error(self, problem: str) -> JsoncError:
        """Return an error at the next token."""
        more = self._at < len(self._tokens)
        at = self._tokens[self._at].start if more else len(self._text)
        return JsoncError(f"{place(self._text, at)}: {problem}")

    def value(self, depth: int) -> Value:
        """Read the value that begins here."""
        if depth > DEEPEST:
            raise self.error("it is nested too deeply")
        if self.peek() == "{":
            return self._object(depth)
        if self.peek() == "[":
            return self._array(depth)
        if self.peek() in {"}", "]", ",", ":"}:
            raise self.error(f"a value is missing before {self.peek()!r}")
        token = self.next_token()
        plain = self._string(token) if token.kind == "string" else self._scalar(token)
        return Value(token.start, token.end, plain)

    def _string(self, token: Token) -> str:
        try:
            text: str = json.loads(token.text)
        except ValueError:
            self._at -= 1
            raise self.error("there is a bad escape in this string") from None
        return text

    def _scalar(self, token: Token) -> Any:
        if token.text in _WORDS:
            return _WORDS[token.text]
        if _NUMBER.fullmatch(token.text):
            return (token.text,)
        self._at -= 1
        raise self.error(f"{token.text!r} is not a value")

    def _object(self, depth: int) -> Value:
        start = self.next_token().start
        members: list[JsonMember] = []
        while self.peek() != "}":
            if members and members[-1].comma is None:
                raise self.error("a comma is missing" if self.peek() else "it ends too early")
            key = self.next_token()
            if key.kind != "string":
                self._at -= 1
                raise self.error("a key in quotes is missing")
            name = self._string(key)
            if self.peek() != ":":
                raise self.error("a colon is missing")
            self.next_token()
            value = self.value(depth + 1)
            members.append(JsonMember(name, key.start, value, self._comma()))
        plain = {member.key: member.value.plain for member in members}
        return Value(start, self.next_token().end, plain, tuple(members))

    def _array(self, depth: int) -> Value:
        start = self.next_token().start
        plain: list[Any] = []
        comma: int | None = start
        while self.peek() != "]":
            if comma is None:
                raise self.error("a comma is missing" if self.peek() else "it ends too early")
            plain.append(self.value(depth + 1).plain)
            comma = self._comma()
        return Value(start, self.next_token().end, plain)

    def _comma(self) -> int | None:
        return self.next_token().start if self.peek() == "," else None
