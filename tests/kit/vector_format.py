"""The vectors' format: reading the files, and matching what came out.

`protocol/vectors/README.md` describes it. Owns the step kinds and the matchers. Knows no
implementation (`vector_runner`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.kit.places import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Iterator


VECTOR_KEYS = frozenset({"id", "after", "requirements", "note", "options", "steps"})
CHECKS = frozenset({"to_client", "to_agent"})
STEP_KINDS = CHECKS | {
    *("client", "client_line", "client_long_line", "client_eof"),
    *("agent", "agent_line", "agent_long_line", "agent_exit", "stderr_bytes", "time"),
}
STEP_EXTRAS = {"agent_exit": {"stderr"}, "agent": {"times"}, "client": {"times"}}
OPTIONS = frozenset(
    {
        *("first_update_timeout_seconds", "idle_timeout_seconds", "tool_timeout_seconds"),
        *("turn_timeout_seconds", "warn_after_seconds", "cancel_grace_seconds"),
        *("stderr_limit_bytes", "fallback", "silent_success", "show_retries"),
        *("restart", "retry", "retry_wait_limit_seconds"),
    }
)
MATCHERS = frozenset(
    {"$any", "$same", "$sentence", "$contains", "$without", "$lacks", "$max_bytes", "$line"}
)
UNORDERED = "$unordered"
FRAME, TIMES = "$frame", "$times"
NONE_OF = "$none"
REPEAT = "$repeat"
_NO_MATCHERS = frozenset({UNORDERED, FRAME, TIMES, NONE_OF, REPEAT})

MAX_SENTENCE_CHARACTERS = 500

_EXAMPLES: dict[str, Any] = {"string": "text", "integer": 1, "number": 1, "boolean": True}
_EXAMPLES |= {"object": {}, "array": [], "value": "text"}


class BadVectorError(Exception):
    def __init__(self, where: str, text: str) -> None:
        super().__init__(f"{where}: {text}")


class MismatchError(AssertionError):
    def __init__(self, where: str, text: str) -> None:
        super().__init__(f"{where}: {text}")
        self.where = where
        self.text = text


@dataclass(frozen=True)
class Vector:
    """One scenario. `options` and `steps` include those of the vectors it comes after."""

    id: str
    file: str
    note: str
    requirements: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    steps: tuple[dict[str, Any], ...] = ()


@cache
def load_vectors() -> dict[str, Vector]:
    """All vectors by id, each checked against the format."""
    raw: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted((PROTOCOL / "vectors").glob("*.json")):
        for vector in json.loads(path.read_text()):
            _check_vector(vector, path.name)
            if vector["id"] in raw:
                raise BadVectorError(path.name, f"{vector['id']} is there twice")
            raw[vector["id"]] = (path.name, vector)
    return {name: _resolve(name, raw) for name in raw}


def _resolve(name: str, raw: dict[str, tuple[str, dict[str, Any]]]) -> Vector:
    if name not in raw:
        raise BadVectorError(name, "no vector is called so")
    file, vector = raw[name]
    steps: tuple[dict[str, Any], ...] = ()
    options: dict[str, Any] = {}
    if "after" in vector:
        before = _resolve(vector["after"], raw)
        steps, options = before.steps, before.options
    return Vector(
        id=name,
        file=file,
        note=vector["note"],
        requirements=tuple(vector["requirements"]),
        options={**options, **vector.get("options", {})},
        steps=(*steps, *vector["steps"]),
    )


def _check_vector(vector: dict[str, Any], file: str) -> None:
    name = f"{file}: {vector.get('id')}"
    if unknown := vector.keys() - VECTOR_KEYS:
        raise BadVectorError(name, f"unknown keys {sorted(unknown)}")
    if missing := {"id", "requirements", "note", "steps"} - vector.keys():
        raise BadVectorError(name, f"missing keys {sorted(missing)}")
    if unknown := vector.get("options", {}).keys() - OPTIONS:
        raise BadVectorError(name, f"unknown options {sorted(unknown)}")
    kinds = [step_kind(step, name) for step in vector["steps"]]
    if not CHECKS.intersection(kinds):
        raise BadVectorError(name, "nothing is checked")
    if kinds[-1] not in CHECKS:
        raise BadVectorError(name, "the last step is no check")
    for step in vector["steps"]:
        for matcher in _matchers(step):
            if unknown := matcher.keys() - MATCHERS:
                raise BadVectorError(name, f"unknown matchers {sorted(unknown)}")


def step_kind(step: dict[str, Any], name: str) -> str:
    kinds = STEP_KINDS.intersection(step)
    if len(kinds) != 1:
        raise BadVectorError(name, f"a step needs exactly one kind: {step}")
    kind = next(iter(kinds))
    if unknown := step.keys() - {kind, "note"} - STEP_EXTRAS.get(kind, set()):
        raise BadVectorError(name, f"unknown step keys {sorted(unknown)}")
    return kind


def is_matcher(expected: Any) -> bool:
    return isinstance(expected, dict) and any(key.startswith("$") for key in expected)


def _matchers(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _matchers(item)
    elif isinstance(value, dict):
        if is_matcher(value) and not _NO_MATCHERS.issuperset(value):
            yield value
        for item in value.values():
            yield from _matchers(item)


class Matching:
    """One vector's comparison of lines with expectations, and the names bound on the way."""

    def __init__(self) -> None:
        self.bound: dict[str, Any] = {}

    def check(self, expected: list[Any] | dict[str, Any], lines: list[bytes], where: str) -> None:
        """Compare all lines that came out on one side since the last check."""
        if isinstance(expected, dict):
            self._check_none(expected[NONE_OF], lines, where)
            return
        expected = [frame for item in expected for frame in _repeated(item)]
        wanted = sum(len(item[UNORDERED]) if _is_unordered(item) else 1 for item in expected)
        if wanted != len(lines):
            came = "\n".join(f"  {line.decode()}" for line in lines) or "  (nothing)"
            raise MismatchError(where, f"{wanted} frames expected, {len(lines)} came:\n{came}")
        position = 0
        for item in expected:
            if _is_unordered(item):
                count = len(item[UNORDERED])
                self._check_unordered(item[UNORDERED], lines[position : position + count], where)
                position += count
            else:
                self._check_line(item, lines[position], f"{where}[{position}]")
                position += 1

    def _check_none(self, unwanted: list[Any], lines: list[bytes], where: str) -> None:
        for line in lines:
            if any(Matching()._is(item, line, where) for item in unwanted):
                raise MismatchError(where, f"should not have come: {line.decode()}")

    def _check_unordered(self, expected: list[Any], lines: list[bytes], where: str) -> None:
        left = list(lines)
        for item in expected:
            line = next((line for line in left if self._is(item, line, where)), None)
            if line is None:
                came = "\n".join(f"  {line.decode()}" for line in left)
                raise MismatchError(where, f"none of these is {json.dumps(item)}:\n{came}")
            left.remove(line)

    def _is(self, expected: Any, line: bytes, where: str) -> bool:
        before = dict(self.bound)
        try:
            self._check_line(expected, line, where)
        except MismatchError:
            self.bound = before
            return False
        return True

    def _check_line(self, expected: Any, line: bytes, where: str) -> None:
        if is_matcher(expected) and "$line" in expected:
            if line.decode() != expected["$line"]:
                raise MismatchError(where, f"{line!r} is not the line {expected['$line']!r}")
            return
        try:
            actual = json.loads(line)
        except ValueError:
            raise MismatchError(where, f"no JSON came out: {line!r}") from None
        try:
            self.match(expected, actual, where)
        except MismatchError as mismatch:
            raise MismatchError(mismatch.where, f"{mismatch.text}\n  in {line.decode()}") from None

    def match(self, expected: Any, actual: Any, where: str) -> None:
        """Compare one value, raising `MismatchError` with the path to what differs."""
        if is_matcher(expected):
            for name, argument in expected.items():
                getattr(self, f"_match_{name[1:]}")(argument, actual, where)
        elif isinstance(expected, dict) and isinstance(actual, dict):
            if expected.keys() != actual.keys():
                missing = sorted(expected.keys() - actual.keys())
                extra = sorted(actual.keys() - expected.keys())
                raise MismatchError(where, f"keys missing {missing}, not expected {extra}")
            for key, value in expected.items():
                self.match(value, actual[key], f"{where}.{key}")
        elif isinstance(expected, list) and isinstance(actual, list):
            if len(expected) != len(actual):
                raise MismatchError(where, f"{len(expected)} items expected: {actual!r}")
            for index, value in enumerate(expected):
                self.match(value, actual[index], f"{where}[{index}]")
        elif not _same(expected, actual):
            raise MismatchError(where, f"{expected!r} expected, {actual!r} came")

    def _match_any(self, kind: str, actual: Any, where: str) -> None:
        if not _is_a(kind, actual):
            raise MismatchError(where, f"a value of type {kind} expected, {actual!r} came")

    def _match_same(self, name: str, actual: Any, where: str) -> None:
        bound = self.bound.setdefault(name, actual)
        if not _same(bound, actual):
            raise MismatchError(where, f"{name} is {bound!r}, {actual!r} came")

    def _match_sentence(self, wanted: bool, actual: Any, where: str) -> None:
        sentence = (
            isinstance(actual, str)
            and bool(actual.strip())
            and len(actual) <= MAX_SENTENCE_CHARACTERS
            and "[" not in actual
        )
        if sentence is not wanted:
            raise MismatchError(where, f"a sentence for people expected, {actual!r} came")

    def _match_contains(self, expected: dict[str, Any], actual: Any, where: str) -> None:
        if not isinstance(actual, dict):
            raise MismatchError(where, f"an object expected, {actual!r} came")
        for key, value in expected.items():
            if key not in actual:
                raise MismatchError(where, f"no {key!r} in {sorted(actual)}")
            self.match(value, actual[key], f"{where}.{key}")

    def _match_without(self, keys: list[str], actual: Any, where: str) -> None:
        if present := sorted(set(keys).intersection(actual)):
            raise MismatchError(where, f"{present} should not be there")

    def _match_lacks(self, text: str, actual: Any, where: str) -> None:
        if text in json.dumps(actual, ensure_ascii=False):
            raise MismatchError(where, f"{text!r} should not be in it")

    def _match_max_bytes(self, limit: int, actual: Any, where: str) -> None:
        size = len(json.dumps(actual, ensure_ascii=False, separators=(",", ":")).encode())
        if size > limit:
            raise MismatchError(where, f"{size} bytes, more than {limit}")

    def fill(self, value: Any) -> Any:
        """The frame to send: each `$same` replaced by what its name was bound to."""
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {REPEAT, TIMES}:
            return value[REPEAT] * value[TIMES]
        if is_matcher(value):
            if value.keys() != {"$same"} or value["$same"] not in self.bound:
                raise BadVectorError("a step", f"cannot send {value}")
            return self.bound[value["$same"]]
        return {key: self.fill(item) for key, item in value.items()}


def example(expected: Any) -> Any:
    """A value that the expectation would accept, for validation against a schema."""
    if isinstance(expected, list):
        return [example(item) for item in expected]
    if not isinstance(expected, dict):
        return expected
    if not is_matcher(expected):
        return {key: example(item) for key, item in expected.items()}
    if "$contains" in expected:
        return example(expected["$contains"])
    if "$any" in expected:
        return _EXAMPLES[expected["$any"]]
    return "Text."


def _repeated(item: Any) -> list[Any]:
    if isinstance(item, dict) and item.keys() == {FRAME, TIMES}:
        return [item[FRAME]] * item[TIMES]
    return [item]


def _is_unordered(item: Any) -> bool:
    return isinstance(item, dict) and UNORDERED in item


def _same(one: Any, other: Any) -> bool:
    """JSON equality: unlike Python's, `1` and `true` differ."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def _is_a(kind: str, value: Any) -> bool:
    if kind == "boolean" or isinstance(value, bool):
        return kind in {"boolean", "value"} and isinstance(value, bool)
    if kind == "value":
        return value is not None
    types = {"string": str, "integer": int, "number": (int, float), "object": dict, "array": list}
    return isinstance(value, types[kind])
