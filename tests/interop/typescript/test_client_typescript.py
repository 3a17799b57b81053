"""The types and the reader for clients in TypeScript: the schema's, and of one mind with ours."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.client import read_error
from lastword.core.failure.taxonomy import ErrorType
from lastword.web.files import GATEWAY
from tests.kit.installs import require_node_packages
from tests.kit.places import PROTOCOL, SAMPLES
from tests.kit.programs import run_program
from tests.kit.reader_samples import (
    NOTHING,
    ODD,
    as_told,
    examples,
    frames,
    sent_by_agents,
    told_of_odd,
)
from tests.kit.reading_vectors import document, expect_error

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


def test_the_types_are_the_schemas() -> None:
    made = generator()
    types, mark, reader = SOURCE.read_text().partition(made.MARK)
    assert types == made.generated(json.loads((PROTOCOL / "schema.json").read_text())) + "\n"
    assert mark
    assert len(reader.splitlines()) < MAX_READER_LINES
    assert "import" not in reader


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader as JavaScript, once the compiler has agreed with every type in it."""
    compiler = require_node_packages(HERE) / "typescript" / "bin" / "tsc"
    folder = tmp_path_factory.mktemp("typescript")
    options = "--strict --noUnusedLocals --noUncheckedIndexedAccess --exactOptionalPropertyTypes"
    options += " --noImplicitReturns --noPropertyAccessFromIndexSignature --erasableSyntaxOnly"
    options += " --target es2022 --module esnext"
    done = run_program(
        ["node", str(compiler), *options.split(), "--outDir", str(folder), str(SOURCE), str(WORDS)],
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return (folder / "agent_error.js").rename(folder / "agent_error.mjs")


def test_the_gateways_page_has_this_reader_compiled(compiled: Path) -> None:
    assert (GATEWAY / "agent_error.js").read_bytes() == compiled.read_bytes()


def read(compiled: Path, values: list[Any], *, thrown: bool = False) -> list[Any]:
    lines = "".join(json.dumps({"thrown": thrown, "value": value}) + "\n" for value in values)
    done = run_program(
        ["node", str(HERE / "read_lines.mjs"), str(compiled)], stdin=lines, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_both_readers_read_every_rung_alike(compiled: Path) -> None:
    told = read(compiled, frames())
    assert told == [as_told(frame) for frame in frames()]
    assert sum(one is not None for one in told) > 300


def test_both_readers_read_the_contracts_examples_alike(compiled: Path) -> None:
    assert read(compiled, examples()) == [as_told(line) for line in examples()]


def test_both_readers_read_what_the_agents_of_the_vectors_send_alike(compiled: Path) -> None:
    sent = sent_by_agents()
    for frame, told in zip(sent, read(compiled, sent), strict=True):
        error = read_error(frame)
        assert (told is None) is (error is None), frame
        if error is not None and "'agent_error'" in str(frame):
            assert told == error.payload()


def test_the_reader_comes_to_what_the_vectors_have(compiled: Path) -> None:
    vectors = document()["read"]
    for vector, told in zip(
        vectors, read(compiled, [one["given"] for one in vectors]), strict=True
    ):
        expect_error(vector, told)


def test_what_an_sdk_throws_is_read(compiled: Path) -> None:
    thrown = [frame["error"] for frame in frames() if "error" in frame]
    assert read(compiled, thrown, thrown=True) == [as_told(error) for error in thrown]


def test_both_readers_take_what_others_got_wrong_alike(compiled: Path) -> None:
    assert read(compiled, ODD) == told_of_odd()
    assert read(compiled, NOTHING) == [None] * len(NOTHING)
    assert [as_told(value) for value in NOTHING] == [None] * len(NOTHING)


def test_a_bare_agents_error_is_a_failure_that_no_machine_may_retry(compiled: Path) -> None:
    bodies = [json.loads(line).get("body") for line in SAMPLES.read_text().splitlines()]
    answers = [body for body in bodies if isinstance(body, dict) and "jsonrpc" in body]
    assert len(answers) > 5
    for told in read(compiled, answers):
        assert told["type"] in set(ErrorType)
        assert told["message"]
        assert told["retry_safety"] == ("ask" if told["retryable"] else "never")
    [forbidden] = read(
        compiled, [{"code": -31050, "message": "x", "data": {"errorKind": "timeout"}}]
    )
    assert (forbidden["type"], forbidden["retryable"]) == ("timeout", False)


def test_the_command_writes_the_types_anew_and_leaves_the_reader(tmp_path: Path) -> None:
    copy = shutil.copytree(PROTOCOL, tmp_path / "protocol")
    target = copy / "typescript" / "agent_error.ts"
    reader = "".join(SOURCE.read_text().partition("// ---")[1:])
    target.write_text(f"export type Old = 1;\n{reader}")
    command = [sys.executable, str(target.parent / "generate.py")]
    subprocess.run(command, check=True, timeout=FUSE_SECONDS)
    assert target.read_bytes() == SOURCE.read_bytes()
