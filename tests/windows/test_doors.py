"""Lastword's other doors on Windows: wrapped agents, the demo, checks, the failing agent."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.windows.kit import Client, failure, lastword, said_by

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def test_an_agent_of_functions_reports_its_failure_and_continues() -> None:
    with Client(sys.executable, str(EXAMPLES / "bare_agent.py")) as client:
        session = client.session()
        for _ in range(2):
            error = failure(client.prompt(session))
            assert (error["type"], error["retry_after_seconds"]) == ("rate_limit", 20)
        assert "You asked: hello " in client.updates
        assert client.leave() == 0


def test_an_agent_on_the_official_sdk_reports_its_failure_and_continues() -> None:
    with Client(sys.executable, str(EXAMPLES / "sdk_agent.py")) as client:
        session = client.session()
        for _ in range(2):
            assert failure(client.prompt(session))["type"] == "network"
        assert client.leave() == 0


def test_the_demo_shows_three_failures() -> None:
    status, said = said_by(*lastword("demo"))
    assert status == 0, said
    assert "after 20 s" in said
    assert "ended by SIGKILL" in said
