"""The tables of the guard in TypeScript are those of the package."""

from __future__ import annotations

from protocol.typescript import generate_tables


def test_the_guards_committed_tables_are_those_that_the_command_generates() -> None:
    made = generate_tables.made()
    shown = "run protocol/typescript/generate_tables.py"
    assert generate_tables.TARGET.read_text(encoding="utf-8") == made, shown
