"""The official SDK's own tests, unchanged, pass with lastword in every agent."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.interop.sdk.official import HERE, Official, require_official

if TYPE_CHECKING:
    from pathlib import Path

FUSE_SECONDS = 600.0
AT_LEAST = 190
"""How many of its tests pass bare on every Python that we support; the whole suite is about 200."""

RUNS_AN_AGENT = {
    "tests.test_rpc": 12,
    "tests.test_compatibility": 2,
    "tests.test_core": 1,
    "tests.test_unstable": 2,
    "tests.real_user.test_cancel_prompt_flow": 1,
    "tests.real_user.test_mcp_servers_optional": 1,
    "tests.real_user.test_permission_flow": 1,
    "tests.real_user.test_stdio_limits": 1,
    "tests.http.test_http_server": 5,
    "tests.http.test_loopback": 2,
    "tests.http.test_websocket": 2,
}
"""Modules that run an agent, and how many of their tests do so at the least."""

BY_CONTRACT = {
    # It sends what is no JSON-RPC message and expects nothing; `FRM-3` answers with an error.
    "tests.test_rpc::test_ignore_invalid_messages",
}
"""The tests that expect the silence which lastword is there to end."""


@pytest.fixture(scope="module")
def official() -> Official:
    return require_official()


FAILED = {"failure", "error"}


FURTHER_RUNS = 4
"""Some of its tests wait for a second at most, which a busy machine exceeds: what fails is run
again, alone. What is at fault fails each time."""


def verdicts(official: Official, report: Path, guard: dict[str, str] | None) -> dict[str, str]:
    """The verdict of each of its tests; `guard` has the variables of a guarded run."""
    found = _verdicts(official, report, (), guard)
    for _ in range(FURTHER_RUNS):
        failed = [name for name, verdict in found.items() if verdict in FAILED]
        if not set(failed) - BY_CONTRACT:
            break
        names = " or ".join(name.rpartition("::")[2].partition("[")[0] for name in failed)
        again = _verdicts(official, report, ("-k", names), guard)
        found |= {name: again.get(name, found[name]) for name in failed}
    return found


def _verdicts(
    official: Official, report: Path, chosen: tuple[str, ...], guard: dict[str, str] | None
) -> dict[str, str]:
    program = [str(HERE / "patient_pytest.py"), "-q", "-p", "no:cacheprovider"]
    options = ["-o", "pythonpath=.", f"--junitxml={report}", *chosen]
    done = official.run([*program, *options], guard, FUSE_SECONDS)
    assert done.returncode in {0, 1}, done.stdout[-3000:] + done.stderr[-3000:]
    found = {}
    for case in ET.parse(report).iter("testcase"):
        outcomes = {child.tag for child in case} & {*FAILED, "skipped"}
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = outcomes.pop() if outcomes else "passed"
    return found


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def guarded(official: Official, agents: Path) -> dict[str, str]:
    return verdicts(official, agents.with_suffix(".xml"), {"LASTWORD_TEST_AGENTS": str(agents)})


def test_guarded_agents_pass_all_but_the_tests_that_the_contract_forbids(
    guarded: dict[str, str],
) -> None:
    assert {name for name, verdict in guarded.items() if verdict in FAILED} == BY_CONTRACT
    assert list(guarded.values()).count("passed") >= AT_LEAST - len(BY_CONTRACT)


@pytest.mark.matrix
def test_the_suite_passes_bare_and_skips_no_more_than_when_guarded(
    official: Official, guarded: dict[str, str], tmp_path: Path
) -> None:
    bare = verdicts(official, tmp_path / "report.xml", None)
    assert not {name for name, verdict in bare.items() if verdict in FAILED}
    assert {name for name, verdict in bare.items() if guarded.get(name) != verdict} == BY_CONTRACT


def test_the_guard_was_active_in_every_agent_of_these_runs(
    guarded: dict[str, str], agents: Path
) -> None:
    assert guarded
    seen: dict[str, set[str]] = {}
    for record in agents.iterdir():
        for line in record.read_text().splitlines():
            module, _, test = line.partition("::")
            seen.setdefault(module, set()).add(test)
    missed = {m: (n, seen.get(m)) for m, n in RUNS_AN_AGENT.items() if len(seen.get(m, ())) < n}
    assert not missed
