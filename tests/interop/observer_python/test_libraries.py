"""The observer of Python's requests in HTTP libraries, as they are published, new and old."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.interop.toolchain import python_candidates, python_version
from tests.kit.installs import MissingError, or_skip, require_packages
from tests.kit.observed import provider
from tests.kit.places import ROOT
from tests.kit.programs import run_program

HERE = Path(__file__).resolve().parent
RUN_TIMEOUT_SECONDS = 300.0
OLD_VERSION = (3, 9)

LIBRARIES = {
    "new": {"urllib", "urllib3", "requests", "httpx", "httpx, async", "httpx2", "httpx2, async"}
    | {"aiohttp"},
    "old": {"urllib", "urllib3", "requests", "httpx", "httpx, async", "aiohttp"},
}
SETS = ["new", pytest.param("old", marks=pytest.mark.matrix)]

WHOLE = ["request", "status", "end"]
EXPECTED = {
    "ok": WHOLE,
    "stream": WHOLE,
    "nothing": WHOLE,
    "refused": ["request", "status", "body", "end"],
    "packed": ["request", "status", "body", "end"],
    "cut": ["request", "status", "error"],
    "stalled": ["request", "status", "error"],
    "stalled, cancelled": ["request", "status", "error"],
    "silent": ["request", "error"],
    "silent, cancelled": ["request", "error"],
    "unreachable": ["request", "error"],
    "dropped": WHOLE,
}
"""By the case, the events of a request."""


def _old_python() -> Path:
    names = [f"python{OLD_VERSION[0]}.{OLD_VERSION[1]}"]
    for candidate in python_candidates(names):
        if python_version(candidate) == OLD_VERSION:
            return Path(candidate)
    raise MissingError("Python 3.9 is neither on PATH nor beside this one.")


def python_of(which: str) -> str:
    """Return the Python with a set of libraries, or skip."""
    if which == "new":
        return str(require_packages(HERE))
    return str(require_packages(HERE / "old", str(or_skip(_old_python))))


def lines_of(which: str, *options: str) -> list[Any]:
    done = run_program(
        [python_of(which), "-W", "error", "-m", f"{__package__}.clients", *options],
        check=False,
        timeout=RUN_TIMEOUT_SECONDS,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("which", SETS)
def test_each_request_is_reported_once_and_the_agent_sees_no_difference(which: str) -> None:
    lines = lines_of(which)
    assert {line["client"] for line in lines} == LIBRARIES[which]
    for line in lines:
        case, events = line["case"], line["events"]
        assert line["outcome"] == line["plain"], line
        assert line["frames"] <= 1, line
        assert [each["event"] for each in events] == EXPECTED[case], line
        assert "secret" not in json.dumps(events)
        assert ("empty" in events[-1]) == (case == "nothing"), line
        if case in {"refused", "packed"}:
            request, status, body, _ = events
            assert (request["path"], request["bytes"]) == (provider.PATH, 14), line
            assert (status["status"], status["type"]) == (429, "application/json")
            assert status["headers"] == {"retry-after": "7", "x-ratelimit-remaining": "0"}
            assert body["text"] == provider.BODY.decode(), line
        # A failure has the system's code, or the name of its class.
        if case == "unreachable":
            assert events[-1]["code"] == "ECONNREFUSED", line
        elif case.endswith("cancelled"):
            assert (events[-1]["code"], events[-1]["name"]) == (None, "CancelledError"), line
        elif case in {"silent", "stalled"}:
            assert events[-1]["code"] is None
            assert "Timeout" in events[-1]["name"], line


@pytest.mark.matrix  # `tests/unit/observer` has the same with Python's own library
@pytest.mark.parametrize("which", SETS)
def test_the_observers_own_errors_never_reach_an_agent(which: str) -> None:
    assert lines_of(which, "--mutants") == ["done"]
