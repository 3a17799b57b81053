"""Write the types in `agent_error.ts` anew from `../schema.json`.

`python protocol/typescript/generate.py` rewrites what stands above the mark in that file; what
stands below it is written by hand. Needs nothing but Python.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE / "agent_error.ts"
SCHEMA = HERE.parent / "schema.json"
MARK = "// --- the reader, written by hand ---\n"
HEAD = "// Types generated from protocol/schema.json by protocol/typescript/generate.py.\n"
PRIMITIVES = {"string": "string", "integer": "number", "boolean": "boolean"}


def generated(schema: dict[str, Any]) -> str:
    """Every definition of the schema as TypeScript."""
    return HEAD + "".join(_definition(name, one) for name, one in schema["$defs"].items())


def _definition(name: str, schema: dict[str, Any]) -> str:
    comment = f"\n/** {schema['description']} */\n"
    if "enum" in schema:
        constant = "".join(f"_{char}" if char.isupper() else char for char in name)[1:].upper()
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
    """Replace the generated part."""
    _, mark, by_hand = TARGET.read_text(encoding="utf-8").partition(MARK)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    TARGET.write_text(f"{generated(schema)}\n{mark}{by_hand}", encoding="utf-8")


if __name__ == "__main__":
    main()
