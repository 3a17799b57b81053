"""`lastword run` in front mends what `lastword check` says that it does."""

from __future__ import annotations

import sys

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from tests.process.conformance.test_faults_found import FAULTS, find, found_in, meddled

IN_FRONT = "`lastword run --` in front corrects it"
RUN = (sys.executable, "-m", "lastword", "run", "--")
BARE = (sys.executable, "-m", "lastword", "agent", "--bare", "healthy")

MENDED = (
    *("ids-as-text", "dies-of-scalars", "prints", "code-as-text", "twice", "stays-in-turn"),
    *("floods-stderr", "cancelled-as-done", "silent", "no-payload"),
)
"""One of each kind of what is mended."""

SAID = [row for row in FAULTS if row[0] in MENDED and CHECKS[row[1]].in_front == IN_FRONT]


def test_one_fault_of_each_kind_is_tried() -> None:
    assert {mode for mode, *_ in SAID} == {*MENDED}


def _found_behind(mode: str, check: str, acts: tuple[str, ...]) -> Finding:
    return find((*RUN, *meddled(mode, BARE)), check, acts)


def test_the_fault_is_gone_behind_the_sidecar() -> None:
    found = found_in(_found_behind, SAID)
    assert [each for each in found if each[1].verdict is not CheckVerdict.PASS] == []
