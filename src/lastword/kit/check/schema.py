"""ACP's own JSON Schema, for the messages that an agent sends.

Owns reading the definitions in `schemas/`, which name their source and licence, and validating a
value. It supports only the keywords that they use. The checks decide what a departure means.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources
from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "null": (type(None),),
}


class Weight(IntEnum):
    """The severity of a departure."""

    UNKNOWN = 0
    """A word that a later version of the schema may define."""
    LENIENT = 1
    """Wrong, but the schema has readers ignore it."""
    WRONG = 2


@dataclass(frozen=True, slots=True)
class Departure:
    """A difference between a value and the schema.

    Attributes:
        path: The path of the member.
        what: What is wrong with it.
        weight: The severity.
    """

    path: str
    what: str
    weight: Weight = Weight.WRONG

    def __str__(self) -> str:
        return f"{self.path.lstrip('.') or 'it'} {self.what}"


@dataclass(frozen=True, slots=True)
class OfficialSchema:
    """The definitions of one protocol version.

    Attributes:
        source: The package, its version, and the file.
        answers: The definition of each result, by the client's method.
        calls: The definition of each request's and notification's params, by the agent's method.
        unstable_updates: Kinds of update that only the schema's unstable form has.
        definitions: The definitions, by name.
    """

    source: str
    answers: dict[str, str]
    calls: dict[str, str]
    unstable_updates: tuple[str, ...]
    definitions: dict[str, Schema]

    def departures(self, name: str, value: object) -> list[Departure]:
        """Return every difference between a value and a definition."""
        return self._walk({"ref": name}, value, "")

    def _walk(self, schema: Schema, value: Any, path: str) -> list[Departure]:
        departures = self._departures(schema, value, path)
        if schema.get("lenient"):
            return [Departure(d.path, d.what, min(d.weight, Weight.LENIENT)) for d in departures]
        return departures

    def _departures(self, schema: Schema, value: Any, path: str) -> list[Departure]:
        if "ref" in schema:
            return self._walk(self.definitions[schema["ref"]], value, path)
        if "type" in schema and not _is_a(schema["type"], value):
            kind = next(name for name in _TYPES if _is_a(name, value))
            kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            return [Departure(path, f"is {kind}, not {' or '.join(kinds)}")]
        words = [schema["const"]] if "const" in schema else schema.get("enum")
        if words is not None and value not in words:
            return [Departure(path, f"is {_short(value)}, not {_short(words[0])}", Weight.UNKNOWN)]
        departures: list[Departure] = []
        least = max(schema.get("minLength", 0), schema.get("minItems", 0))
        if isinstance(value, (int, float)) and value < schema.get("minimum", value):
            departures.append(Departure(path, f"is less than {schema['minimum']}"))
        elif isinstance(value, (int, float)) and value > schema.get("maximum", value):
            departures.append(Departure(path, f"is more than {schema['maximum']}"))
        elif isinstance(value, (str, list)) and len(value) < least:
            departures.append(Departure(path, "is too short"))
        if isinstance(value, dict):
            missing = [name for name in schema.get("required", ()) if name not in value]
            departures += [Departure(f"{path}.{name}", "is missing") for name in missing]
            properties, others = schema.get("properties", {}), schema.get("additionalProperties")
            for name, member in value.items():
                definition = properties.get(name, others)
                if isinstance(definition, dict):
                    departures += self._walk(definition, member, f"{path}.{name}")
        if isinstance(value, list) and "items" in schema:
            for number, item in enumerate(value):
                departures += self._walk(schema["items"], item, f"{path}[{number}]")
        for part in schema.get("allOf", ()):
            departures += self._walk(part, value, path)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                departures += self._one_of(schema[key], value, path)
        if "not" in schema and not self._walk(schema["not"], value, path):
            departures.append(Departure(path, "has a value that is excluded"))
        return departures

    def _one_of(self, branches: list[Schema], value: Any, path: str) -> list[Departure]:
        """Return the departures from the closest branch, none if one fits."""
        tried = [self._walk(branch, value, path) for branch in branches]
        if not all(tried):
            return []
        # Constants identify a branch, so report the departures from the intended one.
        named = [_has_constants(branch, value) for branch in branches]
        if True in named:
            return tried[named.index(True)]
        unnamed = [
            departures for name, departures in zip(named, tried, strict=True) if name is None
        ]
        if unnamed:
            return min(unnamed, key=len)
        unknown = [d for departures in tried for d in departures if d.weight is Weight.UNKNOWN]
        if not unknown:
            return tried[0]
        given = unknown[0].what.partition(", not ")[0]
        return [Departure(unknown[0].path, f"{given}, which the schema has not", Weight.UNKNOWN)]


def _has_constants(branch: Schema, value: Any) -> bool | None:
    """Return whether a value has the constants that identify a branch; `None` without any."""
    if "const" in branch:
        return bool(value == branch["const"])
    members = branch.get("properties", {}).items()
    named = {name: member["const"] for name, member in members if "const" in member}
    if not named:
        return None
    return isinstance(value, dict) and all(value.get(name) == named[name] for name in named)


def _is_a(kind: str | list[str], value: object) -> bool:
    kinds = [kind] if isinstance(kind, str) else kind
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, float) and "integer" in kinds and value.is_integer():
        return True
    return any(isinstance(value, _TYPES[each]) for each in kinds)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004


@cache
def official(version: int) -> OfficialSchema:
    """Return the schema of a protocol version, 1 or 2."""
    folder = resources.files("lastword.kit.check") / "schemas"
    given = json.loads((folder / f"v{version}.json").read_text("utf-8"))
    return OfficialSchema(
        given["source"],
        given["answers"],
        given["calls"],
        tuple(given["unstable_updates"]),
        given["definitions"],
    )
