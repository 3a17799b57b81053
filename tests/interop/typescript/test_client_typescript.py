"""The types and the reader for clients in TypeScript: the schema's, and of one mind with ours."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from lastword.web.files import GATEWAY
from tests.interop.typescript.guard import compile_ts
from tests.kit.places import PROTOCOL
from tests.kit.programs import run_program

HERE = Path(__file__).resolve().parent
SOURCE = PROTOCOL / "typescript" / "agent_error.ts"
WORDS = PROTOCOL / "typescript" / "transport_words.ts"
MAX_READER_LINES = 100


def compile_reader(folder: Path) -> Path:
    """The reader as JavaScript, once the compiler has agreed with every type in it."""
    options = "--strict --noUnusedLocals --noUncheckedIndexedAccess --exactOptionalPropertyTypes"
    options += " --noImplicitReturns --noPropertyAccessFromIndexSignature --erasableSyntaxOnly"
    options += " --target es2022 --module esnext"
    compile_ts(*options.split(), "--outDir", str(folder), str(SOURCE), str(WORDS))
    return (folder / "agent_error.js").rename(folder / "agent_error.mjs")


def test_the_gateways_page_uses_this_reader_compiled(tmp_path: Path) -> None:
    compiled = compile_reader(tmp_path)
    assert (GATEWAY / "agent_error.js").read_bytes() == compiled.read_bytes()


def read_in_typescript(compiled: Path, values: list[Any], *, thrown: bool = False) -> list[Any]:
    lines = "".join(json.dumps({"thrown": thrown, "value": value}) + "\n" for value in values)
    done = run_program(
        ["node", str(HERE / "read_lines.mjs"), str(compiled)], stdin=lines, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_command_makes_the_types_of_the_schema_and_leaves_the_reader(tmp_path: Path) -> None:
    copy = shutil.copytree(PROTOCOL, tmp_path / "protocol")
    target = copy / "typescript" / "agent_error.ts"
    reader = "".join(SOURCE.read_text().partition("// ---")[1:])
    assert len(reader.splitlines()) < MAX_READER_LINES
    assert "import" not in reader
    target.write_text(f"export type Old = 1;\n{reader}")
    run_program([sys.executable, str(target.parent / "generate.py")])
    assert target.read_bytes() == SOURCE.read_bytes()
