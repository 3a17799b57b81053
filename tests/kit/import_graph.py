"""The graph of the package's imports: which file needs which, and circles."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from tests.kit.sources import MODULES, statements, tree_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    Graph = dict[str, set[str]]


def needed_by(file: Path) -> set[str]:
    """The modules of ours that a file names: `from a import b` is `a.b` where that is a module."""
    needed: set[str] = set()
    for node in statements(tree_of(file).body):
        if isinstance(node, ast.Import):
            needed.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                needed.add(name if name in MODULES else node.module)
    return needed & MODULES.keys()


def graph_of() -> Graph:
    return {name: needed_by(file) - {name} for name, file in MODULES.items()}


def circles_of(graph: Mapping[str, AbstractSet[str]]) -> list[set[str]]:
    """The sets of nodes that all reach one another, of two or more."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for name in graph.get(ahead.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    ahead.append(name)
        return seen

    reach = {name: reached(name) for name in graph}
    circles: list[set[str]] = []
    for name in graph:
        if name in reach[name] and not any(name in circle for circle in circles):
            circles.append({other for other in reach[name] if name in reach[other]})
    return circles


def floors(rooms: Mapping[str, AbstractSet[str]]) -> int:
    """How many floors a table of rooms has, each needing only those below it.

    Raises:
        ValueError: They form a circle.
    """
    sorter = TopologicalSorter(
        {room: needs & rooms.keys() - {room} for room, needs in rooms.items()}
    )
    sorter.prepare()
    count = 0
    while sorter.is_active():
        sorter.done(*sorter.get_ready())
        count += 1
    return count
