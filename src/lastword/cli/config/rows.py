"""A user's own rows: `[[classify.rule]]` for the classifier, `[[journal]]` for agents' journals.

Owns what such a row may contain, which is the same as in the built-in ones
(`core.classify.messages` and `tokens`, `quirks.journals`), and the check for slow patterns.
"""

from __future__ import annotations

import re
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
    """Where it is, and what is wrong."""

LISTING = "lastword config"
EVIDENCE, VERSION = "the user's configuration file", "the user's own"
TYPES = tuple(kind.value for kind in ErrorType if kind in {*messages.STRONG, *tokens.STRONG})
MIN_CHARS = 4
"""A shorter part occurs in too many messages."""

MAX_ROWS = 200
MAX_PATTERN_CHARS = 1000
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RULE = ("name", "type", "message", "words", "unless", "retryable")
_JOURNAL = ("name", "agent", "variables", "default", "path", "marker", "pattern", "members",
            "goes-on", "in-time")  # fmt: skip
_MEMBERS = ("must", "at", "failure", "session", "attempt", "max-attempts", "wait-ms")
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
    """Return the rows of a file, and what is wrong with the others."""
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
            problems.append(((*path, index, "name"), f"another row has the name {row['name']}"))
        names.add(made.name)
        yield made


def _rule(row: dict[str, Any]) -> OwnRow:
    _refuse_unknown(row, _RULE)
    kind = _text(row, "type")
    if kind not in TYPES:
        raise _UnusableError("type", wrong_choice("type", kind, TYPES))
    parts = tuple(_sentence("message", part) for part in _texts(row, "message"))
    words = frozenset(_word(word) for word in _texts(row, "words"))
    if not parts and not words:
        raise _UnusableError("", "a rule has message or words, or both")
    retryable = row.get("retryable")
    if retryable not in {None, False}:
        raise _UnusableError(
            "retryable", "retryable can only be false: a rule cannot decide that a retry is safe"
        )
    return OwnRow(
        name=_name(row),
        type=ErrorType(kind),
        messages=parts,
        words=words,
        unless=tuple(_sentence("unless", part) for part in _texts(row, "unless")),
        retryable=retryable,
    )


def _sentence(member: str, text: str) -> str:
    folded = fold(text)
    # One Chinese or Japanese character means as much as a word.
    if len(folded) < (MIN_CHARS if folded.isascii() else 2) or folded.startswith(".."):
        raise _UnusableError(member, f"{member} needs {MIN_CHARS} characters or more, not {text!r}")
    return folded


def _word(text: str) -> str:
    word = normalise(text)
    if len(word) < MIN_CHARS or any(char.isspace() for char in text):
        raise _UnusableError(
            "words", f"words are single words of {MIN_CHARS} letters or more, not {text!r}"
        )
    return word


def _journal(row: dict[str, Any]) -> JournalRow:
    _refuse_unknown(row, _JOURNAL)
    if ("pattern" in row) == ("members" in row):
        raise _UnusableError("", "a journal needs either pattern or members")
    variables = tuple(_variables(row))
    default = str(row.get("default", ""))
    if not variables and not default:
        raise _UnusableError("", "a journal needs default, the folder that its path is in")
    return JournalRow(
        name=f"config:{_name(row)}",
        agent=_text(row, "agent"),
        variables=variables,
        default=default,
        path=_path(row),
        marker=_text(row, "marker").encode(),
        members=_members(row["members"]) if "members" in row else None,
        pattern=_pattern(row) if "pattern" in row else "",
        goes_on=_flag(row, "goes-on"),
        in_time=_flag(row, "in-time") is not False,
        evidence=EVIDENCE,
        version=VERSION,
    )


