"""A user's own rows: `[[classify.rule]]` for the classifier, `[[journal]]` for agents' journals.

Owns the members of a row, as in the built-in ones (`core.classify.messages` and `tokens`,
`quirks.journals`): a table with the function that reads each member's value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.cli.words import no_such, wrong_choice
from lastword.core.classify import messages, tokens
from lastword.core.classify.own_rows import OwnRow
from lastword.core.classify.text import fold, normalise
from lastword.core.failure.taxonomy import ErrorType
from lastword.quirks.journals import JournalMembers, JournalRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Path = tuple[str | int, ...]
    Problem = tuple[Path, str]
    """Its place, and the sentence about it."""

Read = Callable[[str, Any], Any]
"""Reads a member's value, given its name; raises `ValueError` with a sentence for the user."""

LISTING = "lastword config"
TYPES = tuple(kind.value for kind in ErrorType if kind in {*messages.STRONG, *tokens.STRONG})
MIN_CHARS = 4
"""A shorter text occurs in too many messages."""

MAX_ROWS = 200
MAX_PATTERN_CHARS = 1000
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FAILURE = ("message", "http_status", "code", "exception_class")
_GROUPS = {"at", "message", "quoted", "status", "name", "session", "attempt", "wait", "side"}


class OwnRows(NamedTuple):
    """The rows of one file."""

    rules: tuple[OwnRow, ...] = ()
    journals: tuple[JournalRow, ...] = ()


NO_ROWS = OwnRows()


class _UnusableError(Exception):
    """A member of a row cannot be used; `member` is empty for the whole row."""

    def __init__(self, member: str, reason: str) -> None:
        super().__init__(reason)
        self.member: str = member


def rows_in(values: Mapping[str, Any]) -> tuple[OwnRows, list[Problem]]:
    """Return the rows of a file that can be used, and the problems of the others."""
    table = values.get("classify", {})
    problems: list[Problem] = [
        (("classify", key), no_such("member", key, ("rule",), LISTING))
        for key in table
        if key != "rule"
    ]
    rules = _each(("classify", "rule"), table, _rule, problems)
    journals = _each(("journal",), values, _journal, problems)
    return OwnRows(tuple(rules), tuple(journals)), problems


