"""Tables of what was measured, in one file of JSON for each subject.

Owns the form of `protocol/agents.json`, `clients.json` and `faults.json`: a name, what is known of
the whole, its columns and its rows. The documentation's site shows each where a page has
`<!-- table: FILE NAME -->`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Table(msgspec.Struct, frozen=True, omit_defaults=True):
    """One table: each cell is Markdown.

    Attributes:
        columns: the headings.
        rows: the cells of each row.
        package: the package that the whole table is about.
        version: that package's.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    package: str = ""
    version: str = ""


def load(path: Path) -> dict[str, Table]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Table])


def save(path: Path, tables: Mapping[str, Table]) -> None:
    """Put tables into a file, in place of those of their names; a row is a line."""
    parts = []
    for name, table in (load(path) | dict(tables)).items():
        whole = msgspec.to_builtins(table)
        rows = ",\n".join(f"   {_text(row)}" for row in whole.pop("rows"))
        facts = "".join(f"  {_text(key)}: {_text(fact)},\n" for key, fact in whole.items())
        parts.append(f' {_text(name)}: {{\n{facts}  "rows": [\n{rows}\n  ]\n }}')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
