"""Lastword's other doors on Windows: wrapped agents, the demo, checks, the failing agent."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.windows.kit import Client, agent, failure, lastword, run

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def test_an_agent_of_functions_reports_its_failure_and_goes_on() -> None:
    with Client(sys.executable, str(EXAMPLES / "bare_agent.py")) as client:
        session = client.session()
        for _ in range(2):
            error = failure(client.prompt(session))
            assert (error["type"], error["retry_after_seconds"]) == ("rate_limit", 20)
        assert "You asked: hello " in client.updates
        assert client.leave() == 0


def test_an_agent_on_the_official_sdk_reports_its_failure_and_goes_on() -> None:
    with Client(sys.executable, str(EXAMPLES / "sdk_agent.py")) as client:
        session = client.session()
        for _ in range(2):
            assert failure(client.prompt(session))["type"] == "network"
        assert client.leave() == 0


def test_the_agent_that_fails_on_purpose_does_so_and_is_started_again() -> None:
    with Client(*lastword("agent", "agent_crash")) as client:
        assert failure(client.prompt(client.session()))["type"] == "agent_crash"
        assert failure(client.prompt(client.session()))["type"] == "agent_crash"


def test_turns_are_played_in_the_process_of_a_test() -> None:
    status, said = said_by(
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(EXAMPLES / "tested_agent.py"),
        "-o",
        "addopts=",
    )
    assert status == 0, said
    assert "3 passed" in said


def test_the_demo_shows_three_failures() -> None:
    status, said = said_by(*lastword("demo"))
    assert status == 0, said
    assert "after 20 s" in said
    assert "ended by SIGKILL" in said


def test_a_check_passes_what_keeps_to_the_protocol_and_names_what_does_not() -> None:
    check = lastword("check", "--only", "opens-session", "--")
    status, said = said_by(*check, *agent("fine"))
    assert status == 0, said
    status, said = said_by(*check, *lastword("agent", "--bare", "fails_to_start"))
    assert status == 1, said


def said_by(*command: str) -> tuple[int, str]:
    """Return the exit status and the output of a command."""
    ended = run(*command)
    return ended.returncode, (ended.stdout + ended.stderr).decode()