def _each(
    path: Path, holder: Mapping[str, Any], read: Any, problems: list[Problem]
) -> Iterator[Any]:
    rows = holder.get(str(path[-1]), [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        written = ".".join(map(str, path))
        problems.append((path, f"rows are written as [[{written}]]"))
        return
    if len(rows) > MAX_ROWS:
        problems.append((path, f"there are more than {MAX_ROWS} rows"))
        return
    names: set[str] = set()
    for index, row in enumerate(rows):
        try:
            made = read(row)
        except _UnusableError as error:
            problems.append(((*path, index, error.member), str(error)))
            continue
        if made.name in names:
            problems.append(((*path, index, "name"), f"another row is also named {row['name']}"))
        names.add(made.name)
        yield made


def _values(row: dict[str, Any], members: Mapping[str, Read], needed: set[str]) -> dict[str, Any]:
    """Return the values of a row's members, by their names in code."""
    for key in row:
        if key not in members:
            raise _UnusableError(key, no_such("member", key, members, LISTING))
    values = {}
    for key, read in members.items():
        if key in row:
            try:
                values[key.replace("-", "_")] = read(key, row[key])
            except ValueError as error:
                raise _UnusableError(key, str(error)) from None
        elif key in needed:
            raise _UnusableError("", f"{key} is missing")
    return values


def _rule(row: dict[str, Any]) -> OwnRow:
    values = _values(row, _RULE, {"name", "type"})
    values["messages"] = values.pop("message", ())
    if not values["messages"] and not values.get("words"):
        raise _UnusableError("", "a rule has message or words, or both")
    return OwnRow(**values)


def _journal(row: dict[str, Any]) -> JournalRow:
    values = _values(row, _JOURNAL, {"name", "agent", "path", "marker"})
    if ("pattern" in row) == ("members" in row):
        raise _UnusableError("", "a journal needs either pattern or members")
    if not values.get("variables") and not values.get("default"):
        raise _UnusableError("", "a journal needs default, the folder of its path")
    values = {"variables": (), "default": ""} | values
    values["name"] = f"config:{values['name']}"
    return JournalRow(**values, evidence="the user's configuration file", version="the user's own")


def _text(member: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{member} takes a text")
    return value


def _texts(member: str, value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{member} takes a text, or a list of them")
    return texts


def _flag(member: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{member} takes true or false")  # noqa: TRY004 - as the others
    return value


def _name(member: str, value: Any) -> str:
    if not _NAME.fullmatch(_text(member, value)):
        raise ValueError(f"name has lower-case letters, digits, -, _ and . only, not {value!r}")
    return str(value)


def _type(member: str, value: Any) -> ErrorType:
    if _text(member, value) not in TYPES:
        raise ValueError(wrong_choice("type", value, TYPES))
    return ErrorType(value)


def _sentences(member: str, value: Any) -> tuple[str, ...]:
    sentences = []
    for text in _texts(member, value):
        folded = fold(text)
        # One Chinese or Japanese character means as much as a word.
        if len(folded) < (MIN_CHARS if folded.isascii() else 2) or folded.startswith(".."):
            raise ValueError(f"{member} needs {MIN_CHARS} characters or more, not {text!r}")
        sentences.append(folded)
    return tuple(sentences)


def _words(member: str, value: Any) -> frozenset[str]:
    texts = _texts(member, value)
    for text in texts:
        if len(normalise(text)) < MIN_CHARS or any(char.isspace() for char in text):
            raise ValueError(f"words are single words of {MIN_CHARS} letters or more, not {text!r}")
    return frozenset(map(normalise, texts))


def _never(member: str, value: Any) -> bool:
    if value is not False:
        raise ValueError(f"{member} can only be false: a rule cannot decide that a retry is safe")
    return False


def _variables(_member: str, value: Any) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in value if isinstance(value, list) else [None]:
        match pair:
            case [str(name), str(rest)] if _VARIABLE.fullmatch(name) and ".." not in rest:
                pairs.append((name, rest))
            case _:
                raise ValueError(
                    'variables are pairs of a variable and a folder: [["HOME", "logs"]]'
                )
    return tuple(pairs)


def _path(member: str, value: Any) -> str:
    parts = _text(member, value).split("/")
    # A star is allowed only at the beginning of a name.
    stars = any("*" in part.removeprefix("*") for part in parts)
    if stars or not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError(
            f"path is a file below its folder, with * for the beginning of a name, not {value!r}"
        )
    return str(value)


def _marker(member: str, value: Any) -> bytes:
    return _text(member, value).encode()


def _pattern(member: str, value: Any) -> str:
    pattern = _text(member, value)
    try:
        groups = re.compile(pattern).groupindex.keys()
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"pattern cannot be used: {error}") from None
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"pattern has more than {MAX_PATTERN_CHARS} characters")
    if not groups <= _GROUPS:
        listed = ", ".join(sorted(_GROUPS))
        raise ValueError(f"pattern has a group that is not one of {listed}")
    if "at" not in groups or not groups & {"message", "quoted"}:
        raise ValueError("pattern needs the groups at and message (or quoted)")
    return pattern


def _members(_member: str, value: Any) -> JournalMembers:
    if not isinstance(value, dict):
        raise ValueError("members is a table: [journal.members]")  # noqa: TRY004 - as the others
    try:
        values = _values(value, _MEMBERS, {"at", "failure"})
    except _UnusableError as error:
        raise ValueError(str(error)) from None
    values.setdefault("must", {})
    return JournalMembers(**values)


def _must(member: str, value: Any) -> dict[tuple[str, ...], str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError("must is a table that maps paths to texts")
    return {_way(member, key): text for key, text in value.items()}


def _failure(member: str, value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value or not value.keys() <= {*_FAILURE}:
        raise ValueError(f"failure has {', '.join(_FAILURE)}, each with a path")
    return {name: _way(member, way) for name, way in value.items()}


def _way(_member: str, value: Any) -> tuple[str, ...]:
    """Return the path to a value: `"error.message"`, or a list of names."""
    if isinstance(value, str) and value:
        return tuple(value.split("."))
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise ValueError(f'a path is written "error.message", not {value!r}')


_RULE: dict[str, Read] = {
    "name": _name,
    "type": _type,
    "message": _sentences,
    "words": _words,
    "unless": _sentences,
    "retryable": _never,
}
_JOURNAL: dict[str, Read] = {
    "name": _name,
    "agent": _text,
    "variables": _variables,
    "default": _text,
    "path": _path,
    "marker": _marker,
    "pattern": _pattern,
    "members": _members,
    "goes-on": _flag,
    "in-time": _flag,
}
_MEMBERS: dict[str, Read] = {
    "must": _must,
    "at": _way,
    "failure": _failure,
    "session": _way,
    "attempt": _way,
    "max-attempts": _way,
    "wait-ms": _way,
}
