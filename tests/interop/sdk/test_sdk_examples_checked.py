"""`lastword check` on the official SDK's own example agents, as they are and behind the sidecar."""

from __future__ import annotations

import sys

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict
from lastword.kit.check.pointing import Hooks
from lastword.kit.check.run import CheckSettings, findings
from tests.interop.sdk.official import Official, require_official

IN_FRONT = (sys.executable, "-m", "lastword", "run", "--")

OWN = {"junk-scalars": CheckVerdict.FAIL, "bad-params": CheckVerdict.WARN}
"""What is found in every agent on this SDK: a scalar ends its reading for good."""


@pytest.fixture(scope="module")
def official() -> Official:
    """The SDK's source tree."""
    return require_official()


def verdicts(command: tuple[str, ...]) -> dict[str, CheckVerdict]:
    """What a check without a provider has to say, but for what it passes or cannot reach."""
    rows = [row for row in CHECKS.values() if not all(a.startswith("fail") for a in row.acts)]
    found = {row.name: f.verdict for row, f in findings(CheckSettings(command, Hooks()), rows)}
    quiet = {CheckVerdict.PASS, CheckVerdict.UNREACHED, CheckVerdict.NOT_APPLICABLE}
    assert list(found.values()).count(CheckVerdict.PASS) > 20
    return {name: verdict for name, verdict in found.items() if verdict not in quiet}


@pytest.mark.parametrize(
    ("example", "own"),
    [("agent.py", {}), ("echo_agent.py", {"future-version": CheckVerdict.FAIL})],
)
def test_the_example_agents_have_the_faults_that_they_are_known_for(
    official: Official, example: str, own: dict[str, CheckVerdict]
) -> None:
    command = (str(official.python), str(official.source / "examples" / example))
    assert verdicts(command) == OWN | own
    wrapped = verdicts((*IN_FRONT, *command))
    assert wrapped == {"bad-params": CheckVerdict.WARN} | own
