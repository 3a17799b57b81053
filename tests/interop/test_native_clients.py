"""Clients on the SDKs of compiled languages, through the real sidecar, and the crate in Rust."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword.client import read_error
from lastword.core.failure.taxonomy import Action, Origin, Phase, RetrySafety
from tests.interop import toolchain_native
from tests.kit.installs import MissingError
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import PROTOCOL, ROOT
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
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

LASTWORD = [sys.executable, "-m", "lastword"]
SCRIPTED = [*LASTWORD, "agent", "healthy"]
CLIENTS: dict[str, Callable[[], list[str]]] = {
    "rust": toolchain_native.require_rust_client,
    "go": toolchain_native.require_go_client,
    "kotlin": toolchain_native.require_kotlin_client,
}


def run(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return run_program(command, stdin=text, check=False, timeout=4 * FUSE_SECONDS)


def played(
    client: list[str], folder: Path, *options: str, agent: list[str] = SCRIPTED
) -> list[dict[str, Any]]:
    fuse = ("--turn-timeout", str(FUSE_SECONDS), "--cwd", str(folder))
    done = run([*client, *options, *fuse, "--", *LASTWORD, "run", "--", *agent])
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def named(events: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] in names]


@pytest.mark.parametrize("stop_reason", [False, True])
def test_a_client_that_uses_the_crate_hears_what_its_sdk_drops(
    tmp_path: Path, stop_reason: bool
) -> None:
    meta = {"agent_error": {"version": 1, "stop_reason": stop_reason}}
    turn = ("--read", "--meta", json.dumps(meta), "--prompt", "/scenario rate_limit")
    events = played(toolchain_native.require_rust_client(), tmp_path, *turn)
    of_update, of_answer = named(events, "read")
    assert of_update["error"] == of_answer["error"]
    assert of_update["type"] == "rate_limit"
    assert not named(events, "update")
    [ended] = named(events, "answer", "error")
    assert ended["event"] == ("answer" if stop_reason else "error")


# --- the crate in Rust ---------------------------------------------------------------------------


def test_the_crate_passes_its_own_tests_and_runs_the_examples_of_its_documentation() -> None:
    done = run(toolchain_native.require_crate_tests())
    assert done.returncode == 0, done.stdout + done.stderr


def read(values: list[Any]) -> list[Any]:
    lines = "".join(json.dumps(value) + "\n" for value in values)
    done = run(toolchain_native.require_rust_reader(), lines)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_rust_reader_reads_every_rung_and_the_contracts_examples_as_ours() -> None:
    values = [*frames(), *examples()]
    told = read(values)
    assert told == [as_told(value) for value in values]
    assert sum(one is not None for one in told) > 300


def test_the_rust_reader_reads_what_the_agents_of_the_vectors_send_as_ours() -> None:
    sent = sent_by_agents()
    for frame, told in zip(sent, read(sent), strict=True):
        error = read_error(frame)
        assert (told is None) is (error is None), frame
        if error is not None and "'agent_error'" in str(frame):
            assert told == error.payload()


def test_the_rust_reader_takes_what_others_got_wrong_as_ours() -> None:
    assert read(ODD) == told_of_odd()
    assert read(NOTHING) == [None] * len(NOTHING)


def test_the_rust_reader_comes_to_what_the_vectors_have() -> None:
    vectors = document()["read"]
    for vector, told in zip(vectors, read([one["given"] for one in vectors]), strict=True):
        expect_error(vector, told)


def test_the_rust_reader_reads_errors_as_an_sdk_hands_them_out() -> None:
    errors = [frame["error"] for frame in frames() if "error" in frame]
    assert read(errors) == [as_told(error) for error in errors]
    forbidden = {"code": -31050, "message": "x", "data": {"errorKind": "timeout"}}
    [told] = read([forbidden])
    assert (told["type"], told["retryable"], told["retry_safety"]) == ("timeout", False, "never")


def test_the_rust_reader_knows_every_word_of_the_closed_sets() -> None:
    sets = {"origin": Origin, "phase": Phase, "retry_safety": RetrySafety, "action": Action}
    payloads = [
        {"type": "auth", "message": "x", "retryable": False, key: word.value}
        for key, words in sets.items()
        for word in words
    ]
    assert read(payloads) == payloads


# --- the locks -----------------------------------------------------------------------------------


def test_a_crate_of_another_content_than_the_locks_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toolchain_native.require_rust_client()
    lock = (toolchain_native.RUST / "crates.lock").read_text()
    checksum = lock.partition('checksum = "')[2].partition('"')[0]
    folder = tmp_path / toolchain_native.RUST.relative_to(ROOT)
    folder.mkdir(parents=True)
    (tmp_path / PROTOCOL.name).symlink_to(PROTOCOL)
    for path in (toolchain_native.RUST / "Cargo.toml", *toolchain_native.RUST.glob("src")):
        (folder / path.name).symlink_to(path)
    (folder / "crates.lock").write_text(lock.replace(checksum, "0" * 64))
    monkeypatch.setattr(toolchain_native, "RUST", folder)
    with pytest.raises(MissingError, match="checksum"):
        toolchain_native.build_rust()
