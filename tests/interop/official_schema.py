"""The official JSON Schemas in the form in which `lastword check` carries them.

Owns the way from the schemas of the official TypeScript SDK, which the interop tests install, to
`src/lastword/kit/check/schemas/`: the definitions of what an agent sends, without their
descriptions. `python -m tests.interop.official_schema` writes them anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.interop.toolchain import require_node
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

Schema = dict[str, Any]

CARRIED = SOURCE / "lastword" / "kit" / "check" / "schemas"
KEYWORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "const", "enum"),
    *("allOf", "anyOf", "oneOf", "not", "minimum", "maximum", "minLength", "minItems"),
}
"""What `lastword.kit.check.schema` reads; all else in a definition is for people and tools."""

LENIENT = "x-deserialize-default-on-error"


def official_folder() -> Path:
    return require_node() / "@agentclientprotocol" / "sdk"


def carried(folder: Path, version: int) -> str:
    """One version's schema as the package has it: a line for each definition."""
    package = json.loads((folder / "package.json").read_text())
    whole = _definitions(folder / "schema" / f"v{version}" / "schema.json")
    unstable = _definitions(folder / "schema" / f"v{version}" / "schema.unstable.json")
    answers, calls = {}, {}
    for name, definition in whole.items():
        method, side = definition.get("x-method"), definition.get("x-side")
        is_answer = name.endswith("Response")
        if side == "agent" and is_answer:
            answers[method] = name
        elif side in {"client", "protocol"} and not is_answer:
            calls[method] = name
    head = {
        "source": f"{package['name']} {package['version']}, schema/v{version}/schema.json",
        "license": f"{package['license']}, {package['author']}",
        "answers": answers,
        "calls": calls,
        "unstable_updates": sorted(_updates(unstable) - _updates(whole)),
    }
    needed = _closed(whole, {*answers.values(), *calls.values()})
    lines = [f'"{key}":{_dumped(value)}' for key, value in head.items()]
    rows = ",\n".join(f'"{name}":{_dumped(needed[name])}' for name in sorted(needed))
    return "{\n" + ",\n".join(lines) + ',\n"definitions":{\n' + rows + "\n}}\n"


def _definitions(path: Path) -> Schema:
    definitions: Schema = json.loads(path.read_text())["$defs"]
    return definitions


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _updates(definitions: Schema) -> set[str]:
    update = definitions["SessionUpdate"]
    branches = [branch.get("properties", {}) for branch in update.get("oneOf", update.get("anyOf"))]
    kinds = {branch.get("sessionUpdate", {}).get("const") for branch in branches}
    return kinds - {None}


def _closed(definitions: Schema, names: set[str]) -> Schema:
    """The definitions of these names, and of all that they name."""
    found: Schema = {}
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found[name] = _reduced(definitions[name], left)
    return found


def _reduced(schema: Any, named: list[str]) -> Any:
    if isinstance(schema, list):
        return [_reduced(each, named) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reduced: Schema = {}
    for key, value in schema.items():
        if key == "$ref":
            named.append(value.rpartition("/")[2])
            reduced["ref"] = named[-1]
        elif key == LENIENT and value:
            reduced["lenient"] = True
        elif key == "properties":
            reduced[key] = {name: _reduced(each, named) for name, each in value.items()}
        elif key in {"const", "enum", "type", "required"}:
            reduced[key] = value
        elif key in KEYWORDS:
            reduced[key] = _reduced(value, named)
    return reduced


if __name__ == "__main__":
    for number in (1, 2):
        (CARRIED / f"v{number}.json").write_text(carried(official_folder(), number))
