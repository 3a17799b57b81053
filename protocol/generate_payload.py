"""Write what follows from the payload's members, `core.failure.members`.

`python protocol/generate_payload.py` writes the fields of `AgentError` and of the public model,
`schema.json`, the types in TypeScript, their compiled form in the gateway's page, the members in
Rust, and the table of members in `README.md`; a test holds that all of it is up to date.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from lastword.core.failure.members import MEMBERS, PayloadMember, ValueForm

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "lastword"
ERROR = PACKAGE / "core" / "failure" / "taxonomy.py"
MODEL = PACKAGE / "client" / "model.py"
SCHEMA = HERE / "schema.json"
CONTRACT = HERE / "README.md"

BEGIN = "    # Generated from core/failure/members.py by protocol/generate_payload.py.\n"
END = "    # End of what is generated.\n"
RUST_BEGIN, RUST_END = (line.replace("#", "//") for line in (BEGIN, END))
RUST = HERE / "rust" / "src" / "error.rs"
TABLE_HEAD = "| member | value | what it says |\n|---|---|---|\n"

_TYPES = {
    ValueForm.SENTENCE: "str",
    ValueForm.DETAIL: "dict[str, Any]",
    ValueForm.FLAG: "bool",
    ValueForm.COUNT: "int",
    ValueForm.WHOLE: "int",
    ValueForm.TEXT: "str",
}
_RUST_TYPES = {
    ValueForm.DETAIL: "Map<String, Value>",
    ValueForm.COUNT: "u64",
    ValueForm.WHOLE: "i64",
    ValueForm.TEXT: "String",
}
_MODEL_TYPES = {ValueForm.SENTENCE: "_Sentence", ValueForm.COUNT: "_Count", ValueForm.TEXT: "_Text"}
"""Those of the public model, where a bound belongs to the type."""


def made() -> dict[Path, str]:
    """Return what each file is to hold, but for the schema and what follows from it."""
    return {
        ERROR: _between(ERROR, BEGIN, END, "".join(map(_field, MEMBERS))),
        MODEL: _between(MODEL, BEGIN, END, "".join(map(_model_field, MEMBERS))),
        RUST: _between(RUST, RUST_BEGIN, RUST_END, "".join(map(_rust_field, MEMBERS))),
        CONTRACT: _between(CONTRACT, TABLE_HEAD, "\n\n", "\n".join(map(_row, MEMBERS))),
    }


def _between(path: Path, begin: str, end: str, text: str) -> str:
    before, head, rest = path.read_text(encoding="utf-8").partition(begin)
    _, tail, after = rest.partition(end)
    return f"{before}{head}{text}{tail}{after}"


def _type(member: PayloadMember) -> str:
    return member.words.__name__ if member.words else _TYPES[member.form]


def _field(member: PayloadMember) -> str:
    return f"    {member.name}: {_type(member)}{'' if member.required else ' | None = None'}\n"


def _model_field(member: PayloadMember) -> str:
    of = _MODEL_TYPES.get(member.form, _type(member))
    of += "" if member.required or member.form in {ValueForm.COUNT, ValueForm.TEXT} else " | None"
    field = f"Field(description={json.dumps(member.description, ensure_ascii=False)})"
    default = "" if member.required else " = None"
    return f"    {member.name}: Annotated[\n        {of},\n        {field},\n    ]{default}\n"


def _rust_field(member: PayloadMember) -> str:
    if member.required:
        return ""
    of = member.words.__name__ if member.words else _RUST_TYPES[member.form]
    return f"    /// {member.description}\n    {member.name}: {of},\n"


def _row(member: PayloadMember) -> str:
    name = f"`{member.name}`" + (", required" if member.required else "")
    return f"| {name} | {member.form.value} | {member.description} |"


def main() -> None:
    """Write all of it."""
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
    # The model's new fields are seen by another process alone.
    schema = subprocess.run(
        [sys.executable, "-m", "lastword.client.model"], check=True, capture_output=True, text=True
    ).stdout
    SCHEMA.write_text(schema, encoding="utf-8")
    command = [sys.executable, HERE / "typescript" / "generate.py"]
    subprocess.run(command, check=True)  # noqa: S603 - our own program


if __name__ == "__main__":
    main()
