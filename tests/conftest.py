"""What every test may use."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.kit import children

children.prepare()

# The tests start thousands of processes, each of which would compile lastword anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Every process that a test starts keeps its record there, and none in the user's own.
os.environ["LASTWORD_STATE_DIR"] = tempfile.mkdtemp(prefix="lastword-tests-")

# And none reads the configuration file of whoever runs the tests.
os.environ["LASTWORD_NO_CONFIG"] = "1"

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile(
    "lastword",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    max_examples=25,  # others in each run; the inner loop is to be short
)
settings.load_profile("lastword")
# What is covered may not depend on what hypothesis happens to draw.
settings.register_profile(
    "measured", settings.get_profile("lastword"), derandomize=True, max_examples=50
)
TESTS = Path(__file__).resolve().parent
WORKERS = 4
"""On two cores: with three workers a seventh of the processor's time was idle."""


def pytest_configure(config: pytest.Config) -> None:
    """With `--cov` every run draws the same examples."""
    if config.pluginmanager.hasplugin("_cov"):
        settings.load_profile("measured")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Folders are shared out, file by file; for a file or a single test none is worth its start."""
    named = [os.path.isfile(argument.partition("::")[0]) for argument in config.args]
    return 0 if any(named) else WORKERS


REAL = ("process", "interop", "windows")
"""The folders whose tests start programs, of which many are not ours."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that starts programs is run once more if it fails."""
    again = pytest.mark.flaky(reruns=1)
    folders = tuple(f"{TESTS / folder}{os.sep}" for folder in REAL)
    for item in items:
        if str(item.path).startswith(folders):
            item.add_marker(again)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not walk it again and again.

    In a run of the unit tests that is a tenth of the time.
    """
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What failed at first is told whole: behind it is a fault of ours, or of the test."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"failed at first: {report.nodeid}", red=True)
        terminalreporter.write_line(report.longreprtext)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A test that did not run has not passed: where `CI` is set, a skip is an error."""
    shutil.rmtree(os.environ["LASTWORD_STATE_DIR"], ignore_errors=True)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") and skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} skipped: an error where CI is set", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
