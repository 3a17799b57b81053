"""pytest, for tests whose processes have less time than they need on a busy machine.

Owns the limit of `subprocess.run` in them, which still ends what hangs. It is a script of its own:
the tests' environment has nothing of ours.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

FUSE_SECONDS = 60.0
_run = subprocess.run


def run(*command: Any, timeout: float | None = None, **options: Any) -> Any:
    """Run a command under a limit that load does not reach."""
    return _run(*command, timeout=timeout and max(timeout, FUSE_SECONDS), **options)


subprocess.run = run
sys.exit(pytest.main())
