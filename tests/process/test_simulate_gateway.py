"""The gateway's simulator as a command: always alike."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from unittest import mock

from tests.kit.places import ROOT
from tests.long.simulate_gateway import main


def _run(*arguments: str) -> str:
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["simulate_gateway", *arguments]),
        contextlib.redirect_stdout(said),
    ):
        status = main()
    assert status == ("--mutant" in arguments), said.getvalue()
    return said.getvalue()


def test_a_seed_gives_the_same_trace_whatever_the_hashes_and_the_processes() -> None:
    words = ("--schedules", "100", "--seed", "5")
    other = subprocess.run(
        [sys.executable, "-m", "tests.long.simulate_gateway", *words, "--jobs", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={"PYTHONHASHSEED": "1"},
    )
    assert _run(*words) == other.stdout
    assert _run("--schedules", "100", "--seed", "6") != other.stdout
