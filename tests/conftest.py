"""What every test may use."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.kit import children, forking, starts

if TYPE_CHECKING:
    from collections.abc import Iterator

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
settings.register_profile("measured", settings.get_profile("lastword"), derandomize=True)
TESTS = Path(__file__).resolve().parent
WORKERS = 6
"""Of tests that start processes, on two cores: most of the time, they wait."""


def pytest_configure(config: pytest.Config) -> None:
    """With `--cov` every run draws the same examples; only the matrix starts all for real."""
    if config.pluginmanager.hasplugin("_cov"):
        settings.load_profile("measured")
    if not config.getoption("--matrix"):
        forking.begin()
    starts.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Start for real what is started beside software that is not ours, or where a test says so."""
    is_interop = str(item.path).startswith(f"{TESTS / 'interop'}{os.sep}")
    if not is_interop and not item.get_closest_marker("real_start"):
        return (yield)
    os.environ[forking.OFF] = "1"
    try:
        return (yield)
    finally:
        del os.environ[forking.OFF]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Trace what is to cover the core, and not what is drawn: tracing takes twice a test's time."""
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    if not drawn and not item.get_closest_marker("no_cover"):
        return (yield)
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(trace)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Folders are shared out, file by file; for a file or a single test none is worth its start."""
    named = [argument.partition("::")[0] for argument in config.args]
    if any(map(os.path.isfile, named)):
        return 0
    computing = (TESTS / "unit", TESTS / "contract")
    if all(any(map(Path(folder).resolve().is_relative_to, computing)) for folder in named):
        return (os.cpu_count() or 1) + 1
    return WORKERS


FIRST = ("interop/fleet/", "interop/", "process/gateway/", "process/")
"""The folders whose files take longest: they begin first, so that no worker ends with one alone."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that asks for all there is."""
    parser.addoption("--matrix", action="store_true", help="play what is marked `matrix`, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only the matrix plays; put the longest files first."""
    if not config.getoption("--matrix"):
        left_out = [item for item in items if item.get_closest_marker("matrix")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("matrix")]
    folders = [f"{TESTS / folder}{os.sep}" for folder in FIRST]

    def place(item: pytest.Item) -> int:
        path = str(item.path)
        return next((n for n, folder in enumerate(folders) if path.startswith(folder)), len(FIRST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not walk it again and again.

    In a run of the unit tests that is a tenth of the time.
    """
    gc.collect()
    gc.freeze()


STARTED = pytest.StashKey[int]()
MOST_STARTS = 1100
"""Of the tests without software of others: nearly all of what a process test costs is its start."""


def _started(config: pytest.Config) -> int:
    return starts.count + config.stash.get(STARTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up the processes that a worker's tests have started."""
    stash = node.config.stash
    counted = getattr(node, "workeroutput", {})  # one that crashed has none
    stash[STARTED] = stash.get(STARTED, 0) + counted.get("starts", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many processes the tests have started, and keep what took long for `.ci/run`."""
    terminalreporter.write_line(f"{_started(config)} processes started by the tests")
    file = os.environ.get("LASTWORD_TESTS_DURATIONS")
    if file and not hasattr(config, "workerinput"):  # the workers have some of the same
        spent: dict[str, float] = {}
        for reports in terminalreporter.stats.values():
            for report in reports:
                if isinstance(report, pytest.TestReport):
                    spent[report.nodeid] = spent.get(report.nodeid, 0.0) + report.duration
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.writelines(f"{seconds:.1f} {name}\n" for name, seconds in spent.items())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hold the number of starts; where `CI` is set, a skip is an error: it has not passed."""
    shutil.rmtree(os.environ["LASTWORD_STATE_DIR"], ignore_errors=True)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["starts"] = starts.count
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") and skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} skipped: an error where CI is set", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    is_ours = not any("interop" in argument for argument in session.config.args)
    started = _started(session.config)
    if reporter and is_ours and started > MOST_STARTS and not session.config.getoption("--matrix"):
        reporter.write_line(f"{started} processes started: {MOST_STARTS} is the most", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
