"""The log of an agent that tells nobody else why its turn failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from lastword.sidecar.agent_log import MAX_NEWS_BYTES, watch_logs
from tests.kit.sidecar import SidecarClient

if TYPE_CHECKING:
    from pathlib import Path

LOGGED = """\
2026-11-20 12:32:43.377 | INFO     | kimi_cli.app:run:10 - Turn begins
2026-11-20 12:32:43.377 | ERROR    | threading:run:992 - Task exception was never retrieved
2026-11-20 12:32:43.377 | ERROR    | threading:run:992 - Traceback (most recent call last):
2026-11-20 12:32:43.377 | ERROR    | threading:run:992 -   File "a.py", line 1, in step
2026-11-20 12:32:43.377 | ERROR    | threading:run:992 -     raise convert_error(e) from e
2026-11-20 12:32:43.377 | ERROR    | threading:run:992 - kosong.APIStatusError: Error code: 429 - \
{'error': {'message': 'Rate limit reached. Please try again in 7s.', 'code': 'rate_limit_exceeded'}}
"""

AGENT = r"""
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method"), {"sessionId": "s"}
    if method == "initialize":
        result = {"protocolVersion": 1, "agentInfo": {"name": "Kimi Code CLI", "version": "1"}}
    elif method == "session/prompt":
        with open(os.environ["KIMI_SHARE_DIR"] + "/logs/kimi.log", "a") as log:
            log.write(os.environ["LOGGED"])
        result = {"stopReason": "end_turn"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KIMI_SHARE_DIR", str(tmp_path))
    (tmp_path / "logs").mkdir()
    path = tmp_path / "logs" / "kimi.log"
    path.write_text("2026-11-20 12:00:00.000 | ERROR    | x:y:1 - 401 of the day before\n")
    return path


def test_only_what_is_new_and_only_the_exception_itself_is_evidence(log: Path) -> None:
    watched = watch_logs()["kimi code cli"]
    assert watched.news() == b""
    with log.open("a") as file:
        file.write(LOGGED)
    news = watched.news().decode()
    assert news.startswith("kosong.APIStatusError: Error code: 429")
    assert news.count("\n") == 1
    assert watched.news() == b""


def test_a_log_that_is_not_there_or_grew_without_bound_is_no_trouble(log: Path) -> None:
    watched = watch_logs()["kimi code cli"]
    log.unlink()
    assert watched.news() == b""
    log.write_text("x" * (2 * MAX_NEWS_BYTES) + "\n" + LOGGED)
    assert watched.news().startswith(b"kosong.APIStatusError")


def test_a_silent_success_is_typed_by_what_the_agent_told_its_log(log: Path) -> None:
    client = SidecarClient([sys.executable, "-c", AGENT], environment={"LOGGED": LOGGED})
    try:
        client.initialize()
        client.request("session/new")
        answer = client.answer(client.prompt())
    finally:
        client.finish()
    payload = answer["error"]["data"]["agent_error"]
    assert payload["type"] == "rate_limit"
    assert payload["reason"] == "silent_success"
    assert payload["retry_after_seconds"] == 7
