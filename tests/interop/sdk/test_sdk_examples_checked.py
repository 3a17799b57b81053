"""`lastword check` on the official SDK's own example agents, as they are and behind the sidecar."""

from __future__ import annotations

import sys

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.run import CheckSettings, findings
from tests.interop.sdk.official import VERSION, Official, require_official

IN_FRONT = (sys.executable, "-m", "lastword", "run", "--")

OWN = {
    "junk-scalars": CheckVerdict.FAIL,
    "unadvertised-method": CheckVerdict.FAIL,
    "bad-params": CheckVerdict.WARN,
}
"""What is found in every agent on this SDK; what each rests on is in protocol/AGENTS.md."""

OF_THE_SDK = {"junk-scalars", "unadvertised-method"}
"""Of these, what `quirks.setup` knows to be the SDK's."""


@pytest.fixture(scope="module")
def official() -> Official:
    return require_official()


def told(command: tuple[str, ...]) -> dict[str, Finding]:
    """What a check without a provider has to say, but for what it passes or cannot reach."""
    rows = [row for row in CHECKS.values() if not all(a.startswith("fail") for a in row.acts)]
    found = {row.name: f for row, f in findings(CheckSettings(command, Hooks()), rows)}
    quiet = {CheckVerdict.PASS, CheckVerdict.UNREACHED, CheckVerdict.NOT_APPLICABLE}
    assert [f.verdict for f in found.values()].count(CheckVerdict.PASS) > 20
    return {name: finding for name, finding in found.items() if finding.verdict not in quiet}


def words(found: dict[str, Finding]) -> dict[str, CheckVerdict]:
    return {name: finding.verdict for name, finding in found.items()}


@pytest.mark.parametrize(
    ("example", "own"),
    [
        ("agent.py", {}),
        ("echo_agent.py", {"future-version": CheckVerdict.FAIL, "agent-info": CheckVerdict.WARN}),
    ],
)
def test_the_example_agents_have_exactly_their_known_faults(
    official: Official, example: str, own: dict[str, CheckVerdict]
) -> None:
    command = (str(official.python), str(official.source / "examples" / example))
    found = told(command)
    assert words(found) == OWN | own
    blamed = {name for name, finding in found.items() if finding.fault_of}
    assert blamed == OF_THE_SDK
    assert f"agent-client-protocol (Python) {VERSION}" in found["junk-scalars"].fault_of
    assert any("connection.py" in line for line in found["junk-scalars"].stderr)
    wrapped = words(told((*IN_FRONT, *command)))
    left = {name: verdict for name, verdict in OWN.items() if name != "junk-scalars"}
    assert wrapped == left | own
