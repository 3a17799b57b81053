"""`lastword agent --list` and `--rungs`: scenarios and rungs, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lastword.cli import envelope
from lastword.cli.page import Page
from lastword.core.protocol import acp
from lastword.kit.agent import rungs as ladder
from lastword.kit.agent.scenarios import GROUPS

if TYPE_CHECKING:
    import argparse

    from lastword.kit.agent.scenarios import Scenario

INDENT = 4

FOOT = (
    (
        "[type] is the error that a client gets with lastword in front, which is the default; "
        '--bare leaves it out. "sees" is what the client receives with lastword; in the last '
        "group, what it receives without."
    ),
    "~ needs its own process; every other scenario can be requested in a prompt: /scenario NAME",
    (
        "--fallback RUNG plays a scenario as another kind of client would see it, and --rungs "
        "shows how one failure looks on each rung."
    ),
)


def scenarios(chosen: argparse.Namespace) -> str:
    """Return the list of scenarios."""
    if chosen.json:
        entries = [
            {"group": group, **scenario.listed()}
            for group, members in GROUPS.items()
            for scenario in members
        ]
        return envelope.document({"scenarios": entries})
    page = Page(colours=False, keeps_words=True)
    for group, members in GROUPS.items():
        page.verbatim((group.upper(), ""))
        page.line()
        for scenario in members:
            _show(page, scenario)
            page.line()
    for line in FOOT:
        page.line(line)
    return page.drain()


def _show(page: Page, scenario: Scenario) -> None:
    mark = "" if scenario.per_turn else "~"
    kind = f"  [{scenario.error_type.value}]" if scenario.error_type else ""
    page.verbatim((f"{scenario.name}{mark}{kind}", ""))
    page.line(f"sees    {scenario.sees}", indent=INDENT, hang=8)
    page.line(f"client  {scenario.advice}", indent=INDENT, hang=8)
    second = scenario.failure_in(acp.V2.version)
    if second != scenario.failure:
        ends = second.type.value if second else "ends well"
        page.line(f"in version 2  [{ends}]", indent=INDENT)


def rungs(chosen: argparse.Namespace) -> str:
    """Return one failure as it is sent on each rung."""
    entries = ladder.listed()
    if chosen.json:
        return envelope.document({"rungs": entries})
    page = Page(colours=False, keeps_words=True)
    for number, entry in enumerate(entries):
        if number:
            page.line()
        page.line(f"{entry['rung']}: {entry['when']}".removesuffix(": "))
        for frame in entry["frames"]:
            page.line(json.dumps(frame), indent=INDENT, hang=2)
    return page.drain()
