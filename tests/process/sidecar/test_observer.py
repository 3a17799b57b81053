"""An agent whose runtime reports its requests: a stand-in that writes the reports itself.

It does not read PYTHONPATH, and so keeps what tells it where to.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import RETRY, is_retry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

AGENT = r"""#!PYTHON -I
import json, os, sys
mode, variable, prompt = os.environ["MODE"], os.environ.get("LASTWORD_OBSERVER"), None
if mode == "cannot start" and variable:
    sys.exit(1)
reports = os.open(json.loads(variable)["pipe"], os.O_WRONLY | os.O_NONBLOCK) if variable else None

def report(event, number=1, **members):
    if reports is not None:
        line = {"pid": os.getpid(), "event": event, "id": number, **members}
        os.write(reports, json.dumps(line).encode() + b"\n")

def fail(number):
    path = "/v1/chat/completions"
    report("request", number, method="POST", host="api.example.com", path=path, model=True)
    report("status", number, status=429, headers={"retry-after": "9"})
    report("body", number, text='{"error": {"type": "rate_limit_error", "message": "Slow down."}}')
    report("end", number)

def say(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)

for frame in sys.stdin:
    message = json.loads(frame)
    method = message.get("method")
    if method == "initialize":
        say(id=message["id"], result={"protocolVersion": 1})
    elif method == "session/new":
        say(id=message["id"], result={"sessionId": "s1"})
    elif method == "session/prompt":
        prompt = message["id"]
        if reports is not None:
            os.write(reports, b'{"pid": 1, "event": []}\n' + b"\xff" * 9000 + b"\n[" * 500 + b"\n")
        fail(1)
    elif method == "_agent/go":
        fail(2)
        say(id=prompt, result={"stopReason": "end_turn"})
"""


@pytest.fixture
def observed(start: Start, tmp_path: Path) -> Callable[..., SidecarClient]:
    program = tmp_path / "agent"
    program.write_text(AGENT.replace("PYTHON", sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    pipes = tmp_path / "pipes"
    pipes.mkdir()

    def starts(mode: str, evidence: str = "inside") -> SidecarClient:
        environment = {"MODE": mode, "TMPDIR": str(pipes)}
        client = start.command(
            [str(program)], environment=environment, options=("--evidence", evidence)
        )
        client.open(**RETRY)
        return client

    return starts


def test_a_hidden_retry_is_shown_and_the_empty_answer_after_it_typed(
    observed: Callable[..., SidecarClient], tmp_path: Path
) -> None:
    client = observed("as ever")
    assert os.listdir(tmp_path / "pipes") == []
    prompt = client.prompt()
    retry = client.expect(is_retry)["params"]["update"]
    assert (retry["attempt"], retry["error"]["type"]) == (2, "rate_limit")
    client.go_on()
    payload = client.answer(prompt)["error"]["data"]["agent_error"]
    assert (payload["type"], payload["provider_code"]) == ("rate_limit", "rate_limit_error")
    retries = [frame["params"]["update"] for frame in client.frames if is_retry(frame)]
    assert [retry["attempt"] for retry in retries] == [2, 3]
    assert "lastword:" not in client.said, "garbage between the reports is no matter"


@pytest.mark.parametrize(("mode", "evidence"), [("as ever", "beside"), ("cannot start", "inside")])
def test_an_agent_is_observed_only_on_request_and_if_it_can_start_so(
    observed: Callable[..., SidecarClient], mode: str, evidence: str
) -> None:
    client = observed(mode, evidence)
    prompt = client.prompt()
    client.go_on()
    assert client.answer(prompt)["error"]["data"]["agent_error"]["type"] == "unknown"
