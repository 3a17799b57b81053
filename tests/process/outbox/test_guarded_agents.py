"""Agents that run lastword in their own process report by the environment."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.kit.collector import Collector
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import is_recorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGENT = """
import asyncio, lastword

async def new_session(client):
    return {"sessionId": "1"}

async def prompt(client, session_id, prompt):
    raise RuntimeError("429 Too Many Requests SECRET-WORDS-OF-MINE")

asyncio.run(lastword.serve({"session/new": new_session, "session/prompt": prompt}))
"""


def frame(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


@contextlib.contextmanager
def played(state: Path, **variables: str) -> Iterator[None]:
    """An agent whose turn has failed, and which is still there."""
    with subprocess.Popen(
        [sys.executable, "-c", AGENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"LASTWORD_STATE_DIR": str(state), "no_proxy": "127.0.0.1"} | variables,
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        for each in (
            frame(0, "initialize", protocolVersion=1),
            frame(1, "session/new", cwd="/tmp", mcpServers=[]),
            frame(2, "session/prompt", sessionId="1", prompt=[{"type": "text", "text": "x"}]),
        ):
            agent.stdin.write(each + b"\n")
            agent.stdin.flush()
            while f'"id":{json.loads(each)["id"]}'.encode() not in agent.stdout.readline():
                continue
        yield
        agent.stdin.close()
        agent.wait(FUSE_SECONDS)


def test_a_raising_handler_is_reported_without_its_words_even_without_a_record(
    tmp_path: Path,
) -> None:
    with Collector() as collector:
        variables = {"LASTWORD_REPORT_TO": collector.url, "LASTWORD_NO_RECORD": "1"}
        with played(tmp_path, **variables):
            (came,) = collector.expect(1)
    assert came.facts["error.type"] == "rate_limit"
    assert b'"serve"' in came.body
    assert b"SECRET-WORDS" not in came.body
    assert not is_recorded(tmp_path)


def test_no_report_is_made_without_a_valid_address(tmp_path: Path) -> None:
    with played(tmp_path, LASTWORD_REPORT_TO="nowhere"):
        pass
    assert not list(tmp_path.glob("outbox*"))
