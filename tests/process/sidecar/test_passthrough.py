"""The one guarantee that no vector can hold: as a plain pipe, lastword does nothing at all."""

from __future__ import annotations

import os
import subprocess
import sys

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


def test_passthrough_relays_every_byte_and_the_exit_status() -> None:
    agent = ["sh", "-c", "cat; echo over there >&2; exit 77"]
    done = run(["--passthrough", "--", *agent], ODD_BYTES)
    assert done.stdout == ODD_BYTES
    assert done.stderr == b"over there\n"
    assert done.returncode == 77


def test_passthrough_works_when_everything_else_is_misconfigured() -> None:
    done = run(
        ["--", "cat"],
        ODD_BYTES,
        LASTWORD_PASSTHROUGH="1",
        LASTWORD_IDLE_TIMEOUT="banana",
        LASTWORD_FALLBACK="none of these",
    )
    assert done.stdout == ODD_BYTES
    assert done.returncode == 0
