"""The table of scenarios, in the groups in which they are shown.

They are literals, not a data file: loading them takes 0.9 ms, and decoding the same from JSON
4.5, most of it for a decoder that nothing else needs.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from lastword.kit.agent.scenarios import healthy, kinds, progress, stalls_and_exits, wire_faults

if TYPE_CHECKING:
    from lastword.kit.agent.scenario import Scenario

GROUPS: dict[str, tuple[Scenario, ...]] = {
    "turns that end well": healthy.SCENARIOS,
    "every type of failure, before any output": kinds.TYPES,
    "waits and limits": kinds.WAITS,
    "how far the turn had come": progress.SCENARIOS,
    "silence, cancels and floods": stalls_and_exits.STALLS,
    "the agent's process": stalls_and_exits.SCENARIOS,
    "what an agent without lastword does to a client": wire_faults.SCENARIOS,
}

SCENARIOS = {scenario.name: scenario for group in GROUPS.values() for scenario in group}


def nearest(name: str) -> list[str]:
    """Return the scenarios whose names are most like this one, at most three."""
    return difflib.get_close_matches(name.lower(), SCENARIOS, n=3, cutoff=0.6)


def unknown(name: str) -> str:
    """Return the sentence for an unknown scenario, without its full stop."""
    like = nearest(name)
    shown = name[:40]
    hint = f" (did you mean {' or '.join(like)}?)" if like else ""
    return f'there is no scenario "{shown}"{hint}'
