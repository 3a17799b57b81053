"""`lastword check` on real agents: their known faults are found, and fewer behind lastword."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.run import CheckRun, CheckSettings
from tests.interop import real_agents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.matrix

IN_FRONT = (sys.executable, "-m", "lastword", "run", "--")

MENDED = [
    ("kimi", "failing-turn-told", "fail:unauthorized", CheckVerdict.FAIL),
    ("kimi", "junk-scalars", "junk:scalars", CheckVerdict.FAIL),
    ("claude", "failing-turn-typed", "fail:unauthorized", CheckVerdict.WARN),
    ("opencode", "failing-turn-typed", "fail:unauthorized", CheckVerdict.WARN),
]
"""An agent, a check that finds its fault, the act that is enough, and what it comes to bare."""

KEPT = [
    ("kimi", "future-version", "future"),
    ("claude", "open-tools", "fail:cut_in_tool"),
    ("opencode", "secrets", "fail:unauthorized"),
]
"""Faults that are the agent's own affair."""


def find(agent: str, check: str, act: str, folder: Path, wrap: tuple[str, ...] = ()) -> Finding:
    command = (*wrap, *real_agents.AGENTS[agent](folder))
    row = dataclasses.replace(CHECKS[check], acts=(act,))
    with CheckRun(CheckSettings(command, Hooks(preset=agent)), [row]) as run:
        return run.finding(row)


@pytest.mark.parametrize(("agent", "check", "act", "bare"), MENDED, ids=str)
def test_a_fault_of_a_real_agent_is_found_and_gone_behind_the_sidecar(
    agent: str, check: str, act: str, bare: CheckVerdict, tmp_path: Path
) -> None:
    assert find(agent, check, act, tmp_path).verdict is bare
    wrapped = find(agent, check, act, tmp_path, IN_FRONT)
    assert wrapped.verdict is CheckVerdict.PASS, wrapped


@pytest.mark.parametrize(("agent", "check", "act"), KEPT, ids=str)
def test_a_fault_of_a_real_agent_is_found(agent: str, check: str, act: str, tmp_path: Path) -> None:
    found = find(agent, check, act, tmp_path)
    assert found.verdict is CheckVerdict.FAIL, found
    assert real_agents.API_KEY not in "".join(found.frames)


def test_a_healthy_turn_of_a_real_agent_passes(agent_name: str, tmp_path: Path) -> None:
    names = ("initialize", "healthy-turn", "exit", "idle-cancel", "cancel-while-silent")
    rows = [CHECKS[name] for name in names]
    command = tuple(real_agents.AGENTS[agent_name](tmp_path))
    with CheckRun(CheckSettings(command, Hooks(preset=agent_name)), rows) as run:
        for row in rows:
            assert run.finding(row).verdict is CheckVerdict.PASS, run.finding(row)
