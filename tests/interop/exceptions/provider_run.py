"""A program in the providers' own environment, and what it reported of each of its cases."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.kit.installs import require_packages
from tests.kit.places import ROOT, SOURCE
from tests.kit.programs import run_program

HERE = Path(__file__).resolve().parent
RUN_TIMEOUT_SECONDS = 120.0


def reported_by(module: str) -> dict[str, dict[str, Any]]:
    """Run a module of this folder; gives its lines by their case."""
    done = run_program(
        [str(require_packages(HERE)), "-m", f"{__package__}.{module}"],
        check=False,
        timeout=RUN_TIMEOUT_SECONDS,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(SOURCE)))},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # A package may print words of its own in between.
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    return {line["case"]: line for line in lines}
