"""Every example runs, prints what it promises, and stays short."""

from __future__ import annotations

import os
import sys

import pytest

from tests.kit.installs import require_packages
from tests.kit.places import ROOT, SOURCE, TESTS
from tests.kit.programs import run_program
from tests.kit.rows import every

EXAMPLES = ROOT / "examples"
CLIENT = "typed_client.py"
TESTED = "tested_agent.py"
"""A file of tests."""

CLIENTS = (CLIENT, "client_sdk.py", TESTED)
"""Those that are run by themselves."""

SAYS = {
    CLIENT: ("agent_crash: ", "the turn ended: "),
    "client_sdk.py": ("RateLimitError: ", "[Try again] retry in ", "no need to ask"),
    TESTED: ("3 passed",),
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
def test_an_example_prints_what_it_promises(name: str) -> None:
    pytest_alone = (
        ["-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"] if name == TESTED else []
    )
    program = str(EXAMPLES / (name if name in CLIENTS else CLIENT))
    command = [sys.executable, *pytest_alone, program]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    environment.pop("OPENAI_BASE_URL", None)
    if name not in CLIENTS:
        python = (
            require_packages(TESTS / "interop" / "providers")
            if name in NEEDS_PACKAGES
            else sys.executable
        )
        command += ["--", str(python), str(EXAMPLES / name)]
    done = run_program(command, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    for words in SAYS[name]:
        assert words in done.stdout


@every("name", SAYS)
def test_an_example_is_under_sixty_lines(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) < 60
