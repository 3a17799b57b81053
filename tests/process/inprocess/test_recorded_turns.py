"""The guard and `serve` keep a record as the sidecar does, and no turn pays for it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import everything_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.conftest import Record, Start


@pytest.fixture(params=["sdk", "asyncio"])
def door(request: pytest.FixtureRequest) -> str:
    """The guard, and `serve` on one of its event loops."""
    name: str = request.param
    return name


def test_turns_are_recorded_with_their_door_program_and_outcome(
    start: Start, record: Record, door: str
) -> None:
    client = start().opened()
    assert not record.path.parent.exists(), "nothing is recorded before a prompt"
    client.turn("tool x")
    shown = client.turn("throttle").error["incident_id"]
    # A failure is on disk while the agent still runs.
    until = time.monotonic() + FUSE_SECONDS
    while "error" not in _kinds_so_far(record):
        assert time.monotonic() < until
    assert client.exit_status is None
    assert client.end() == 0
    assert record.outcomes == [("ok", None), ("failed", "rate_limit")]
    assert record.rows("SELECT door, program, agent, client, ended FROM runs") == [
        ("guard" if door == "sdk" else "serve", "doors", "recorded", "raw-client", 1)
    ]
    assert record.kinds[:4] == ["client_attached", "agent_ready", "session_created", "prompt"]
    assert "tool_started" in record.kinds
    assert record.kinds[-1] == "client_gone"
    assert stat.S_IMODE(record.path.stat().st_mode) == 0o600
    assert record.rows("SELECT incident_id FROM turns WHERE type IS NOT NULL") == [(shown,)]
    assert shown.startswith(record.rows("SELECT run_id FROM runs")[0][0])


def _kinds_so_far(record: Record) -> list[str]:
    try:
        return record.kinds
    except StoreError:
        return []  # there is none yet


def test_an_authors_forked_child_does_not_affect_the_record(start: Start, record: Record) -> None:
    client = start().opened()
    client.turn("throttle")
    for how in ("at_once", "by_multiprocessing"):
        client.turn(f"fork {how}")
    client.turn("say")
    assert client.end() == 0
    assert record.rows("PRAGMA integrity_check") == [("ok",)]
    assert len(record.rows("SELECT id FROM runs")) == 1
    assert record.kinds.count("prompt") == len(record.outcomes) == 4
    assert record.kinds.count("client_gone") == 1


@pytest.mark.parametrize("door", ["asyncio"])  # the SDK itself sets logging up
def test_an_agent_without_logging_writes_nothing_of_the_timeline_to_stderr(start: Start) -> None:
    client = start("quiet").opened()
    client.turn("tool x")
    client.turn("throttle")
    client.end()
    assert "session s1" not in client.said


_HANGS = """
import threading
from lastword.record.thread import recorder_thread

recorder_thread().open(threading.Event().wait)
print("done")
"""


def test_a_hanging_recorder_does_not_keep_its_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HANGS],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


# --- no secret is kept


SHAPES = CANARIES | NAMED_CANARIES
WAYS = ("tool", "throttle", "own", "say")


def leaks(kept: str) -> list[str]:
    """The shapes of which something stands in a text."""
    found = []
    for shape, canary in SHAPES.items():
        secret = canary if shape in CANARIES else PLAIN
        if secret in kept or secret[6:-2] in kept:
            found.append(shape)
    return found


@pytest.mark.parametrize(("door", "words"), [("sdk", "1"), ("asyncio", "0")])
def test_no_secret_is_stored_with_words_or_without(
    start: Start, record: Record, tmp_path: Path, words: str
) -> None:
    log = tmp_path / "log.jsonl"
    hidden = {"SOME_API_KEY": "correct horse battery", "ANTHROPIC_API_KEY": PLAIN}
    client = start("log", LOG_FILE=str(log), LASTWORD_RECORD_TEXT=words, **hidden)
    client.open()
    servers = [
        {
            "name": shape,
            "type": "http",
            "url": "http://127.0.0.1",
            "headers": [{"name": "authorization", "value": canary}],
        }
        for shape, canary in SHAPES.items()
    ]
    client.answer(client.request("session/new", cwd="/", mcpServers=servers))
    for canary in SHAPES.values():
        for way in WAYS:
            client.turn(f"{way} {canary}")
    client.turn("throttle at the correct horse battery")
    assert client.end() == 0
    assert len(record.outcomes) == len(SHAPES) * len(WAYS) + 1
    kept = everything_in(record.path.parent)
    said = log.read_text()
    # Every entry is in the author's log, and a failure's words where they were asked for.
    assert [json.loads(line)["lastword_kind"] for line in said.splitlines()] == record.kinds
    assert ("Too Many Requests" in kept) is (words == "1")
    for text in (kept, said):
        assert leaks(text) == []
        assert "horse" not in text
