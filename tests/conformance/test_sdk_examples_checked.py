"""`lastword check` on the official SDK's own example agents, as they are and behind the sidecar."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Where the SDK's examples are got.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sdk"))

from official import Official, require_official

from lastword.conformance.checks import CHECKS, Verdict
from lastword.conformance.hooks import Hooks
from lastword.conformance.run import Settings, findings

IN_FRONT = (sys.executable, "-m", "lastword", "run", "--")

OWN = {"junk-scalars": Verdict.FAIL, "bad-params": Verdict.WARN}
"""What is found in every agent on this SDK: a scalar ends its reading for good."""


@pytest.fixture(scope="module")
def official() -> Official:
    """The SDK's source tree."""
    return require_official()


def verdicts(command: tuple[str, ...]) -> dict[str, Verdict]:
    """What a check without a provider has to say, but for what it passes or cannot reach."""
    rows = [row for row in CHECKS.values() if not all(a.startswith("fail") for a in row.acts)]
    found = {row.name: f.verdict for row, f in findings(Settings(command, Hooks()), rows)}
    quiet = {Verdict.PASS, Verdict.UNREACHED, Verdict.NOT_APPLICABLE}
    assert list(found.values()).count(Verdict.PASS) > 20
    return {name: verdict for name, verdict in found.items() if verdict not in quiet}


@pytest.mark.parametrize(
    ("example", "own"),
    [("agent.py", {}), ("echo_agent.py", {"future-version": Verdict.FAIL})],
)
def test_the_example_agents_have_the_faults_that_they_are_known_for(
    official: Official, example: str, own: dict[str, Verdict]
) -> None:
    command = (str(official.python), str(official.source / "examples" / example))
    assert verdicts(command) == OWN | own
    wrapped = verdicts((*IN_FRONT, *command))
    assert wrapped == {"bad-params": Verdict.WARN} | own
