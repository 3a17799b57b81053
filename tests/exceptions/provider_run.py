"""A script in the providers' own environment, and what it reported of each of its cases."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from package_venv import require_packages

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
RUN_TIMEOUT_SECONDS = 120.0


def reported_by(script: str) -> dict[str, dict[str, Any]]:
    """Run a script of this folder; gives its lines by their case."""
    done = subprocess.run(
        [str(require_packages(HERE)), str(HERE / script), str(SOURCE)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # A package may print words of its own in between.
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    return {line["case"]: line for line in lines}
