"""A program in the providers' own environment, and what it reported of each of its cases."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.kit.installs import require_packages
from tests.kit.places import ROOT, SOURCE

HERE = Path(__file__).resolve().parent
RUN_TIMEOUT_SECONDS = 120.0


def reported_by(module: str) -> dict[str, dict[str, Any]]:
    """Run a module of this folder; gives its lines by their case."""
    done = subprocess.run(
        [str(require_packages(HERE)), "-m", f"{__package__}.{module}"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(SOURCE)))},
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
