"""Every example runs, prints what it promises, and stays short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from package_venv import require_packages

TESTS = Path(__file__).parent
EXAMPLES = TESTS.parent / "examples"
CLIENT = "typed_client.py"
CLIENTS = (CLIENT, "client_sdk.py", "tested_agent.py")
"""Those that are run by themselves."""

SAYS = {
    CLIENT: ("agent_crash: ", "the turn ended: "),
    "client_sdk.py": ("RateLimited: ", "[Try again] retry in 18 s", "no need to ask"),
    "tested_agent.py": ("The turn failed after ", "tried again once", "is safe"),
    "bare_agent.py": ("it says: You asked", "rate_limit: ", "ask before trying again"),
    "sdk_agent.py": ("network: ",),
    "streaming_tools_agent.py": ("it says: ", "timeout: ", "ask before trying again"),
    "retrying_agent.py": ("trying again in ", "provider_unavailable", "end_turn"),
    "pydantic_ai_agent.py": ("budget: ",),
}
"""What each example prints: the agents behind the first client, which is an example itself."""

NEEDS_PACKAGES = frozenset({"retrying_agent.py", "pydantic_ai_agent.py"})


def test_every_example_is_run_here() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs_and_says_what_it_promises(name: str) -> None:
    command = [sys.executable, str(EXAMPLES / (name if name in CLIENTS else CLIENT))]
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent / "src")}
    environment.pop("OPENAI_BASE_URL", None)
    if name not in CLIENTS:
        python = require_packages(TESTS / "guard") if name in NEEDS_PACKAGES else sys.executable
        command += ["--", str(python), str(EXAMPLES / name)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
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
