"""No check holds against an agent what JSON-RPC or ACP allows it, or what another check is for."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.pointing import Hooks
from lastword.kit.check.run import CheckSettings, findings
from lastword.kit.check.transcript import WaitLimits
from tests.kit.patience import patient

ODD = (sys.executable, "-S", "-E", str(Path(__file__).with_name("odd_agent.py")))
SOON = WaitLimits(patient(5.0), patient(5.0), patient(2.0))
FEW = ("strangers", "early", "junk:text", "junk:scalars", "junk:utf8")
PASS, FAIL = CheckVerdict.PASS, CheckVerdict.FAIL


def found(mode: str, *names: str, folder: Path | None = None) -> dict[str, Finding]:
    """What these checks find in the odd agent of this mode."""
    command = (*ODD, mode, *([str(folder)] if folder else []))
    rows = [CHECKS[name] for name in names]
    # Of those that look at every act a few are enough.
    rows = [dataclasses.replace(r, acts=FEW) if len(r.acts) > len(FEW) else r for r in rows]
    return {row.name: f for row, f in findings(CheckSettings(command, Hooks(), SOON), rows)}


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("null-data", ("junk-text", "junk-scalars", "junk-utf8", "error-shape", "stdout")),
        ("batches", ("junk-scalars", "error-shape", "stdout")),
        ("keeps-early", ("before-initialize", "one-answer")),
        ("small-ids", ("unknown-method", "unknown-notification")),
    ],
)
def test_what_json_rpc_allows_is_no_fault(mode: str, names: tuple[str, ...]) -> None:
    told = found(mode, *names)
    assert {name: f.verdict for name, f in told.items()} == dict.fromkeys(names, PASS), told


def test_an_id_that_is_not_taken_is_told_as_that() -> None:
    told = found("small-ids", "ids")["ids"]
    assert told.verdict is FAIL
    assert "'a text' was not answered" in told.evidence
    assert "session/no_such_method" in told.frames[0]


def test_an_array_that_nobody_asked_for_is_no_message() -> None:
    script = 'printf \'%s\\n\' \'[{"jsonrpc":"2.0","id":null,"error":{}}]\'; cat >/dev/null'
    rows = [dataclasses.replace(CHECKS["stdout"], acts=("junk:text",))]
    settings = CheckSettings(("sh", "-c", script), Hooks(), WaitLimits(answer_seconds=0.5))
    ((_, told),) = findings(settings, rows)
    assert told.verdict is FAIL
    assert "it is no object" in told.evidence


def test_an_early_request_is_not_held_against_an_agent_that_refuses_the_version() -> None:
    told = found("version-2", "before-initialize")["before-initialize"]
    assert told.verdict is not FAIL
