"""The one guarantee that no vector can hold: as a plain pipe, lastword does nothing at all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.kit.patience import FUSE_SECONDS

ODD_BYTES = b'{"jsonrpc":"2.0"}\r\nno json \xff\xfe\n[1]\n\n{"id": 1 , "result":{}}\nno line end'


def run(
    arguments: list[str], data: bytes, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lastword", "run", *arguments]
    return subprocess.run(
        command,
        input=data,
        capture_output=True,
        env=os.environ | environment,
        timeout=FUSE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("status", [0, 3, 77])
def test_passthrough_moves_every_byte_and_the_exit_status(status: int) -> None:
    agent = ["sh", "-c", f"cat; echo over there >&2; exit {status}"]
    done = run(["--passthrough", "--", *agent], ODD_BYTES)
    assert done.stdout == ODD_BYTES
    assert done.stderr == b"over there\n"
    assert done.returncode == status


def test_passthrough_can_be_asked_for_in_the_environment() -> None:
    done = run(["--", "cat"], ODD_BYTES, LASTWORD_PASSTHROUGH="1")
    assert done.stdout == ODD_BYTES


def test_passthrough_holds_when_everything_else_is_misconfigured() -> None:
    done = run(
        ["--passthrough", "--", "cat"],
        ODD_BYTES,
        LASTWORD_IDLE_TIMEOUT="banana",
        LASTWORD_FALLBACK="none of these",
    )
    assert done.stdout == ODD_BYTES
    assert done.returncode == 0
