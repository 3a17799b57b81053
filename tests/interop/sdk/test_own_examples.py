"""The official SDK's own examples as processes, their import of `run_agent` exchanged."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.interop.sdk.official import Official, require_official
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

THEIRS = "    run_agent,\n"
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


@pytest.fixture(scope="module")
def official() -> Official:
    return require_official()


@pytest.fixture
def examples(official: Official, tmp_path: Path) -> Path:
    """The examples, each agent with its import exchanged."""
    folder = tmp_path / "examples"
    shutil.copytree(official.source / "examples", folder)
    for name in ("agent.py", "echo_agent.py"):
        text = (folder / name).read_text()
        assert text.count(THEIRS) == 1
        exchanged = text.replace(THEIRS, "").replace(
            "\nfrom acp import (", "\nfrom lastword import run_agent\nfrom acp import ("
        )
        assert exchanged.count("import run_agent") == 1
        (folder / name).write_text(exchanged)
    return folder


def run(official: Official, *command: str, said: str, **environment: str) -> str:
    done = official.run(
        command, guarded=False, environment=environment, said=said, fuse=FUSE_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "command",
    [("duet.py",), ("client.py", "echo_agent.py"), ("client.py", "agent.py")],
    ids=" ".join,
)
def test_a_session_of_an_example_reads_the_same_with_the_import_exchanged(
    official: Official, examples: Path, command: tuple[str, ...]
) -> None:
    said = "hello\nhello again, ünïcödé\n"
    before = run(official, *(f"examples/{word}" for word in command), said=said)
    assert "| Agent: hello again, ünïcödé" in before
    after = run(
        official, *(str(examples / word) for word in command), said=said, PYTHONPATH=str(SOURCE)
    )
    assert after == before


@pytest.mark.parametrize("name", ["agent.py", "echo_agent.py"])
def test_an_exchanged_example_says_that_no_turn_of_it_ends_in_silence(
    official: Official, examples: Path, name: str
) -> None:
    hello = json.dumps(INITIALIZE) + "\n"
    before = json.loads(run(official, f"examples/{name}", said=hello))
    after = json.loads(run(official, str(examples / name), said=hello, PYTHONPATH=str(SOURCE)))
    promise = after["result"]["agentCapabilities"].pop("_meta")
    assert promise["agent_error"]["version"] == 1
    before["result"].setdefault("agentCapabilities", {})
    assert after == before
