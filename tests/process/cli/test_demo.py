"""`lastword demo`: every turn ends typed, and in time."""

from __future__ import annotations

import os
import subprocess
import sys


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
