"""Write the types in `agent_error.ts` anew from `../schema.json`.

`python protocol/typescript/generate.py` rewrites the part above the mark in that file and in its
compiled form, which a gateway's page reads; the part below it is written by hand. Needs nothing but
Python.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE / "agent_error.ts"
SCHEMA = HERE.parent / "schema.json"
MARK = "// --- the reader, written by hand ---\n"
COMPILED_MARK = "const RETRYABLE = ["
HEAD = "// Types generated from protocol/schema.json by protocol/typescript/generate.py.\n"
PRIMITIVES = {"string": "string", "integer": "number", "boolean": "boolean"}


def generated(schema: dict[str, Any]) -> str:
    """Return every definition of the schema, and the lists for the reader, as TypeScript."""
    definitions = "".join(_definition(name, one) for name, one in schema["$defs"].items())
    lists = "".join(f"export const {n} = {value};\n" for n, value in _lists(schema).items())
    typed = lists.replace("new Map(", "new Map<string, readonly string[]>(")
    return f"{HEAD}{definitions}\n{typed}"


def compiled(schema: dict[str, Any]) -> str:
    """Return the same as the compiler would."""
    text = HEAD
    for name, one in schema["$defs"].items():
        if "enum" in one:
            words = "".join(f"    {json.dumps(word)},\n" for word in one["enum"])
            text += f"export const {_constant(name)} = [\n{words}];\n"
    return text + "".join(f"export const {n} = {value};\n" for n, value in _lists(schema).items())


def _lists(schema: dict[str, Any]) -> dict[str, str]:
    """Return the names of the payload's optional members by how their values are read."""
    payload = schema["$defs"]["AgentErrorPayload"]
    optional = [
        (name, one)
        for name, one in payload["properties"].items()
        if name not in payload["required"]
    ]
    sets = [(name, _type(one)) for name, one in optional if "$ref" in one]
    numbers = [(name, "minimum" in one) for name, one in optional if one.get("type") == "integer"]
    lists = {
        "COUNTS": [name for name, is_count in numbers if is_count],
        "WHOLES": [name for name, is_count in numbers if not is_count],
        "TEXTS": [name for name, one in optional if one.get("type") == "string"],
    }
    rows = "".join(f"    [{json.dumps(name)}, {_constant(of)}],\n" for name, of in sets)
    return {"SETS": f"new Map([\n{rows}])"} | {
        name: json.dumps(members) for name, members in lists.items()
    }


def _constant(name: str) -> str:
    return "".join(f"_{char}" if char.isupper() else char for char in name)[1:].upper()


def _definition(name: str, schema: dict[str, Any]) -> str:
    comment = f"\n/** {schema['description']} */\n"
    if "enum" in schema:
        constant = _constant(name)
        words = "".join(f"  {json.dumps(word)},\n" for word in schema["enum"])
        return (
            f"{comment}export type {name} = (typeof {constant})[number];\n"
            f"export const {constant} = [\n{words}] as const;\n"
        )
    required = schema.get("required", [])
    members = "".join(
        _comment(member) + f"  {key}{'' if key in required else '?'}: {_type(member)};\n"
        for key, member in schema["properties"].items()
    )
    return f"{comment}export interface {name} {{\n{members}  [unknown: string]: unknown;\n}}\n"


def _comment(member: dict[str, Any]) -> str:
    return f"  /** {member['description']} */\n" if "description" in member else ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(word) for word in schema.get("enum", [schema.get("const")]))
    if schema["type"] == "array":
        return f"{_type(schema['items'])}[]"
    return PRIMITIVES.get(schema["type"], "Record<string, unknown>")


def main() -> None:
    """Replace the generated parts."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    _, mark, by_hand = TARGET.read_text(encoding="utf-8").partition(MARK)
    TARGET.write_text(f"{generated(schema)}\n{mark}{by_hand}", encoding="utf-8")
    for page in (HERE.parent.parent / "src").rglob(f"{TARGET.stem}.js"):
        _, mark, by_hand = page.read_text(encoding="utf-8").partition(COMPILED_MARK)
        page.write_text(f"{compiled(schema)}{mark}{by_hand}", encoding="utf-8")


if __name__ == "__main__":
    main()
