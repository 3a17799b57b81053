"""`lastword check` on an agent built on the official TypeScript SDK: nothing is wrong with it."""

from __future__ import annotations

from pathlib import Path

from lastword.kit.check.checks import CHECKS, CheckVerdict
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.run import CheckSettings, findings
from lastword.kit.check.stage import Sdk, blame
from lastword.quirks import setup
from tests.interop.official_schema import official_folder

AGENT = Path(__file__).resolve().parent / "agent_ts.mjs"


def test_an_agent_on_the_sdk_has_no_fault_and_nothing_to_be_warned_of() -> None:
    command = ("node", str(AGENT), str(official_folder()))
    rows = [row for row in CHECKS.values() if not all(a.startswith("fail") for a in row.acts)]
    found = {row.name: f for row, f in findings(CheckSettings(command, Hooks()), rows)}
    said = {CheckVerdict.FAIL, CheckVerdict.WARN}
    assert {name: f for name, f in found.items() if f.verdict in said} == {}
    assert [f.verdict for f in found.values()].count(CheckVerdict.PASS) > 30
    assert found["cancel-in-question"].verdict is CheckVerdict.PASS


def test_an_sdk_without_a_known_fault_is_not_blamed() -> None:
    assert blame("junk-scalars", Sdk(setup.TYPESCRIPT, "2.4.0")) == ""
    older = blame("junk-scalars", Sdk(setup.PYTHON, "0.11.0"))
    assert older.startswith("the SDK, agent-client-protocol (Python) 0.11.0: it stops reading")
    assert older.endswith(", seen in 0.12.1")
