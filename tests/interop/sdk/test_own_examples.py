"""The official SDK's own examples as processes, their import of `run_agent` exchanged."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.interop.sdk.official import Official, require_official
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

THEIRS = "    run_agent,\n"


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
def test_an_examples_session_reads_the_same_with_the_import_exchanged(
    official: Official, examples: Path, command: tuple[str, ...]
) -> None:
    said = "hello\nhello again, ünïcödé\n"
    before = run(official, *(f"examples/{word}" for word in command), said=said)
    assert "| Agent: hello again, ünïcödé" in before
    after = run(
        official, *(str(examples / word) for word in command), said=said, PYTHONPATH=str(SOURCE)
    )
    assert after == before
