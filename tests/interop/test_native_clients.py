"""Clients on the SDKs of compiled languages, through the real sidecar, and the crate in Rust."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop import toolchain_native
from tests.kit.patience import FUSE_SECONDS
from tests.kit.programs import run_program

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

LASTWORD = [sys.executable, "-m", "lastword"]
SCRIPTED = [*LASTWORD, "agent", "healthy"]


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
def test_a_client_on_the_crate_receives_what_its_sdk_drops(
    tmp_path: Path, stop_reason: bool
) -> None:
    meta = {"agent_error": {"version": 1, "stop_reason": stop_reason}}
    turn = ("--read", "--meta", json.dumps(meta), "--prompt", "/scenario rate_limit")
    events = played(toolchain_native.require_rust(), tmp_path, *turn)
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


def read_in_rust(values: list[Any], *, thrown: bool = False) -> list[Any]:
    """What the crate makes of values; an error is read alike however an SDK hands it out."""
    del thrown
    lines = "".join(json.dumps(value) + "\n" for value in values)
    done = run(toolchain_native.require_rust("read_lines"), lines)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