def _variables(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    pairs = row.get("variables", [])
    for pair in pairs if isinstance(pairs, list) else [None]:
        match pair:
            case [str(name), str(rest)] if _VARIABLE.fullmatch(name) and ".." not in rest:
                yield name, rest
            case _:
                raise _UnusableError(
                    "variables",
                    'variables are pairs of a variable and a folder: [["HOME", "logs"]]',
                )


def _path(row: dict[str, Any]) -> str:
    path = _text(row, "path")
    parts = path.split("/")
    # Only at the beginning of a name is a star looked for.
    stars = any("*" in part.removeprefix("*") for part in parts)
    if stars or not {"", ".", ".."}.isdisjoint(parts):
        raise _UnusableError(
            "path",
            f"path is a file below its folder, with * for the beginning of a name, not {path!r}",
        )
    return path


def _members(table: Any) -> JournalMembers:
    if not isinstance(table, dict):
        raise _UnusableError("members", "members is a table: [journal.members]")
    for key in table:
        if key not in _MEMBERS:
            raise _UnusableError("members", no_such("member", key, _MEMBERS, LISTING))
    must, failure = table.get("must", {}), table.get("failure")
    if not isinstance(must, dict) or not all(isinstance(value, str) for value in must.values()):
        raise _UnusableError("members", "must is a table that maps paths to texts")
    if not isinstance(failure, dict) or not failure or not failure.keys() <= {*_FAILURE}:
        raise _UnusableError("members", f"failure has {', '.join(_FAILURE)}, each with a path")
    if "at" not in table:
        raise _UnusableError("members", "at is missing: where in a line its time is")
    return JournalMembers(
        must={_way(key): value for key, value in must.items()},
        at=_way(table["at"]),
        failure={name: _way(way) for name, way in failure.items()},
        session=_way(table.get("session", [])),
        attempt=_way(table.get("attempt", [])),
        max_attempts=_way(table.get("max-attempts", [])),
        wait_ms=_way(table.get("wait-ms", [])),
    )


def _way(value: Any) -> tuple[str, ...]:
    """Return the members that lead to a value: `"error.message"`, or a list of their names."""
    if isinstance(value, str) and value:
        return tuple(value.split("."))
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise _UnusableError("members", f'a path is written "error.message", not {value!r}')


def _pattern(row: dict[str, Any]) -> str:
    pattern = _text(row, "pattern")
    try:
        groups = re.compile(pattern).groupindex.keys()
    except (re.error, OverflowError, RecursionError) as error:
        raise _UnusableError("pattern", f"pattern cannot be used: {error}") from None
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _UnusableError("pattern", f"pattern has more than {MAX_PATTERN_CHARS} characters")
    if not groups <= _GROUPS:
        listed = ", ".join(sorted(_GROUPS))
        raise _UnusableError("pattern", f"pattern has a group that is not one of {listed}")
    if "at" not in groups or not groups & {"message", "quoted"}:
        raise _UnusableError("pattern", "pattern needs the groups at and message (or quoted)")
    if backtracking(pattern) > 1:
        raise _UnusableError(
            "pattern",
            "pattern may be slow on a line that does not match: make its repeats possessive "
            r"(\S++), or put them into an atomic group (?>.*?x)",
        )
    return pattern


def backtracking(pattern: str) -> int:
    """Return how many open repeats of a pattern may be tried again; one within another is many.

    A repeat at the very end is not tried again: the pattern has matched.
    """
    parsed = list(_parsed(pattern))
    return _repeats(parsed[:-1]) + _repeats(parsed[-1:], is_end=True)


def _parsed(pattern: str) -> Any:
    # The parser that `re` itself uses; it has no public name.
    return getattr(re, "_parser").parse(pattern)  # noqa: B009


def _repeats(parts: Any, *, is_end: bool = False) -> int:
    count = 0
    for operation, value in parts:
        name = str(operation)
        if name in _REPEATS:
            _, most, inner = value
            is_open = int(most) > MAX_CLOSED_REPEAT
            if is_open and _has_choice(inner):
                return MANY
            count += _repeats(inner) * min(int(most), MAX_CLOSED_REPEAT)
            count += is_open and not is_end
        elif name in _ATOMIC:
            # It is left once: what it tried inside is not tried again from outside.
            inner = list(value if name == "ATOMIC_GROUP" else value[-1])
            tried = _repeats(inner[:-1]) + _repeats(inner[-1:], is_end=True)
            count += MANY if tried > 1 else 0
        else:
            count += sum(_repeats(part, is_end=is_end) for part in _inner(name, value))
    return min(count, MANY)


def _has_choice(parts: Any) -> bool:
    """Return whether a pattern can match one text in several ways."""
    return any(
        name in {*_REPEATS, "BRANCH"} or any(map(_has_choice, _inner(name, value)))
        for operation, value in parts
        if (name := str(operation)) not in _ATOMIC
    )


_REPEATS, _ATOMIC = {"MAX_REPEAT", "MIN_REPEAT"}, {"ATOMIC_GROUP", "POSSESSIVE_REPEAT"}
MAX_CLOSED_REPEAT = 16
"""A repeat of at most this many is tried again quickly."""

MANY = 1000


def _inner(name: str, value: Any) -> list[Any]:
    """Return the patterns within an operation."""
    if name == "SUBPATTERN":
        return [value[-1]]
    if name == "BRANCH":
        return list(value[1])
    if name in {"ASSERT", "ASSERT_NOT"}:
        return [value[1]]
    return [part for part in value[1:] if part] if name == "GROUPREF_EXISTS" else []


def _refuse_unknown(row: dict[str, Any], members: tuple[str, ...]) -> None:
    for key in row:
        if key not in members:
            raise _UnusableError(key, no_such("member", key, members, LISTING))


def _name(row: dict[str, Any]) -> str:
    name = _text(row, "name")
    if not _NAME.fullmatch(name):
        raise _UnusableError(
            "name", f"name has lower-case letters, digits, -, _ and . only, not {name!r}"
        )
    return name


def _text(row: dict[str, Any], member: str) -> str:
    value = row.get(member)
    if value is None:
        raise _UnusableError("", f"{member} is missing")
    if not isinstance(value, str) or not value or "\0" in value:
        raise _UnusableError(member, f"{member} takes a text")
    return value


def _texts(row: dict[str, Any], member: str) -> list[str]:
    value = row.get(member, [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _UnusableError(member, f"{member} takes a text, or a list of them")
    return texts


def _flag(row: dict[str, Any], member: str) -> bool | None:
    value = row.get(member)
    if value is not None and not isinstance(value, bool):
        raise _UnusableError(member, f"{member} takes true or false")
    return value
