"""A plugin of pytest: with `--cov`, the processes that tests start are measured, too.

Owns that they are: each notes its lines for the test that started it, as `--cov-config` says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Tell what starts from here on; the workers, which start the tests' processes, tell theirs."""
    if hasattr(config, "workerinput"):
        os.environ["COVERAGE_PROCESS_START"] = str(config.getoption("--cov-config"))
