"""`lastword check` on agents on the official SDKs finds the SDKs' known faults, and no other."""

from __future__ import annotations

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.run import CheckSettings, findings
from lastword.kit.check.stage import Sdk, blame
from lastword.quirks import setup
from tests.interop.official_schema import official_folder
from tests.interop.sdk.official import HERE, VERSION, Official, require_official

AGENT_TS = HERE.parent / "agent_ts.mjs"

OWN = {
    "junk-scalars": CheckVerdict.FAIL,
    "unadvertised-method": CheckVerdict.FAIL,
    "bad-params": CheckVerdict.WARN,
}
"""What is found in every agent on this SDK; what each rests on is in protocol/AGENTS.md. What the
sidecar mends of it: `tests/process/conformance/test_mended_in_front.py`."""

OF_THE_SDK = {"junk-scalars", "unadvertised-method"}
"""Of these, what `quirks.setup` knows to be the SDK's."""


@pytest.fixture(scope="module")
def official() -> Official:
    return require_official()


def told(command: tuple[str, ...]) -> tuple[dict[str, Finding], int]:
    """What a check without a provider complains of, and how much it passes."""
    rows = [row for row in CHECKS.values() if not all(a.startswith("fail") for a in row.acts)]
    found = {row.name: f for row, f in findings(CheckSettings(command, Hooks()), rows)}
    quiet = {CheckVerdict.PASS, CheckVerdict.UNREACHED, CheckVerdict.NOT_APPLICABLE}
    passed = sum(finding.verdict is CheckVerdict.PASS for finding in found.values())
    return {name: f for name, f in found.items() if f.verdict not in quiet}, passed


@pytest.mark.parametrize(
    ("example", "own"),
    [
        ("agent.py", {}),
        pytest.param(
            "echo_agent.py",
            {"future-version": CheckVerdict.FAIL, "agent-info": CheckVerdict.WARN},
            marks=pytest.mark.matrix,
        ),
    ],
)
def test_the_example_agents_have_exactly_their_known_faults(
    official: Official, example: str, own: dict[str, CheckVerdict]
) -> None:
    command = (str(official.python), str(official.source / "examples" / example))
    found, passed = told(command)
    assert passed > 20
    assert {name: finding.verdict for name, finding in found.items()} == OWN | own
    assert {name for name, finding in found.items() if finding.fault_of} == OF_THE_SDK
    assert f"agent-client-protocol (Python) {VERSION}" in found["junk-scalars"].fault_of
    assert any("connection.py" in line for line in found["junk-scalars"].stderr)


def test_an_agent_on_the_sdk_in_typescript_has_no_fault() -> None:
    found, passed = told(("node", str(AGENT_TS), str(official_folder())))
    assert (found, passed > 30) == ({}, True)


def test_an_sdk_without_a_known_fault_is_not_blamed() -> None:
    assert blame("junk-scalars", Sdk(setup.TYPESCRIPT, "2.4.0")) == ""
    older = blame("junk-scalars", Sdk(setup.PYTHON, "0.11.0"))
    assert older.startswith("the SDK, agent-client-protocol (Python) 0.11.0: it stops reading")
    assert older.endswith(", seen in 0.12.1")
