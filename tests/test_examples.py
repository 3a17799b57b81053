"""Every example runs, prints what it promises, and stays short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {"typed_client.py": ("agent_crash: ", "the turn ended: ")}


def test_every_example_is_run_here() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs_and_says_what_it_promises(name: str) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    for words in SAYS[name]:
        assert words in done.stdout


@pytest.mark.parametrize("name", SAYS)
def test_an_example_is_under_sixty_lines(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) < 60


def test_the_demo_ends_every_turn_typed_and_in_time() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lastword", "demo"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\033" not in done.stdout
    for words in ("type: rate_limit", "yes, after 20 s", "type: agent_crash", "no answer: after"):
        assert words in done.stdout
