"""`lastword run` in front mends what `lastword check` says that it does."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict
from lastword.kit.check.run import CheckRun, CheckSettings
from lastword.kit.check.stage import WaitLimits
from tests.kit.patience import FUSE_SECONDS
from tests.process.conformance.test_faults_found import DRIVEN, FAULTS, meddled

IN_FRONT = "`lastword run --` in front corrects it"
RUN = (sys.executable, "-m", "lastword", "run", "--")
BARE = (sys.executable, "-m", "lastword", "agent", "--bare", "healthy")
LIMITS = WaitLimits(exit_seconds=FUSE_SECONDS)

MENDED = (
    *("ids-as-text", "dies-of-scalars", "prints", "code-as-text", "twice", "stays-in-turn"),
    *("floods-stderr", "cancelled-as-done", "silent", "no-payload"),
)
"""One of each kind of what is mended."""

SAID = [row for row in FAULTS if row[0] in MENDED and CHECKS[row[1]].in_front == IN_FRONT]


def test_one_of_each_kind_is_tried() -> None:
    assert {mode for mode, *_ in SAID} == {*MENDED}


@pytest.mark.parametrize(("mode", "check", "acts"), SAID, ids=str)
def test_the_fault_is_gone_behind_the_sidecar(mode: str, check: str, acts: tuple[str, ...]) -> None:
    row = CHECKS[check]
    row = dataclasses.replace(row, acts=acts or row.acts)
    settings = CheckSettings((*RUN, *meddled(mode, BARE)), DRIVEN, LIMITS)
    with CheckRun(settings, [row]) as run:
        found = run.finding(row)
    assert found.verdict is CheckVerdict.PASS, found
