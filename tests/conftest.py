"""What every test may use."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Test folders are no packages: modules that several tests share are found by name.
sys.path.insert(0, str(Path(__file__).parent / "core"))
sys.path.insert(0, str(Path(__file__).parent / "record"))

# Every process that a test starts keeps its record there, and none in the user's own.
os.environ["LASTWORD_STATE_DIR"] = tempfile.mkdtemp(prefix="lastword-tests-")

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile(
    "lastword", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("lastword")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A test that did not run has not passed: where `CI` is set, a skip is an error."""
    shutil.rmtree(os.environ["LASTWORD_STATE_DIR"], ignore_errors=True)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") and skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} skipped: an error where CI is set", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
