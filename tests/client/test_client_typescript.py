"""The types and the reader for clients in TypeScript: the schema's, and of one mind with ours."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.client import read_error
from lastword.core import acp, fallback
from lastword.core.fallback import Ending, Rung
from lastword.core.handshake import ClientProfile
from lastword.core.taxonomy import Action, AgentError, ErrorType, Origin, Phase, RetrySafety
from package_venv import require_node_packages

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).resolve().parent
PROTOCOL = HERE.parents[1] / "protocol"
SOURCE = PROTOCOL / "typescript" / "agent_error.ts"
SAMPLES = HERE.parent / "core" / "classify" / "samples.jsonl"
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
    options += " --noImplicitReturns --target es2022 --module esnext --erasableSyntaxOnly"
    done = subprocess.run(
        ["node", str(compiler), *options.split(), "--outDir", str(folder), str(SOURCE)],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return (folder / "agent_error.js").rename(folder / "agent_error.mjs")


def read(compiled: Path, values: list[Any], *, thrown: bool = False) -> list[Any]:
    lines = "".join(json.dumps({"thrown": thrown, "value": value}) + "\n" for value in values)
    done = subprocess.run(
        ["node", str(HERE / "read_lines.mjs"), str(compiled)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def full(error_type: ErrorType) -> AgentError:
    return AgentError(
        type=error_type,
        message="Something failed. Try again in 20 seconds.",
        detail={"text": "429"},
        retryable=True,
        retry_after_seconds=20,
        reset_at_epoch_ms=1_790_000_000_000,
        origin=Origin.PROVIDER,
        phase=Phase.MID_OUTPUT,
        retry_safety=RetrySafety.OFFER_CONTINUE,
        action=Action.CONTINUE,
        attempts=6,
        exit_code=1,
        extra={"region": {"name": "eu"}, "constructor": 1},
    )


@cache
def frames() -> list[dict[str, Any]]:
    """Every rung for every type of failure, in both versions, with and without consent."""
    found = []
    for error_type in ErrorType:
        ending = Ending(error=full(error_type), session_id="s1", prompts=(b"2",))
        for rung in Rung:
            for dialect in (acp.V1, acp.V2):
                for accepts in (False, True):
                    client = ClientProfile(dialect=dialect, typed=True, stop_reason=accepts)
                    out = fallback.frames_for(ending, rung=rung, client=client, dialect=dialect)
                    found += [json.loads(outgoing.frame) for outgoing in out]
    return found


def as_told(value: Any) -> dict[str, Any] | None:
    error = read_error(value)
    return error and error.payload()


def test_both_readers_read_every_rung_alike(compiled: Path) -> None:
    told = read(compiled, frames())
    assert told == [as_told(frame) for frame in frames()]
    assert sum(one is not None for one in told) > 300


def test_both_readers_read_the_contracts_examples_alike(compiled: Path) -> None:
    text = (PROTOCOL / "README.md").read_text()
    lines = [json.loads(line) for line in re.findall(r"^[→←] (.*)$", text, re.MULTILINE)]
    assert read(compiled, lines) == [as_told(line) for line in lines]


def test_both_readers_read_what_the_agents_of_the_vectors_send_alike(compiled: Path) -> None:
    vectors = [v for f in (PROTOCOL / "vectors").glob("*.json") for v in json.loads(f.read_text())]
    sent = [step["agent"] for vector in vectors for step in vector["steps"] if "agent" in step]
    for frame, told in zip(sent, read(compiled, sent), strict=True):
        error = read_error(frame)
        if any(convention in str(frame) for convention in ("jetbrains", "codex")):
            continue  # single agents' own, which the small reader leaves alone
        assert (told is None) is (error is None), frame
        if error is not None and "'agent_error'" in str(frame):
            assert told == error.payload()


def test_what_an_sdk_throws_is_read(compiled: Path) -> None:
    thrown = [frame["error"] for frame in frames() if "error" in frame]
    assert read(compiled, thrown, thrown=True) == [as_told(error) for error in thrown]


ODD: list[Any] = [
    {"sessionUpdate": "agent_error", "message": "It broke.", "raw": {"status": 500}},
    {"sessionUpdate": "agent_error", "type": "error", "text": "It broke."},
    {"sessionUpdate": "agent_error", "error": {}},
    {"sessionUpdate": "agent_error"},
    *(
        {"sessionUpdate": "agent_error", "error": error}
        for error in (
            *({"type": error_type.value} for error_type in ErrorType),
            {"type": "quota", "message": " ", "phase": "later", "reason": None, "x": [1]},
            {"type": "rate_limit", "retry_after_seconds": 1.2, "attempts": -1},
            {"type": "rate_limit", "retry_after_seconds": "7", "retryable": "yes"},
            {"type": "auth", "message": "x" * 600, "retryable": None, "toString": 1},
        )
    ),
]

NOTHING: list[Any] = [
    None, 7, "text", [], {}, {"error": None}, {"result": None}, {"result": {}},
    {"method": "session/update"}, {"stopReason": "end_turn"}, {"stopReason": "refusal"},
    {"stopReason": "cancelled", "_meta": {"agent_error": {"type": "auth"}}},
    {"_meta": {"agent_error": {"version": 1}}}, {"sessionUpdate": "agent_retry", "error": {}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "error"}},
    {"sessionUpdate": "notice", "title": "x"}, {"type": "text", "text": "hello"},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
]  # fmt: skip


def test_both_readers_take_what_others_got_wrong_alike(compiled: Path) -> None:
    assert read(compiled, ODD) == [as_told(value) for value in ODD]
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
