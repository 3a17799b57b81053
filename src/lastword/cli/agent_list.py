"""`lastword agent --list` and `--rungs`: scenarios and rungs, for people and for machines."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING

from lastword.conformance import rungs as ladder
from lastword.conformance.scenarios import GROUPS
from lastword.core import acp

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from lastword.conformance.scenario import Scenario

MIN_COLUMNS, MAX_COLUMNS = 40, 100
INDENT = "    "

FOOT = (
    (
        "[type] is what a client is told once lastword is in front, as it is unless --bare leaves "
        'it out. "sees" is what comes then; in the last group, what comes without.'
    ),
    "~ needs a process of its own; every other one can be asked for in a prompt: /scenario NAME",
    (
        "--fallback RUNG plays any scenario as another client would be told of it, and --rungs "
        "shows how one failure looks on each rung."
    ),
)


def scenarios(chosen: argparse.Namespace) -> str:
    """The list of scenarios."""
    if chosen.json:
        told = [
            {"group": group, **scenario.listed()}
            for group, members in GROUPS.items()
            for scenario in members
        ]
        return json.dumps(told, indent=2) + "\n"
    width = _width()
    lines: list[str] = []
    for group, members in GROUPS.items():
        lines += [group.upper(), ""]
        for scenario in members:
            lines += [*_entry(scenario, width), ""]
    return "\n".join([*lines, *_wrapped(FOOT, width, "")]) + "\n"


def _entry(scenario: Scenario, width: int) -> Iterable[str]:
    mark = "" if scenario.per_turn else "~"
    kind = f"  [{scenario.error_type.value}]" if scenario.error_type else ""
    yield f"{scenario.name}{mark}{kind}"
    yield from _wrapped([f"sees    {scenario.sees}"], width, INDENT)
    yield from _wrapped([f"client  {scenario.advice}"], width, INDENT)
    second = scenario.told_in(acp.V2.version)
    if second != scenario.told:
        yield f"{INDENT}in version 2  [{second.type.value if second else 'ends well'}]"


def _wrapped(lines: Iterable[str], width: int, indent: str, *, hanging: int = 8) -> Iterable[str]:
    for line in lines:
        yield from textwrap.wrap(
            line,
            width,
            initial_indent=indent,
            subsequent_indent=indent + (" " * hanging if indent else ""),
            break_long_words=False,
            break_on_hyphens=False,
        )


def rungs(chosen: argparse.Namespace) -> str:
    """One failure on every rung."""
    told = ladder.listed()
    if chosen.json:
        return json.dumps(told, indent=2) + "\n"
    width = _width()
    lines: list[str] = []
    for entry in told:
        lines += _wrapped([f"{entry['rung']}: {entry['when']}".removesuffix(": ")], width, "")
        for frame in entry["frames"]:
            lines += _wrapped([json.dumps(frame)], width, INDENT, hanging=2)
        lines.append("")
    return "\n".join(lines)


def _width() -> int:
    return max(MIN_COLUMNS, min(MAX_COLUMNS, shutil.get_terminal_size((80, 24)).columns))
