"""The types and the reader for clients in TypeScript: the schema's, and of one mind with ours."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.web.files import GATEWAY
from tests.kit.installs import require_node_packages
from tests.kit.places import PROTOCOL
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).resolve().parent
SOURCE = PROTOCOL / "typescript" / "agent_error.ts"
WORDS = PROTOCOL / "typescript" / "transport_words.ts"
FUSE_SECONDS = 120
MAX_READER_LINES = 100


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", SOURCE.parent / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_types_are_generated_from_the_schema() -> None:
    made = generator()
    types, mark, reader = SOURCE.read_text().partition(made.MARK)
    assert types == made.generated(json.loads((PROTOCOL / "schema.json").read_text())) + "\n"
    assert mark
    assert len(reader.splitlines()) < MAX_READER_LINES
    assert "import" not in reader


def compile_reader(folder: Path) -> Path:
    """The reader as JavaScript, once the compiler has agreed with every type in it."""
    compiler = require_node_packages(HERE) / "typescript" / "bin" / "tsc"
    options = "--strict --noUnusedLocals --noUncheckedIndexedAccess --exactOptionalPropertyTypes"
    options += " --noImplicitReturns --noPropertyAccessFromIndexSignature --erasableSyntaxOnly"
    options += " --target es2022 --module esnext"
    done = run_program(
        ["node", str(compiler), *options.split(), "--outDir", str(folder), str(SOURCE), str(WORDS)],
        check=False,
    )
    assert done.returncode == 0, done.stdout
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


def test_the_command_regenerates_the_types_and_leaves_the_reader(tmp_path: Path) -> None:
    copy = shutil.copytree(PROTOCOL, tmp_path / "protocol")
    target = copy / "typescript" / "agent_error.ts"
    reader = "".join(SOURCE.read_text().partition("// ---")[1:])
    target.write_text(f"export type Old = 1;\n{reader}")
    command = [sys.executable, str(target.parent / "generate.py")]
    subprocess.run(command, check=True, timeout=FUSE_SECONDS)
    assert target.read_bytes() == SOURCE.read_bytes()
